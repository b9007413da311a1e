package wire

import (
	"testing"
	"time"
)

// TestAgain: a thread gets ESTALE once for each call.
func TestAgain(t *testing.T) {
	var a Again
	if !a.Tell(1) || !a.Tell(2) {
		t.Error("a thread does not get ESTALE the first time")
	}
	if a.Tell(1) {
		t.Error("a thread gets ESTALE twice")
	}
	if !a.Tell(1) {
		t.Error("the next call does not get ESTALE the first time")
	}
	a.Ended(1)
	if !a.Tell(1) || a.Tell(2) {
		t.Error("a call that has opened its file ends that of another thread, or not its own")
	}
	for thread := range 2 * againMost {
		a.Tell(1000 + thread)
	}
	for thread := range a.threads {
		a.threads[thread] = time.Now().Add(-2 * againFor)
	}
	if !a.Tell(1) || len(a.threads) != 1 {
		t.Errorf("%d threads are known, expected the last one", len(a.threads))
	}
}
