package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	iofs "io/fs"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/fs"
)

var umountVerb = &verb{
	name: "umount", args: "DIR...", most: many, also: []string{"unmount"},
	short: "Unmount stores",
	long: `
What programs have written is stored first. If something cannot be, the verb names it and fails, and the mount stays: make
room, or whatever it takes, and try again; --force gives it up. The verb returns when the program that served the mount has
ended. While programs have files of the mount open it fails, and names them; with --lazy the mount disappears at once, and
they can go on with what they have open. A stale mount, whose program was killed, is removed. One whose program does not
answer stays, unless --force cuts it off. Files that are no arrays are kept in a folder, which is named together with them.

A container that started while the store was mounted has a copy of the mount, which goes on when the mount is unmounted here. The
verb names the programs that have one, and waits for them as long as --timeout says; --force cuts them off.

Examples:
  zarrfs umount /mnt/climate
  zarrfs umount --lazy /mnt/climate
  zarrfs umount --all
`,
	setup: func(flags *pflag.FlagSet) func(context.Context, []string) error {
		all := flags.BoolP("all", "a", false, "unmount all mounts of zarrfs that are yours")
		lazy := flags.BoolP("lazy", "l", false, "detach even while in use")
		force := flags.BoolP("force", "f", false, "also if what was written cannot be stored, the program that serves it does not answer, or containers have copies of the mount")
		wait := flags.Duration("timeout", time.Minute, "wait so long for the end of the program that serves it")
		storeOnly := flags.Bool(storeOnlyFlag, false, "store what was written, and print what cannot be")
		healthOnly := flags.Bool(healthOnlyFlag, false, "print whether the program that serves the mount is gone")
		flags.MarkHidden(storeOnlyFlag)
		flags.MarkHidden(healthOnlyFlag)
		return func(_ context.Context, args []string) error {
			switch {
			case *storeOnly:
				return printUnstored(args[0])
			case *healthOnly:
				return printHealth(args[0])
			}
			dirs, err := chooseMounts(args, *all)
			if err != nil {
				return err
			}
			return eachMount(dirs, func(dir string) error { return umount(dir, *lazy, *force, *wait) })
		}
	},
}

// chooseMounts returns the folders that umount is to work on.
func chooseMounts(args []string, all bool) ([]string, error) {
	switch {
	case all && len(args) > 0:
		return nil, usageError{errors.New("umount: --all and the names of folders exclude each other")}
	case !all && len(args) == 0:
		return nil, usageError{errors.New("umount: expected the folder of a mount, or --all; `zarrfs status` lists what is mounted")}
	case !all:
		return args, nil
	}
	var dirs []string
	for _, m := range ourMounts() {
		if owner, known := m.owner(); os.Geteuid() == 0 || !known || owner == os.Geteuid() {
			dirs = append(dirs, m.dir)
		}
	}
	slices.Reverse(dirs) // one that was mounted in another goes first
	return dirs, nil
}

// eachMount does something with each folder, also after one has failed. The exit code is that of the first failure.
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

// umount unmounts the store at dir.
func umount(dir string, lazy, force bool, wait time.Duration) error {
	m, err := ourMountAt(dir)
	if err != nil {
		return err
	}
	if owner, known := m.owner(); known && os.Geteuid() != 0 && os.Geteuid() != owner {
		return mountErr(fmt.Errorf("%s was mounted by user %d; only they and root may unmount it (sudo zarrfs umount %[1]s)", m.dir, owner))
	}
	switch health := healthOf(m.dir); {
	case health == gone, health == silent && force:
		return cutOff(m)
	case m.kind != ourKind:
		return mountErr(fmt.Errorf("%s is a mount of type %s, not of zarrfs; unmount it with `umount %[1]s`", dir, m.kind))
	case health == silent && !lazy:
		return mountErr(fmt.Errorf("the program that serves %s does not answer; `zarrfs umount --force %[1]s` cuts it off, and what it has not stored is lost", dir))
	case health == silent:
		return detach(m, 0, wait)
	}
	pid, kernel := servingPid(m.dir), connectionOf(m)
	defer kernel.close()
	patience := time.Duration(math.MaxInt64) // a flush takes as long as the store does
	if force {
		patience = wait
	}
	unstored, err := awaitStored(m.dir, patience)
	if errors.Is(err, errStoreHangs) {
		sayOthers(stateOf(m.dir).OtherFiles)
		return endByForce(m, pid, wait)
	} else if err != nil {
		return mountErr(err)
	}
	if unstored != nil && !force && !lazy {
		return mountErr(fmt.Errorf("%s stays mounted, because %w\nTry again once the cause is removed, or give it up with `zarrfs umount --force %[1]s`", m.dir, unstored))
	}
	state := stateOf(m.dir)
	if err := keepable(m.dir, state.OtherFiles); err != nil && !force {
		return mountErr(err)
	}
	sayKept(state.Core.Write.Kept)
	others := state.OtherFiles
	if lazy {
		sayOthers(others)
		err = detach(m, pid, wait)
	} else if others, err = unmountPatiently(m.dir); err == nil {
		if err = awaitRelease(m, kernel, pid, force, wait); err == nil {
			err = checkOthers(others, state.Log)
		}
	}
	if err == nil && unstored != nil {
		return mountErr(fmt.Errorf("unmounted, but %w\nWhat is left of it is in the scratch folder, in the files zarrfs-unsaved-%d-*, which the log names", unstored, pid))
	}
	return err
}

