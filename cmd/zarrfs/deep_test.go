package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestNewGroupsStayLookedUp: the kernel asks for the name of a group that was made in the mount as
// seldom as for any other. Otherwise a program that copies a deep tree by full paths has each level
// looked up once for each level.
func TestNewGroupsStayLookedUp(t *testing.T) {
	dir := mounted(t, makeStore(t))
	if err := os.MkdirAll(filepath.Join(dir, "d/d/d/d/d"), 0o777); err != nil {
		t.Fatal(err)
	}
	// until the kernel asks for what it has learned when they were made
	time.Sleep(1100 * time.Millisecond)
	for range 50 { // on a busy machine the kernel may have to ask again meanwhile, after a second
		look(t, dir)
		before, begun := statusOf(t, dir).Lookups, time.Now()
		for range 20 {
			look(t, dir)
		}
		asked := statusOf(t, dir).Lookups - before
		if time.Since(begun) < time.Second/2 {
			if asked > 10 { // once each, and for status.json
				t.Errorf("the kernel has asked %d times for 5 groups within a second", asked)
			}
			return
		}
	}
	t.Skip("SKIPPED: how often the kernel asks, because this machine is too busy")
}

func look(t *testing.T, dir string) {
	t.Helper()
	if _, err := os.Lstat(filepath.Join(dir, "d/d/d/d/d")); err != nil {
		t.Fatal(err)
	}
}
