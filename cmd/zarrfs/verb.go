package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// A verb is what `zarrfs NAME` does.
type verb struct {
	name  string
	args  string   // the arguments, for the usage line
	least int      // how many there must be
	most  int      // and how many there may be
	also  []string // other names, which users of other programs know
	short string   // one line
	long  string   // details, with examples
	// setup declares the verb's flags and returns what to do once they are parsed.
	setup func(flags *pflag.FlagSet) func(ctx context.Context, args []string) error
}

// verbs in the order in which help lists them. It is filled in init, because help itself is one of
// them.
var verbs []*verb

func init() {
	verbs = []*verb{mountVerb, umountVerb, statusVerb, errorsVerb, infoVerb, treeVerb, catVerb,
		createVerb, restoreVerb, migrateVerb, versionVerb, helpVerb}
}

// many is for verbs that take any number of arguments.
const many = math.MaxInt

// errHelp says that help was asked for and printed.
var errHelp = errors.New("help")

func verbNamed(name string) *verb {
	for _, v := range verbs {
		if v.name == name || slices.Contains(v.also, name) {
			return v
		}
	}
	return nil
}

func (v *verb) execute(ctx context.Context, args []string) error {
	flags := pflag.NewFlagSet(v.name, pflag.ContinueOnError)
	flags.SortFlags = false
	flags.Usage = func() {}
	do := v.setup(flags)
	switch err := flags.Parse(args); {
	case errors.Is(err, pflag.ErrHelp):
		v.print(stdout, flags)
		return errHelp
	case err != nil:
		return usageError{v.explainFlag(flags, err)}
	}
	if n := flags.NArg(); n < v.least || n > v.most {
		return usageError{fmt.Errorf("usage: zarrfs %s (found %s; `zarrfs help %s` says more)",
			strings.TrimSpace(v.name+" "+v.args), plural(n, "argument"), v.name)}
	}
	return do(ctx, flags.Args())
}

// print writes the verb's help.
func (v *verb) print(w io.Writer, flags *pflag.FlagSet) {
	fmt.Fprintf(w, "%s\n\nUsage:\n  zarrfs %s\n", v.short, strings.TrimSpace(v.name+" "+v.args))
	if usages := flags.FlagUsages(); usages != "" {
		fmt.Fprintf(w, "\nFlags:\n%s", usages)
	}
	if v.long != "" {
		fmt.Fprintf(w, "\n%s\n", strings.TrimSpace(v.long))
	}
}

// printBrief says how to begin.
func printBrief(w io.Writer) {
	fmt.Fprint(w,
		`zarrfs mounts a Zarr store, so that every program can read and write its arrays as files.

  zarrfs mount climate.zarr mnt    mount a store at an empty folder
  zarrfs umount mnt                store what was written, and unmount
  zarrfs tree climate.zarr         show what is in a store

`+"`zarrfs help` lists all commands, and `zarrfs help mount` the flags of one.\n")
}

// printVerbs lists all verbs.
func printVerbs(w io.Writer) {
	fmt.Fprint(w, "zarrfs shows the arrays of a Zarr store as plain files.\n\nUsage:\n  zarrfs "+
		"COMMAND [FLAGS] [ARGUMENTS]\n\nCommands:\n")
	for _, v := range verbs {
		fmt.Fprintf(w, "  %-8s %s\n", v.name, v.short)
	}
	fmt.Fprintf(w, `
Examples:
  zarrfs mount climate.zarr /mnt/climate
  ls -l /mnt/climate
  python3 -c 'import numpy; print(numpy.load("/mnt/climate/temperature.npy", mmap_mode="r")[0])'
  zarrfs umount /mnt/climate

`+"`zarrfs help COMMAND` says more about one.\n\n"+exitHelp)
}
