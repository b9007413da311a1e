package integration

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestRenamedAgain: a file that is open is the array's after any number of renames.
func TestRenamedAgain(t *testing.T) {
	for _, flags := range []int{os.O_RDWR, os.O_WRONLY} {
		store := semanticsStore(t)
		dir := mount(t, store)
		f, err := os.OpenFile(filepath.Join(dir, "a.raw"), flags, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []string{"ab", "bc", "cd", "de"} {
			err := os.Rename(filepath.Join(dir, n[:1]+".raw"), filepath.Join(dir, n[1:]+".raw"))
			if err != nil {
				t.Fatal(err)
			}
		}
		p := make([]byte, 8)
		if flags == os.O_RDWR {
			if _, err := f.ReadAt(p, 0); err != nil || string(p) != string(semanticsBytes()[:8]) {
				t.Errorf("read %q, %v, expected %q", p, err, semanticsBytes()[:8])
			}
		}
		if _, err := f.WriteAt([]byte("written!"), 0); err != nil {
			t.Error(err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, "e.raw")); err != nil ||
			string(got[:8]) != "written!" {
			t.Errorf("%v", err)
		}
	}
}

// TestNewFileIsRenamed: a new .json or .npy is renamed before it has become an array. It becomes
// one under its new name, whatever part of it was written before. Nothing is left at the old name.
func TestNewFileIsRenamed(t *testing.T) {
	dir := mount(t, semanticsStore(t))
	document := read(t, filepath.Join(dir, "a.json"))
	data := read(t, filepath.Join(dir, "a.npy"))
	for _, tc := range []struct {
		from, to string
		whole    []byte
		before   int // bytes that are written before the rename
	}{
		{"b.json", "c.json", document, 0},
		{"d.json", "e.json", document, 60},
		{"f.json", "g/f.json", document, len(document)},
		{"h.npy", "i.npy", data, 0},
		{"j.npy", "g/j.npy", data, 60},
	} {
		from, to := filepath.Join(dir, tc.from), filepath.Join(dir, tc.to)
		becomesRenamed(t, from, to, tc.whole, tc.before)
	}
}

// becomesRenamed writes a new file, renames it in between, and expects it as it was written.
func becomesRenamed(t *testing.T, from, to string, whole []byte, before int) {
	t.Helper()
	f, err := os.Create(from)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write(whole[:before])
	err = errors.Join(err, os.Rename(from, to))
	_, writeErr := f.Write(whole[before:])
	if err := errors.Join(err, writeErr, f.Close()); err != nil {
		t.Fatalf("%s, renamed after %d bytes: %v", to, before, err)
	}
	got, err := os.ReadFile(to)
	if err != nil || !bytes.Equal(bytes.TrimSpace(got), bytes.TrimSpace(whole)) {
		t.Errorf("%s, renamed after %d bytes: %d bytes, %v", to, before, len(got), err)
	}
	if _, err := os.Stat(from); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s, renamed after %d bytes, is there still: %v", from, before, err)
	}
}

// TestLinesWhileRenamed: lines that a program appends to an array while it is renamed back and
// forth are in it, if their close succeeded.
func TestLinesWhileRenamed(t *testing.T) {
	store := treeStore(t)
	run(t, zarrfs(t), "create", store, "a", "--shape", "0", "--dtype", "string", "--chunks", "64")
	dir := mount(t, store)
	one, other := filepath.Join(dir, "a.jsonl"), filepath.Join(dir, "b.jsonl")
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		from, to := one, other
		for {
			select {
			case <-stop:
				return
			case <-time.After(2 * time.Millisecond):
			}
			if err := os.Rename(from, to); err != nil {
				t.Error(err)
				return
			}
			from, to = to, from
		}
	}()
	var closed []string
	for i, end := 0, time.Now().Add(2*time.Second); time.Now().Before(end); i++ {
		line := fmt.Sprintf("\"line %d\"\n", i)
		if appendedLine(t, []string{one, other}[i%2], line) {
			closed = append(closed, line)
		}
	}
	close(stop)
	<-stopped
	got, err := os.ReadFile(one)
	if err != nil {
		got, err = os.ReadFile(other)
	}
	if err != nil {
		t.Error(err)
	}
	for _, line := range closed {
		if strings.Count(string(got), line) != 1 {
			t.Errorf("%q is there %d times", line, strings.Count(string(got), line))
		}
	}
	if len(closed) < 20 {
		t.Errorf("only %d lines were written", len(closed))
	}
}

// appendedLine appends a line to the file of that name, if it exists at that moment, and reports
// whether it did.
func appendedLine(t *testing.T, name, line string) bool {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return false
	}
	_, err = f.WriteString(line)
	time.Sleep(6 * time.Millisecond)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Errorf("%s: %v", name, err)
		return false
	}
	return true
}

// TestReadWhileRenamed: a file that is renamed while it is read has its bytes all the time.
func TestReadWhileRenamed(t *testing.T) {
	dir := mount(t, semanticsStore(t))
	f, err := os.Open(filepath.Join(dir, "a.raw"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	stop := make(chan struct{})
	ended := make(chan int)
	go func() {
		n := 0
		defer func() { ended <- n }()
		for {
			for _, way := range [][2]string{{"a.raw", "b.raw"}, {"b.raw", "a.raw"}} {
				err := os.Rename(filepath.Join(dir, way[0]), filepath.Join(dir, way[1]))
				if err != nil {
					t.Error(err)
					return
				}
				n++
				time.Sleep(time.Millisecond)
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	want := semanticsBytes()
	bad := 0
	for reads, begin := 0, time.Now(); time.Since(begin) < time.Second; reads++ {
		got := make([]byte, len(want))
		if n, err := f.ReadAt(got, 0); err != nil || !bytes.Equal(got, want) {
			if bad++; bad < 4 {
				t.Errorf("read %d: %d bytes, %v, begins with %v, expected %v",
					reads, n, err, got[:8], want[:8])
			}
		}
	}
	close(stop)
	if n := <-ended; n == 0 {
		t.Error("it was never renamed")
	}
}
