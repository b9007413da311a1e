package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	iofs "io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/fs/statusfile"
	"github.com/zarrfs/zarrfs/fs/terminal"
)

// This file asks mounts. The kernel does not let a process end, even by SIGKILL, while it waits for
// a request that a mount has begun. So another process asks, and that one stays behind if the mount
// does not answer.

// health is what is known of the program that serves a mount.
type health int

const (
	answers health = iota
	silent         // it does not answer: it is stopped, stuck, or being killed
	gone
)

// answerPatience is how long a program that serves a mount has for a simple answer.
var answerPatience = 5 * time.Second

// stateOf returns the state of the mount at dir. It is empty if the mount does not answer, or if
// this user may not see it.
func stateOf(dir string) (s statusfile.Status, h health) {
	ctx, cancel := context.WithTimeout(context.Background(), answerPatience)
	defer cancel()
	text := make(chan []byte, 1)
	go func() {
		out, err := apart(ctx, stateOnlyFlag, dir)
		if err != nil && ctx.Err() == nil { // no other process can be started
			out = stateHere(dir)
		}
		text <- out
	}()
	select {
	case out := <-text:
		if string(out) == goneWord {
			return s, gone
		}
		json.Unmarshal(out, &s) // members that are not understood are left out
		return s, answers
	case <-ctx.Done():
		return s, silent
	}
}

const (
	// stateOnlyFlag makes umount do what stateOf needs, and storeOnlyFlag what storeApart needs.
	stateOnlyFlag = "state-only"
	storeOnlyFlag = "store-only"
	// tellerFlag makes umount the process that tellerCommand starts.
	tellerFlag = "teller"
	// goneWord stands for the state of a mount whose program has ended.
	goneWord = "gone"
)

// apart runs umount in another process, with a flag that only zarrfs uses. It returns what that
// process prints.
func apart(ctx context.Context, flag, dir string) ([]byte, error) {
	return exec.CommandContext(ctx, "/proc/self/exe", "umount", "--"+flag, dir).Output()
}

// tellerCommand returns a process that makes the kernel ask the mount of this one for the sizes of
// files. It must not have the descriptor of the mount, which would keep the mount from ending with
// this process. go-fuse leaves that one open for other programs where root mounts.
func tellerCommand() *exec.Cmd {
	keepToOurselves()
	cmd := exec.Command("/proc/self/exe", "umount", "--"+tellerFlag)
	cmd.Dir = "/"
	return cmd
}

// stateHere returns the state of the mount at dir, as JSON, or goneWord. It waits until it has it.
// The kernel may still answer a stat itself, but always passes a statfs on.
func stateHere(dir string) []byte {
	var st unix.Statfs_t
	err := unix.Statfs(dir, &st)
	if errors.Is(err, syscall.ENOTCONN) || errors.Is(err, syscall.ECONNABORTED) {
		return []byte(goneWord)
	}
	// A mount of another user shows nothing.
	state, _ := os.ReadFile(filepath.Join(dir, ".zarrfs", "status.json"))
	return state
}

// printState prints the state of the mount at dir.
func printState(dir string) error {
	_, err := os.Stdout.Write(stateHere(dir))
	return err
}

// storeApart makes the mount at dir store what was written, in another process, and names what
// cannot be stored.
func storeApart(dir string) error {
	switch unstored, err := apart(context.Background(), storeOnlyFlag, dir); {
	case err != nil:
		return storeHere(dir)
	case len(unstored) > 0:
		return errors.New(string(unstored))
	}
	return nil
}

// printUnstored makes the mount at dir store what was written, and prints what storeHere returns.
func printUnstored(dir string) error {
	if err := storeHere(dir); err != nil {
		_, err = fmt.Print(err)
		return err
	}
	return nil
}

// storeHere is storeApart in this process.
func storeHere(dir string) error {
	read := func() (s statusfile.Status) {
		json.Unmarshal(stateHere(dir), &s)
		return s
	}
	f, err := os.Open(dir)
	if err == nil {
		defer f.Close()
		err = f.Sync()
	} else if read().Core.Write.Dirty == 0 {
		return nil // the unmount itself will report what is wrong
	}
	if err == nil || errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.EROFS) {
		return nil
	}
	state := read()
	text := fmt.Sprintf("not all that was written can be stored: %v", bare(err))
	if _, err := os.Stat(state.Store); errors.Is(err, iofs.ErrNotExist) {
		text = fmt.Sprintf("the store %s was removed, so what was written cannot be stored",
			printable(state.Store))
	}
	failed := state.Core.Write.Errors
	for _, path := range slices.Sorted(maps.Keys(failed)) {
		text += "\n  " + terminal.Line(namedError(path, failed[path]))
	}
	return errors.New(text)
}

// silentError says that the program that serves a mount does not answer, and what to do. Number 0
// stands for a program that is not known.
func silentError(m mountEntry, pid int) error {
	if pid == 0 {
		pid = m.server()
	}
	if program.IsStopped(pid) {
		return fmt.Errorf("process %d, which serves %s, does not answer, because it is stopped. "+
			"Continue it with `kill -CONT %[1]d`, or cut it off with `zarrfs umount --force "+
			"%[2]s`: what it has not stored is lost if the process is then killed", pid, m.dir)
	}
	return fmt.Errorf("the program that serves %s does not answer; wait and try again, "+
		"or cut it off with `zarrfs umount --force %[1]s`: what it has not stored is lost if the "+
		"process is then killed", m.dir)
}

// askState returns the state of a mount, or why its program does not say.
func askState(m mountEntry) (statusfile.Status, error) {
	s, health := stateOf(m.dir)
	switch health {
	case gone:
		return s, fmt.Errorf("%s is a stale mount: the program that served it is gone; remove it "+
			"with `zarrfs umount %[1]s`", m.dir)
	case silent:
		return s, silentError(m, 0)
	}
	if s.Pid == 0 {
		return s, fmt.Errorf("%s/.zarrfs/status.json cannot be read; only the user who "+
			"mounted it may", m.dir)
	}
	return s, nil
}
