package main

import (
	"path/filepath"
	"runtime/debug"
)

// crashName is the file of the state folder for stacks of a mount that crashes, where its log is
// not a file.
const crashName = "crash.log"

// keepCrashes makes a mount in the background, which has no standard error, leave its stacks in its
// log when the program panics or the runtime gives up. Where the log is not a file they are in the
// state folder.
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
