package keyed

import (
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
	}{
		{"the same", "a/b", []string{"a/b"}, true},
		{"above", "a/b", []string{"a"}, true},
		{"the root", "a/b", []string{""}, true},
		{"one of two", "a/b", []string{"x", "a"}, true},
		{"below", "a/b", []string{"a/b/c"}, false},
		{"beside", "a/b", []string{"a/bc", "c"}, false},
		{"a part of the name", "ab", []string{"a"}, false},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			var tree Tree
			use := func() func() { return tree.Use(c.used) }
			stop := func() func() { return tree.Stop(c.stopped...) }
			for name, order := range map[string][2]func() func(){"use, then stop": {use, stop}, "stop, then use": {stop, use}} {
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
	if !waitsFor(t, both, func() func() { return tree.Use("a") }) {
		t.Error("a use does not wait for the second of two stops")
	}
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
