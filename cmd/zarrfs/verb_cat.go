package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/fs/terminal"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore"
)

var catVerb = &verb{
	name: "cat", args: "STORE [NODE]", least: 1, most: 2,
	short: "Write an array, or a group's metadata, to standard output",
	long: `
NODE is the path of an array or group in the store; without it, the root is shown.

Examples:
  zarrfs cat climate.zarr ocean/temperature > temperature.npy
  zarrfs cat --view raw climate.zarr ocean/temperature | sha256sum
  zarrfs cat --view json climate.zarr ocean | jq .attributes
`,
	setup: func(flags *pflag.FlagSet) func(context.Context, []string) error {
		addCloudFlags(flags)
		name := flags.String("view", "", "`NAME` of the format: "+strings.Join(view.Names(), ", ")+
			" (default "+view.Defaults()+")")
		force := flags.Bool("force", false, "write binary data to a terminal too")
		return func(ctx context.Context, args []string) error {
			return cat(ctx, args, *name, *force)
		}
	},
}

// isTerminal reports whether a file is one.
func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

func cat(ctx context.Context, args []string, name string, force bool) error {
	if name != "" {
		if _, err := view.Parse(name); err != nil {
			return usageError{fmt.Errorf("--view: %w", err)}
		}
	}
	s, h, err := openPlain(ctx, args[0])
	if err != nil {
		return err
	}
	defer s.Close()
	defer h.Close()
	n, err := findNode(ctx, h, args)
	if err != nil {
		return err
	}
	if name == "" {
		name = view.Default(n)
	}
	if view.IsBinary(name) && !force && isTerminal(os.Stdout) {
		return usageError{fmt.Errorf("cat: %s is binary, and standard output is a terminal. "+
			"Redirect it (> FILE), or see the metadata: --view %s; --force writes it all "+
			"the same", name, view.Document.Name())}
	}
	f, err := view.Open(ctx, h, n.Path, name)
	if errors.Is(err, zarrcore.ErrVlen) {
		err = fmt.Errorf("%q has elements of no fixed size, which have no %s; use --view "+
			"%s, or %s", n.Path, name, view.Default(n), view.Headed().Name())
	}
	if err != nil {
		return storeErr(fmt.Errorf("%s: %w", args[0], err))
	}
	defer f.Close()
	to := io.Writer(os.Stdout)
	if isTerminal(os.Stdout) && !view.IsBinary(name) {
		to = terminal.NewJSONWriter(to) // only here: other programs get the JSON as it is
	}
	out := bufio.NewWriterSize(to, 1<<16)
	if _, err := io.Copy(out, f); err != nil {
		return err
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if left := f.Left(); len(left) > 0 {
		why := errors.Join(left...)
		return fmt.Errorf("cat: the file was written, and lacks what it cannot hold:\n%w", why)
	}
	return nil
}
