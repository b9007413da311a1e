package scratch

import (
	"os"
	"path/filepath"
	"testing"
)

// TestMadeWithName makes a file as where the file system has no files without a name. It is found
// after its process, and can be kept under another name.
func TestMadeWithName(t *testing.T) {
	dir := t.TempDir()
	all := NewFiles(dir, func() []byte { return []byte("note") })
	s := &File{all: all}
	if err := s.makeNamed(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.WriteAt([]byte("text"), 0); err != nil {
		t.Fatal(err)
	}
	if err := s.Sync("g/a b"); err != nil {
		t.Fatal(err)
	}
	if left := LeftIn(dir); left != nil {
		t.Errorf("files of a process that runs are taken for left: %v", left)
	}
	all.lock.Close()
	left := LeftIn(dir)
	if len(left) != 1 || len(left[0].Files) != 1 || left[0].Files[0] != "1-g%2Fa%20b" ||
		left[0].Bytes != 4 || string(left[0].Note) != "note" {
		t.Fatalf("left is %v", left)
	}
	kept := filepath.Join(dir, "kept")
	if err := s.KeepAs(kept); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(kept); string(text) != "text" {
		t.Errorf("the kept file has %q, %v", text, err)
	}
}
