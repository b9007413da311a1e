package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/terminal"
)

var errorsVerb = &verb{
	name: "errors", args: "DIR", least: 1, most: 1,
	short: "Say why programs were given errors in a mount",
	long: `
DIR is the folder of a mount. A program says only "Invalid argument": here is the reason. The last
64 errors are shown, the newest last, and what could not be stored yet. The same is in
DIR/.zarrfs/status.json; all errors are in the log. For a single file or folder,
getfattr -n user.zarrfs.error FILE shows the last refusal.

Examples:
  zarrfs errors /mnt/climate
  zarrfs errors --json /mnt/climate | jq -r '.errors[].err'
`,
	setup: func(flags *pflag.FlagSet) func(context.Context, []string) error {
		asJSON := flags.Bool("json", false, "print JSON")
		return func(_ context.Context, args []string) error { return showErrors(args[0], *asJSON) }
	},
}

// mountErrors is what errors shows of a mount.
type mountErrors struct {
	Dir      string            `json:"dir"`
	Errors   []errno.Recent    `json:"errors"`
	Unstored map[string]string `json:"unstored,omitempty"` // by array
	Log      string            `json:"log"`
}

func showErrors(dir string, asJSON bool) error {
	m, err := ourMountAt(dir)
	if err != nil {
		return err
	}
	state, err := askState(m)
	if err != nil {
		return mountErr(err)
	}
	e := mountErrors{m.dir, append([]errno.Recent{}, state.RecentErrors...),
		state.Core.Write.Errors, state.Log}
	if asJSON {
		return printJSON(stdout, e)
	}
	e.print(stdout)
	return nil
}

// namedError is the text of an error of the array at path, which it names.
func namedError(path, text string) string {
	if strings.Contains(text, strconv.Quote(path)) {
		return text
	}
	return fmt.Sprintf("%q: %s", path, text)
}

// print writes a line for each error.
func (e *mountErrors) print(w io.Writer) {
	for _, r := range e.Errors {
		fmt.Fprintf(w, "%s  %-8s %q  %s: %s\n", r.Time.Local().Format("2006-01-02 15:04:05"),
			terminal.Line(r.Op), "/"+r.Path, terminal.Line(r.Errno), terminal.Line(r.Err))
	}
	for _, path := range slices.Sorted(maps.Keys(e.Unstored)) {
		fmt.Fprintf(w, "not stored, and tried again every few seconds: %s\n",
			terminal.Line(namedError(path, e.Unstored[path])))
	}
	if len(e.Errors) == 0 && len(e.Unstored) == 0 {
		fmt.Fprintf(w, "no errors in %s\n", e.Dir)
	}
	if e.Log != "" && e.Log != "none" {
		fmt.Fprintf(w, "The log is in %s.\n", e.Log)
	}
}
