package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/zarrfs/zarrfs/fs/wire"
)

var umountVerb = &verb{
	name: "umount", args: "DIR...", most: many, also: []string{"unmount"},
	short: "Unmount stores",
	long: `
What programs have written is stored first. If something cannot be stored, the command names it and
fails, and the mount stays. Remove the cause, for example make room, and try again. --force unmounts
without storing it, and keeps it in the scratch folder if there is room. The command returns when
the program that served the mount has ended.

If programs have files of the mount open, the command fails and names the programs. With --lazy the
mount disappears at once, and they can go on with what they have open. A stale mount, whose program
was killed, is removed. A mount whose program does not answer stays, unless --force cuts it off.
Files that are not arrays are kept in a folder. The command names the folder and the files.

A container that started while the store was mounted has a copy of the mount. The copy goes on when
the mount is unmounted here. The command names the programs that have one, and waits for them as
long as --timeout says; --force cuts them off.

Examples:
  zarrfs umount /mnt/climate
  zarrfs umount --lazy /mnt/climate
  zarrfs umount --all
`,
	setup: func(flags *pflag.FlagSet) func(context.Context, []string) error {
		all := flags.BoolP("all", "a", false, "unmount all mounts of zarrfs that are yours")
		lazy := flags.BoolP("lazy", "l", false, "detach even while in use")
		force := flags.BoolP("force", "f", false, "unmount even if data cannot be stored, the "+
			"mount's program does not answer, or containers have copies")
		wait := flags.Duration("timeout", time.Minute, "how long to wait until the mount's "+
			"program has ended")
		storeOnly := flags.Bool(storeOnlyFlag, false, "store what was written, and print what "+
			"cannot be")
		stateOnly := flags.Bool(stateOnlyFlag, false, "print the state of the mount")
		teller := flags.Bool(tellerFlag, false, "ask a mount for the sizes of its files")
		flags.MarkHidden(storeOnlyFlag)
		flags.MarkHidden(stateOnlyFlag)
		flags.MarkHidden(tellerFlag)
		return func(_ context.Context, args []string) error {
			switch {
			case *teller:
				return wire.ServeTeller(os.Stdin, os.Stdout)
			case *storeOnly:
				return printUnstored(args[0])
			case *stateOnly:
				return printState(args[0])
			}
			dirs, err := chooseMounts(args, *all)
			if err != nil {
				return err
			}
			os.Chdir("/") // this process may itself be in a mount, and would keep it
			return eachMount(dirs, func(dir string) error {
				return umount(dir, *lazy, *force, *wait)
			})
		}
	},
}

// chooseMounts returns the folders that umount is to work on.
func chooseMounts(args []string, all bool) ([]string, error) {
	switch {
	case all && len(args) > 0:
		return nil,
			usageError{errors.New("umount: --all and the names of folders exclude each other")}
	case !all && len(args) == 0:
		return nil,
			usageError{errors.New("umount: expected the folder of a mount, or --all; `zarrfs " +
				"status` lists what is mounted")}
	}
	var dirs []string
	for _, dir := range args {
		dirs = append(dirs, absolute(dir))
	}
	if !all {
		return dirs, nil
	}
	for _, m := range ourMounts() {
		if owner, known := m.owner(); os.Geteuid() == 0 || !known || owner == os.Geteuid() {
			dirs = append(dirs, m.dir)
		}
	}
	slices.Reverse(dirs) // a mount inside another one goes first
	return dirs, nil
}

// eachMount does something with each folder, also after one has failed. The exit code is that of
// the first failure.
func eachMount(dirs []string, do func(dir string) error) error {
	var failed []error
	for _, dir := range dirs {
		if err := do(dir); err != nil {
			failed = append(failed, err)
		}
	}
	for _, err := range failed[:max(0, len(failed)-1)] {
		report(err)
	}
	if len(failed) == 0 {
		return nil
	}
	return withCode(codeOf(failed[0]), failed[len(failed)-1])
}
