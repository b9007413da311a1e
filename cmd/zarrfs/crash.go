package main

import (
	"path/filepath"
	"runtime/debug"
)

// crashName is the file of the state folder for the stacks of a crash, if the mount's log is not a
// file.
const crashName = "crash.log"

// keepCrashes makes the program leave its stacks in the log if it panics, or if the Go runtime
// gives up. If the log is not a file, the stacks are in the state folder. They cannot go to
// standard error, because a mount in the background has none.
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
