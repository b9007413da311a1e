package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/zarrfs/zarrfs/fs/texts"
	"github.com/zarrfs/zarrfs/zarrcore/rescue"
)

var restoreVerb = &verb{
	name: "restore", args: "FILE [STORE [NODE]]", least: 1, most: 3,
	short: "Put back what a mount could not store",
	long: `
FILE is a file zarrfs-unsaved-*.unsaved of the scratch folder, which zarrfs umount and the log name.
The bytes that a program wrote and that were not stored are written to the array. All other bytes of
the array stay as they are. A note beside FILE, FILE.json, says which bytes these are. A note that
is another file's is refused. If the mount could keep only a part of what was written, that part is
stored, and the command says so and fails. STORE and NODE are needed if they have other names by
now.

Examples:
  zarrfs restore /var/tmp/zarrfs-unsaved-4711-ocean%2Fsalt.unsaved
`,
	setup: func(*pflag.FlagSet) func(context.Context, []string) error { return restore },
}

func restore(ctx context.Context, args []string) error {
	r, err := rescue.Open(args[0])
	if err != nil {
		return storeErr(fmt.Errorf("%s: %w", args[0], err))
	}
	defer r.Close()
	name, path := r.Store(), r.Array()
	if len(args) > 1 {
		name = args[1]
	}
	if len(args) > 2 {
		path = cleanNode(args[2])
	}
	s, h, err := openPlain(ctx, name)
	if err != nil {
		return err
	}
	defer s.Close()
	defer h.Close()
	if err := s.mayWrite(name); err != nil {
		return err
	}
	n, err := h.Restore(ctx, r, path)
	if err != nil {
		return storeErr(fmt.Errorf("%s: %w", args[0], err))
	}
	fmt.Fprintf(stderr, "zarrfs: %s are stored in array %q of %s; %s and its note %s can be "+
		"removed\n",
		bytesText(n), path, printable(name), printable(args[0]), printable(r.Note()))
	if why := r.Incomplete(); why != "" {
		return fmt.Errorf("%s has only a part of what was written to array %q, because the mount "+
			"could not keep the rest (%s): that is lost, and must be written again", args[0], path,
			why)
	}
	return nil
}

// restoring says how to put back what is in files that a mount has kept.
func restoring(files []string) string {
	text := "To put it back, once the cause is removed:"
	for _, file := range files {
		v := texts.Appended(file)
		switch {
		case strings.HasSuffix(file, ".unsaved"):
			text += fmt.Sprintf("\n  zarrfs restore %q", file)
		case v != nil:
			text += fmt.Sprintf("\n  append it in a mount of the store: cat %q >> ARRAY.%s", file,
				v.Name())
		default:
			text += fmt.Sprintf("\n  copy %q over the array's file", file)
		}
	}
	return text
}
