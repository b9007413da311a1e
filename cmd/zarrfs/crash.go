package main

import (
	"path/filepath"
	"runtime/debug"
)

// crashName is the file of the state folder for stacks of a mount that crashes, where its log is
// not a file.
const crashName = "crash.log"

// keepCrashes makes a program that panics, or whose runtime gives up, leave its stacks in the log.
// Where the log is not a file they are in the state folder. A mount in the background has no
// standard error.
func (l *mountLog) keepCrashes() {
	file := l.file
	if file == nil {
		folder, err := stateFolder()
		if err != nil {
			return // without a folder there is no place for them
		}
		if file, err = openInState(filepath.Join(folder, crashName)); err != nil {
			return
		}
		defer file.file.Close() // SetCrashOutput has a descriptor of its own
	}
	file.mu.Lock()
	defer file.mu.Unlock()
	if err := debug.SetCrashOutput(file.file, debug.CrashOptions{}); err != nil {
		l.Warn("the stacks of a crash would be lost", "err", err)
	}
}
