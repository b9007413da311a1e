package keyed

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// TestTree: a path cannot be used while it, or one above it, is stopped. A stop waits for the uses
// that have begun. Other paths go on, and nothing stays of paths that are left.
func TestTree(t *testing.T) {
	tests := []struct {
		name, used string
		stopped    []string
		waits      bool
		upwards    bool
	}{
		{"the same", "a/b", []string{"a/b"}, true, false},
		{"above", "a/b", []string{"a"}, true, false},
		{"the root", "a/b", []string{""}, true, false},
		{"one of two", "a/b", []string{"x", "a"}, true, false},
		{"below", "a/b", []string{"a/b/c"}, false, false},
		{"below, upwards", "a/b", []string{"a/b/c"}, true, true},
		{"above, upwards", "a/b", []string{"a"}, true, true},
		{"beside", "a/b", []string{"a/bc", "c"}, false, false},
		{"beside, upwards", "a/b", []string{"a/bc", "a/c", "c"}, false, true},
		{"a part of the name", "ab", []string{"a"}, false, true},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			tree := Tree{Upwards: c.upwards}
			use := func() func() { return used(t, &tree, c.used) }
			stop := func() func() { return tree.Stop(c.stopped...) }
			for name, order := range map[string][2]func() func(){
				"use, then stop": {use, stop},
				"stop, then use": {stop, use},
			} {
				if waits := waitsFor(t, order[0], order[1]); waits != c.waits {
					t.Errorf("%s: the second waits: %v, want %v", name, waits, c.waits)
				}
			}
			if n := len(tree.using) + len(tree.stopped); n != 0 {
				t.Errorf("%d paths are kept that nobody holds", n)
			}
		})
	}
}

// TestTreeStopsSideBySide: two stops of one path do not wait for each other, and a use waits for
// both.
func TestTreeStopsSideBySide(t *testing.T) {
	var tree Tree
	stop := func() func() { return tree.Stop("a") }
	if waitsFor(t, stop, stop) {
		t.Error("a stop waits for another of the same path")
	}
	both := func() func() {
		first, second := stop(), stop()
		first()
		return second
	}
	if !waitsFor(t, both, func() func() { return used(t, &tree, "a") }) {
		t.Error("a use does not wait for the second of two stops")
	}
}

// used begins a use, which nothing interrupts.
func used(t *testing.T, tree *Tree, path string) (end func()) {
	end, err := tree.Use(context.Background(), path)
	if err != nil {
		t.Error(err)
	}
	return end
}

// TestTreeInterrupted: a use that waits ends with its context, and leaves nothing. Others go on to
// wait.
func TestTreeInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tree Tree
		end := tree.Stop("a")
		ctx, interrupt := context.WithCancel(t.Context())
		var interrupted, waited error
		done := false
		go func() { _, interrupted = tree.Use(ctx, "a/b") }()
		go func() {
			waited = tree.Wait(t.Context(), "a")
			done = true
		}()
		synctest.Wait()
		interrupt()
		synctest.Wait()
		if !errors.Is(interrupted, context.Canceled) || done {
			t.Errorf("interrupted: %v; the other has ended: %v", interrupted, done)
		}
		end()
		synctest.Wait()
		if !done || waited != nil {
			t.Errorf("the other has ended: %v, %v", done, waited)
		}
		if n := len(tree.using) + len(tree.stopped); n != 0 {
			t.Errorf("%d paths are kept that nobody holds", n)
		}
	})
}

// waitsFor reports whether the second waits until the first has ended.
func waitsFor(t *testing.T, first, second func() func()) (waits bool) {
	synctest.Test(t, func(t *testing.T) {
		end := first()
		done := false
		go func() {
			defer second()()
			done = true
		}()
		synctest.Wait()
		waits = !done
		end()
		synctest.Wait()
		if !done {
			t.Error("the second still waits once the first has ended")
		}
	})
	return waits
}
