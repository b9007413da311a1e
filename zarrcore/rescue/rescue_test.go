package rescue

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestNoteOfColumns: a note that is given each byte of a matrix, column by column, does not hold
// a stretch for each of them.
func TestNoteOfColumns(t *testing.T) {
	const rows, columns = 1000, 8000
	most := 0
	var n note
	for column := range int64(columns) {
		for row := range int64(rows) {
			n.add(row*columns+column, 1)
			most = max(most, cap(n.Stretches))
		}
	}
	if most > 80<<10 {
		t.Errorf("the note had room for %d stretches", most)
	}
}

// failingText is a text whose second half cannot be read. halfway is called before that.
type failingText struct {
	halfway func()
	half    bool
}

func (f *failingText) Read(p []byte) (int, error) {
	if !f.half {
		f.half = true
		return copy(p, "half"), nil
	}
	f.halfway()
	return 0, syscall.EIO
}

// TestRescuedTextIsWhole: a file of kept lines gets its name once it is whole. A process that is
// killed before leaves a file .part. After a failure no file is left.
func TestRescuedTextIsWhole(t *testing.T) {
	dir := t.TempDir()
	names := func() (names []string) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	var meanwhile []string
	_, err := Text(dir, "a", ".jsonl", &failingText{halfway: func() { meanwhile = names() }})
	if !errors.Is(err, syscall.EIO) {
		t.Errorf("expected EIO, found %v", err)
	}
	if len(meanwhile) != 1 || !strings.HasSuffix(meanwhile[0], "-a.jsonl.part") {
		t.Errorf("meanwhile there are %q", meanwhile)
	}
	if left := names(); len(left) != 0 {
		t.Errorf("there are left %q", left)
	}
	for i, end := range []string{"-a.jsonl", "-a-2.jsonl"} {
		text := strings.Repeat("1\n", i+1)
		name, err := Text(dir, "a", ".jsonl", strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(name); err != nil || string(got) != text ||
			!strings.HasSuffix(name, end) {
			t.Errorf("%s has %q, %v", name, got, err)
		}
	}
}
