package program

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCopies asks which file a command copies to which other.
func TestCopies(t *testing.T) {
	for _, tc := range []struct {
		command, from, to string
		want              bool
	}{
		{"mv m/b.npy m2", "/x/m/b.npy", "/x/m2/b.npy", true},
		{"mv m/b.npy m2/b.npy", "/x/m/b.npy", "/x/m2/b.npy", true},
		{"mv -t m2 m/b.npy", "/x/m/b.npy", "/x/m2/b.npy", true},
		{"mv --target-directory=/x/m2 m/b.npy", "/x/m/b.npy", "/x/m2/b.npy", true},
		{"mv m/b.npy m2", "/x/m2/b.npy", "/x/m/b.npy", false},
		{"mv m/b.npy m2/c.npy", "/x/m/b.npy", "/x/m2/b.npy", false},
		{"mv m/b.npy m2/g", "/x/m/b.npy", "/x/m2/b.npy", false},
		{"mv m/b.np m2", "/x/m/b.npy", "/x/m2/b.npy", false},
		{"cp -r m/g m2", "/x/m/g/c.npy", "/x/m2/g/c.npy", true},
		{"cp -r m/g/ m2", "/x/m/g/c.npy", "/x/m2/g/c.npy", true},
		{"cp -r m/g/. m2", "/x/m/g/c.npy", "/x/m2/c.npy", true},
		{"rsync -t m/g/ m2/g", "/x/m/g/c.npy", "/x/m2/g/c.npy", true},
		{"rsync m/g m2 --exclude none", "/x/m/g/c.npy", "/x/m2/g/c.npy", true},
		{"rsync m/g/ m2", "/x/m/g/c.npy", "/x/m2/g/c.npy", false},
		{"mv", "/x/m/b.npy", "/x/m2/b.npy", false},
	} {
		if got := copies(strings.Fields(tc.command), "/x", tc.from, tc.to); got != tc.want {
			t.Errorf("%s: %s to %s: %v, expected %v", tc.command, tc.from, tc.to, got, tc.want)
		}
	}
}

// TestReads opens files to read and to write them.
func TestReads(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b")
	w, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	self := Process{PID: os.Getpid()}
	if slices.Contains(self.Reads(), path) {
		t.Error("a file that is open for writing is read")
	}
	r, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if !slices.Contains(self.Reads(), path) {
		t.Errorf("%s is not among %q", path, self.Reads())
	}
}
