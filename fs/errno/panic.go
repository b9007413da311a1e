package errno

import (
	"fmt"
	"runtime/debug"
)

// RecoverTo turns a panic of a goroutine that serves path into an error, so that one bad chunk
// never ends the mount. It is to be deferred.
func (l *Log) RecoverTo(op, path string, err *error) {
	if r := recover(); r != nil {
		l.Panicked(op+" "+path, r)
		*err = fmt.Errorf("internal error: %v", r)
	}
}

// Panicked logs a panic, and counts it. It is a bug of zarrfs, never of the store.
func (l *Log) Panicked(where string, r any) {
	l.panics.Add(1)
	l.To.Error("panic, please report", "in", where, "panic", fmt.Sprint(r), "stack",
		string(debug.Stack()))
}

// Panics returns how many panics there were.
func (l *Log) Panics() int64 { return l.panics.Load() }
