// Command zarrfs mounts Zarr stores, so that every program that can open a file can read their
// arrays.
//
//	zarrfs mount STORE DIR     mount a store
//	zarrfs umount DIR...       unmount it
//	zarrfs status [DIR...]     list mounts
//	zarrfs errors DIR          say why programs were given errors
//	zarrfs info STORE [NODE]   show an array or group
//	zarrfs tree STORE          draw the hierarchy
//	zarrfs cat STORE [ARRAY]   write an array to standard output
//	zarrfs create STORE [NODE] create a store, a group, or an empty array
//
// Each verb is in a file of its own, verb_NAME.go. Exit codes are in exit.go.
package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

func main() {
	if hideQuery(os.Args) { // other users could still see the query of this process
		syscall.Exec("/proc/self/exe", os.Args, os.Environ())
	}
	os.Exit(run(os.Args))
}

// run carries out a command line and returns its exit code.
func run(argv []string) int {
	v, args := chooseVerb(argv)
	if v == nil {
		return printTop(argv)
	}
	err := v.execute(context.Background(), args)
	return report(err)
}

// chooseVerb finds the verb of a command line. mount(8) calls us as `mount.zarrfs STORE DIR -o …`,
// or through mount.fuse as `zarrfs STORE DIR -o …`: without a verb, two arguments mount.
func chooseVerb(argv []string) (*verb, []string) {
	if strings.HasPrefix(filepath.Base(argv[0]), "mount.") {
		return verbNamed("mount"), argv[1:]
	}
	if len(argv) < 2 {
		return nil, nil
	}
	if v := verbNamed(argv[1]); v != nil {
		return v, argv[2:]
	}
	if len(argv) >= 3 && mayBeStore(argv[1]) && !strings.HasPrefix(argv[2], "-") {
		return verbNamed("mount"), argv[1:]
	}
	return nil, nil
}

// mayBeStore reports whether an argument is the name of a store, and not a mistyped verb.
func mayBeStore(name string) bool {
	if strings.HasPrefix(name, "-") {
		return false
	}
	_, err := os.Stat(name)
	return err == nil || strings.Contains(name, "/")
}

// printTop answers a command line that names no verb.
func printTop(argv []string) int {
	if len(argv) < 2 {
		printBrief(stdout)
		return exitOK
	}
	if argv[1] == "-h" || argv[1] == "--help" {
		printVerbs(stdout)
		return exitOK
	}
	if argv[1] == "--version" || argv[1] == "-V" {
		return report(verbNamed("version").execute(context.Background(), nil))
	}
	return report(unknownVerb(argv[1]))
}
