package main

import (
	"context"

	"github.com/spf13/pflag"
)

var helpVerb = &verb{
	name: "help", args: "[COMMAND]", most: 1,
	short: "Show how to use zarrfs, or one of its commands",
	setup: func(*pflag.FlagSet) func(context.Context, []string) error { return help },
}

func help(_ context.Context, args []string) error {
	if len(args) == 0 {
		printVerbs(stdout)
		return nil
	}
	v := verbNamed(args[0])
	if v == nil {
		return unknownVerb(args[0])
	}
	flags := pflag.NewFlagSet(v.name, pflag.ContinueOnError)
	flags.SortFlags = false
	v.setup(flags)
	v.print(stdout, flags)
	return nil
}
