package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/pflag"
)

// version is the program's version; a release sets it with -ldflags "-X main.version=…".
var version = "0.1.0-dev"

var versionVerb = &verb{
	name:  "version",
	short: "Show the version",
	setup: func(flags *pflag.FlagSet) func(context.Context, []string) error {
		asJSON := flags.Bool("json", false, "print JSON")
		return func(context.Context, []string) error { return printVersion(*asJSON) }
	},
}

// build says how the program was made, as far as that is known.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"` // of the source
	Changed  bool   `json:"changed,omitempty"`  // the source had changes without a revision
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func thisBuild() build {
	b := build{Version: version, Go: runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value[:min(len(s.Value), 12)]
		case "vcs.modified":
			b.Changed = s.Value == "true"
		}
	}
	return b
}

func printVersion(asJSON bool) error {
	b := thisBuild()
	if asJSON {
		return printJSON(stdout, b)
	}
	rev := ""
	if b.Revision != "" {
		rev = " (" + b.Revision
		if b.Changed {
			rev += ", changed"
		}
		rev += ")"
	}
	_, err := fmt.Fprintf(stdout, "zarrfs %s%s %s %s\n", b.Version, rev, b.Go, b.Platform)
	return err
}