// sayKept names the files with what was written for arrays that another program has removed or replaced.
func sayKept(files []string) {
	if len(files) > 0 {
		fmt.Fprintf(stderr, "zarrfs: what was written for arrays that another program has removed or replaced is kept in %q\n", files)
	}
}

// cutOff takes the mount of a program that is gone, or does not answer, out of the tree, and has the kernel end all that
// waits for it: a program that was killed may itself be waiting for its own mount.
func cutOff(m mountEntry) error {
	kernel := connectionOf(m)
	defer kernel.close()
	kernel.end() // as far as this user may
	err := unix.Unmount(m.dir, unix.MNT_FORCE|unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
	if errors.Is(err, syscall.EPERM) {
		err = unmountOnce(m.dir, true)
	}
	if err != nil {
		return mountErr(fmt.Errorf("cannot unmount %s: %w", m.dir, err))
	}
	return nil
}

// detach takes the mount out of the tree, also while programs use it. If none does, and the mount has no copy, the program that served
// it ends.
func detach(m mountEntry, pid int, wait time.Duration) error {
	if unmountOnce(m.dir, false) == nil {
		if err := awaitEnd(pid, min(wait, releasePatience)); err == nil || copiesText(m) != "" {
			return nil
		}
		return awaitEnd(pid, wait)
	}
	if err := unmountOnce(m.dir, true); err != nil {
		return mountErr(fmt.Errorf("cannot unmount %s: %w", m.dir, err))
	}
	return nil
}

func notMounted(dir string) error {
	if _, err := os.Stat(dir); err != nil {
		return fmt.Errorf("%s: %w", dir, bare(err))
	}
	if m, ok := mountAround(dir); ok {
		return fmt.Errorf("%s is not a mount, but lies in the one at %s: give that folder", dir, m.dir)
	}
	return fmt.Errorf("%s is not a mount; `zarrfs status` lists the mounts", dir)
}

const (
	// unmountPatience is how long a plain unmount is tried: a program that closed a file just now may not be done yet.
	unmountPatience = 2 * time.Second
	// unseenPatience is how much longer it is tried where no program is found that uses the mount: one that looked at it is mostly done soon.
	unseenPatience = 8 * time.Second
)

// unmountPatiently unmounts as soon as no program uses the mount. It names the files that are no arrays before that, and not while
// programs may still make arrays of them, and returns them.
func unmountPatiently(dir string) (others *fs.OtherFiles, err error) {
	var said *fs.OtherFiles
	for deadline := time.Now().Add(unmountPatience); ; time.Sleep(50 * time.Millisecond) {
		last := time.Now().After(deadline)
		if others = stateOf(dir).OtherFiles; others != nil && usersText(dir) != "" {
			if last {
				return nil, withCode(exitBusy, busyError(dir))
			}
			continue
		}
		if others != nil && (said == nil || !slices.Equal(said.Files, others.Files)) {
			sayOthers(others)
			said = others
		}
		switch err := unmountOnce(dir, false); {
		case err == nil:
			return others, nil
		case !isBusy(err):
			return nil, mountErr(fmt.Errorf("cannot unmount %s: %w", dir, err))
		case time.Now().After(deadline.Add(unseenPatience)), last && usersText(dir) != "":
			return nil, withCode(exitBusy, busyError(dir))
		}
	}
}

func busyError(dir string) error {
	by := usersText(dir)
	if by == "" {
		by = "a program that you may not look into"
	}
	return fmt.Errorf("%s is in use by %s; end that, or use `zarrfs umount --lazy %[1]s`", dir, by)
}

func unmountOnce(dir string, lazy bool) error {
	flags, args := 0, []string{"-u", dir}
	if lazy {
		flags, args = unix.MNT_DETACH, []string{"-u", "-z", dir}
	}
	if err := unix.Unmount(dir, flags|unix.UMOUNT_NOFOLLOW); err == nil || !errors.Is(err, syscall.EPERM) {
		return err
	}
	return fs.Fusermount(args...)
}

func isBusy(err error) bool {
	return errors.Is(err, syscall.EBUSY) || strings.Contains(err.Error(), "busy")
}

// servingPid returns the process that serves the mount, 0 if it does not say so in time.
func servingPid(dir string) int { return stateOf(dir).Pid }

// stateOf returns the state of the mount at dir, nothing if it does not tell in time.
func stateOf(dir string) (s fs.Status) {
	found := make(chan fs.Status, 1)
	go func() { // the file belongs to the mount: reading it may hang
		var s fs.Status
		if b, err := os.ReadFile(filepath.Join(dir, ".zarrfs", "status.json")); err == nil {
			json.Unmarshal(b, &s) // what is not understood is left out
		}
		found <- s
	}()
	select {
	case s = <-found:
	case <-time.After(5 * time.Second):
	}
	return s
}

// silentMost is how many times in a row the program that serves a mount may not answer while it stores.
const silentMost = 3

var errStoreHangs = errors.New("what was written is not stored in time")

// awaitStored is storeAll, but fails where the program that serves the mount answers nothing else meanwhile either, or with
// errStoreHangs after patience.
func awaitStored(dir string, patience time.Duration) (unstored, err error) {
	done := make(chan error, 1)
	go func() { done <- storeApart(dir) }()
	over := time.After(patience)
	for silence, said := 0, false; ; {
		select {
		case unstored = <-done:
			return unstored, nil
		case <-over:
			return nil, errStoreHangs
		case <-time.After(answerPatience):
		}
		if healthOf(dir) == answers {
			if silence = 0; !said {
				said = true
				fmt.Fprintf(stderr, "zarrfs: storing what was written, of which %s are left …\n", bytesText(stateOf(dir).Core.Write.Dirty))
			}
		} else if silence++; silence == silentMost {
			return nil, fmt.Errorf("the program that serves %s has stopped answering while it stores what was written; wait and try again, or cut it off with `zarrfs umount --force %[1]s`: what it has not stored is then lost", dir)
		}
	}
}

// endByForce takes the mount out of the tree and has the program that serves it end without storing what was written: the third
// signal does. It keeps that in the scratch folder.
func endByForce(m mountEntry, pid int, wait time.Duration) error {
	fd, noProcess := unix.PidfdOpen(pid, 0) // before it is looked at: its number may be another process's later
	if noProcess == nil {
		defer unix.Close(fd)
	}
	serves := noProcess == nil && m.isServedBy(pid)
	if err := unmountOnce(m.dir, true); err != nil {
		return mountErr(fmt.Errorf("cannot unmount %s: %w", m.dir, err))
	}
	switch {
	case noProcess != nil:
		return mountErr(fmt.Errorf("%s is unmounted; the process that serves it is not known, and may still be storing", m.dir))
	case !serves:
		return mountErr(fmt.Errorf("%s is unmounted; it named process %d, which does not serve it, and was left alone", m.dir, pid))
	}
	for range 3 {
		unix.PidfdSendSignal(fd, unix.SIGTERM, nil, 0)
		time.Sleep(unmountPause)
	}
	if err := awaitEnd(pid, max(wait, rescueMost+time.Second)); err != nil {
		return err
	}
	return mountErr(fmt.Errorf("%s is unmounted, but %w: it is in the scratch folder, in the files zarrfs-unsaved-%d-*, which the log names", m.dir, errStoreHangs, pid))
}

// storeOnlyFlag makes umount what storeApart needs.
const storeOnlyFlag = "store-only"

// apart runs umount with a flag of its own use in another process, and returns what that prints. The kernel does not let a process end, not
// even one that is killed, while it waits for what a mount has begun to do; this process must, if the mount falls silent.
func apart(flag, dir string) ([]byte, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return exec.Command(self, "umount", "--"+flag, dir).Output()
}

// storeApart is storeAll in a process of its own.
func storeApart(dir string) error {
	switch unstored, err := apart(storeOnlyFlag, dir); {
	case err != nil:
		return storeAll(dir)
	case len(unstored) > 0:
		return errors.New(string(unstored))
	}
	return nil
}

// printUnstored makes the mount at dir store what was written, and prints what storeAll returns.
func printUnstored(dir string) error {
	if err := storeAll(dir); err != nil {
		_, err = fmt.Print(err)
		return err
	}
	return nil
}

// storeAll makes the mount at dir store what was written, and names what cannot be stored.
func storeAll(dir string) error {
	f, err := os.Open(dir)
	if err == nil {
		defer f.Close()
		err = f.Sync()
	} else if stateOf(dir).Core.Write.Dirty == 0 {
		return nil // the unmount itself will say what is the matter
	}
	if err == nil || errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.EROFS) {
		return nil
	}
	state := stateOf(dir)
	text := fmt.Sprintf("not all that was written can be stored: %v", bare(err))
	if _, err := os.Stat(state.Store); errors.Is(err, iofs.ErrNotExist) {
		text = fmt.Sprintf("the store %s was removed, so what was written cannot be stored", state.Store)
	}
	failed := state.Core.Write.Errors
	for _, path := range slices.Sorted(maps.Keys(failed)) {
		text += "\n  " + namedError(path, failed[path])
	}
	return errors.New(text)
}

// awaitEnd waits until a process is gone.
func awaitEnd(pid int, wait time.Duration) error {
	if pid <= 0 {
		return nil
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil // gone already
	}
	defer unix.Close(fd)
	deadline := time.Now().Add(wait)
	for {
		left := time.Until(deadline)
		if left <= 0 {
			return withCode(exitBusy, fmt.Errorf("unmounted, but process %d, which served it, has not ended within %s", pid, wait))
		}
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(left.Milliseconds())+1)
		if n > 0 || err != nil && err != unix.EINTR {
			return nil
		}
	}
}
