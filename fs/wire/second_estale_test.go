package wire

import (
	"testing"
	"time"
)

// TestAgain: a thread gets ESTALE once for each call.
func TestAgain(t *testing.T) {
	var a Again
	if !a.Tell(1, 7) || !a.Tell(2, 7) {
		t.Error("a thread does not get ESTALE the first time")
	}
	for range 2 {
		if a.Tell(1, 7) {
			t.Error("a thread gets ESTALE twice")
		}
	}
	a.Ended(1)
	if !a.Tell(1, 7) || a.Tell(2, 7) {
		t.Error("a call that has ended ends that of another thread, or not its own")
	}
	for range 2 {
		if !a.Tell(0, 7) {
			t.Error("a thread that cannot be seen does not get ESTALE")
		}
	}
	for thread := range 2 * againMost {
		a.Tell(1000+thread, 7)
	}
	for thread := range a.threads {
		a.threads[thread] = told{time.Now().Add(-2 * againFor), 7}
	}
	if !a.Tell(1, 7) || len(a.threads) != 1 {
		t.Errorf("%d threads are known, expected the last one", len(a.threads))
	}
}

// TestAgainByNode: in one call, the kernel looks the name up before it asks for the file. So a
// request for a file that was not looked up belongs to the next call. That call may follow at once.
func TestAgainByNode(t *testing.T) {
	var a Again
	a.Found(1, 7) // before any
	if !a.Tell(1, 7) {
		t.Error("a thread does not get ESTALE the first time")
	}
	a.Found(1, 8)
	a.Found(2, 9)
	if a.Tell(1, 8) {
		t.Error("a thread gets ESTALE of a file that it has looked up again")
	}
	a.Ended(1)
	a.Tell(1, 7)
	a.Found(1, 8)
	if !a.Tell(1, 9) {
		t.Error("the next call does not get ESTALE of another file")
	}
	if a.Tell(1, 9) {
		t.Error("a thread gets ESTALE twice of a file without a name")
	}
}
