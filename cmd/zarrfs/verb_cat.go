package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"

	"github.com/zarrfs/zarrfs/fs"
	"github.com/zarrfs/zarrfs/zarrcore"
)

var catVerb = &verb{
	name: "cat", args: "STORE [NODE]", least: 1, most: 2,
	short: "Write an array, or a group's metadata, to standard output",
	long: `
NODE is the path of an array or group in the store; left out, it is the root.

Examples:
  zarrfs cat climate.zarr ocean/temperature > temperature.npy
  zarrfs cat --view raw climate.zarr ocean/temperature | sha256sum
  zarrfs cat --view json climate.zarr ocean | jq .attributes
`,
	setup: func(flags *pflag.FlagSet) func(context.Context, []string) error {
		view := flags.String("view", "", "`NAME` of the format: npy, raw, json, jsonl (default npy; jsonl for elements of no fixed size, json for a group)")
		return func(ctx context.Context, args []string) error { return cat(ctx, args, *view) }
	},
}

func cat(ctx context.Context, args []string, view string) error {
	if view != "" {
		if _, err := fs.ParseViews(view); err != nil {
			return usageError{fmt.Errorf("--view: %w", err)}
		}
	}
	_, h, err := openPlain(ctx, args[0])
	if err != nil {
		return err
	}
	defer h.Close()
	n, err := findNode(ctx, h, args)
	if err != nil {
		return err
	}
	if view == "" {
		view = defaultView(n)
	}
	f, err := fs.OpenView(ctx, h, n.Path, view)
	if errors.Is(err, zarrcore.ErrVlen) {
		err = fmt.Errorf("%q has elements of no fixed size, which have no %s; use --view jsonl, or npy", n.Path, view)
	}
	if err != nil {
		return storeErr(fmt.Errorf("%s: %w", args[0], err))
	}
	defer f.Close()
	out := bufio.NewWriterSize(os.Stdout, 1<<16)
	if _, err := io.Copy(out, f); err != nil {
		return err
	}
	return out.Flush()
}
