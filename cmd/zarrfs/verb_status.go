package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/pflag"

	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/terminal"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

var statusVerb = &verb{
	name: "status", args: "[DIR...]", most: many,
	short: "List mounts, and what is not stored yet",
	long: `
Without DIR all mounts of zarrfs are listed. UNSTORED is what programs have written and zarrfs has
not stored yet; "!" marks that storing it has failed. CACHE is the memory that decoded data take,
and how much they may take. ERRORS counts the errors that programs got, with the newest in brackets;
` + "`zarrfs errors DIR`" + ` shows the reasons. What a mount does not say is "unknown", and null in
JSON: only the user who mounted can read it.

Examples:
  zarrfs status
  zarrfs status --json /mnt/climate | jq '.[0].unstored_bytes'
`,
	setup: func(flags *pflag.FlagSet) func(context.Context, []string) error {
		asJSON := flags.Bool("json", false, "print JSON")
		return func(_ context.Context, args []string) error { return status(args, *asJSON) }
	},
}

// mountState is what status shows of a mount.
type mountState struct {
	Dir      string `json:"dir"`
	Store    string `json:"store"`
	State    string `json:"state"` // "mounted", "stale" or "silent"
	ReadOnly bool   `json:"read_only"`
	// A number is nil if the mount does not give it, or not to this user.
	Pid      *int              `json:"pid"`
	Unstored *int64            `json:"unstored_bytes"`
	Failed   map[string]string `json:"unstored,omitempty"` // by array: why storing has failed
	Cache    *int64            `json:"cache_used"`
	CacheMax *int64            `json:"cache_size"`
	Errors   *uint64           `json:"errors"`
	Last     *errno.Recent     `json:"last_error,omitempty"`
	Traffic  *store.Traffic    `json:"traffic,omitempty"` // of a store behind a network
	Log      string            `json:"log,omitempty"`
}

func status(dirs []string, asJSON bool) error {
	mounts := ourMounts()
	if len(dirs) > 0 {
		mounts = nil
	}
	for _, dir := range dirs {
		m, err := ourMountAt(dir)
		if err != nil {
			return err
		}
		mounts = append(mounts, m)
	}
	states := make([]mountState, len(mounts))
	for i, m := range mounts {
		states[i] = stateFor(m)
	}
	switch {
	case asJSON:
		return printJSON(stdout, states)
	case len(states) == 0:
		fmt.Fprintln(stdout, "nothing is mounted")
		return nil
	}
	return printStates(stdout, states)
}

// stateFor asks a mount for its state. A mount that does not answer this user has no numbers.
func stateFor(m mountEntry) mountState {
	s := mountState{Dir: m.dir, Store: m.source, State: "mounted", ReadOnly: m.isReadOnly()}
	now, health := stateOf(m.dir)
	switch {
	case health == gone:
		s.State = "stale"
		return s
	case health == silent:
		s.State = "silent"
		return s
	case now.Pid == 0:
		return s
	}
	w := &now.Core.Write
	s.ReadOnly, s.Pid, s.Log = now.ReadOnly, &now.Pid, now.Log
	s.Unstored, s.Failed = &w.Dirty, w.Errors
	s.Cache, s.CacheMax, s.Errors = &now.Core.MemoryUsed, &now.Core.CacheSize, &now.Mount.Errors
	s.Traffic = now.Traffic
	if n := len(now.RecentErrors); n > 0 {
		s.Last = &now.RecentErrors[n-1]
	}
	return s
}

// printStates writes a table with a line for each mount.
func printStates(w io.Writer, states []mountState) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "MOUNT\tSTORE\tMODE\tPID\tUNSTORED\tCACHE\tERRORS")
	for _, s := range states {
		fmt.Fprintln(t, strings.Join(s.row(), "\t"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, s := range states {
		switch {
		case s.State == "stale":
			fmt.Fprintf(w, "%s: the program that served it is gone; remove the mount with "+
				"`zarrfs umount %[1]s`\n", printable(s.Dir))
		case s.State == "silent":
			fmt.Fprintf(w, "%s: the program that serves it does not answer; wait, or cut it off "+
				"with `zarrfs umount --force %[1]s`\n", printable(s.Dir))
		case s.Pid == nil:
			fmt.Fprintf(w, "%s: only the user who mounted it can read what is unknown here\n",
				printable(s.Dir))
		}
	}
	return nil
}

// unknown stands for what a mount does not say.
const unknown = "unknown"

func (s *mountState) row() []string {
	row := []string{printable(s.Dir), printable(s.Store), "rw", unknown, unknown, unknown, unknown}
	switch {
	case s.State != "mounted":
		row[2] = s.State
	case s.ReadOnly:
		row[2] = "ro"
	}
	if s.Pid == nil {
		return row
	}
	row[3] = strconv.Itoa(*s.Pid)
	if row[4] = bytesText(*s.Unstored); *s.Unstored == 0 {
		row[4] = "-"
	}
	if len(s.Failed) > 0 {
		row[4] += "!"
	}
	row[5] = shortBytes(*s.Cache) + "/" + shortBytes(*s.CacheMax)
	row[6] = s.errorsText()
	return row
}

// errorsText counts the errors, and shows where the newest was.
func (s *mountState) errorsText() string {
	count := strconv.FormatUint(*s.Errors, 10)
	for path, why := range s.Failed { // any of them: it is worse than a refusal
		return fmt.Sprintf("%s (%q: %s)", count, "/"+path, terminal.Line(why))
	}
	switch {
	case *s.Errors == 0:
		return "-"
	case s.Last == nil:
		return count
	}
	return fmt.Sprintf("%s (%q: %s)", count, "/"+s.Last.Path, terminal.Line(s.Last.Err))
}

// shortBytes writes a number of bytes in a narrow column: "1.5M".
func shortBytes(n int64) string {
	if n < 1024 {
		return strconv.FormatInt(n, 10)
	}
	number, unit, _ := strings.Cut(bytesText(n), " ")
	return number + unit[:1]
}
