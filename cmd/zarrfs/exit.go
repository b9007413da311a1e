package main

import (
	"errors"
	"fmt"
)

// Exit codes. They are part of the interface: scripts rely on them.
const (
	exitOK    = 0 // all went well
	exitFail  = 1 // something failed, as the message says
	exitUsage = 2 // the command line is wrong
	exitStore = 3 // the store, group or array is not found, is not a store, or cannot be read
	// the mountpoint or FUSE itself cannot be used, or umount could not store or unmount
	exitMount = 4
	exitBusy  = 5 // umount: programs still use the mount, or a copy of it
)

const exitHelp = `Exit codes:
  0  all went well
  1  something failed, as the message says
  2  the command line is wrong
  3  the store, group or array is not found, is not a store, or cannot be read
  4  the mountpoint or FUSE itself cannot be used; umount: not all that was written can be stored,
     or it stays mounted
  5  umount: programs still use the mount, or a copy of it that a container has
`

// exitError is an error with an exit code of its own.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// usageError is an error in the command line.
type usageError struct{ error }

func storeErr(err error) error { return withCode(exitStore, err) }
func mountErr(err error) error { return withCode(exitMount, err) }

func withCode(code int, err error) error {
	if err == nil {
		return nil
	}
	return &exitError{code, err}
}

// report prints an error and returns the exit code it stands for.
func report(err error) int {
	if err == nil || errors.Is(err, errHelp) {
		return exitOK
	}
	fmt.Fprintln(stderr, "zarrfs:", onLines(err))
	return codeOf(err)
}

func codeOf(err error) int {
	var usage usageError
	if errors.As(err, &usage) {
		return exitUsage
	}
	var e *exitError
	if errors.As(err, &e) {
		return e.code
	}
	return exitFail
}
