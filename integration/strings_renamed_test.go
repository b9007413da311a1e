package integration

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestStringsReadWhileRenamed: an array of strings is renamed back and forth while programs read
// it. A read to the end has all lines, or is an error, and a file that stays open has all of them.
// Afterwards all lines are there, also after a few bytes were written.
func TestStringsReadWhileRenamed(t *testing.T) {
	dir := mount(t, semanticsStore(t), "--cache-size", "4MiB")
	a, z := filepath.Join(dir, "s.jsonl"), filepath.Join(dir, "t.jsonl")
	want := manyLines(t, filepath.Join(dir, "s"))
	f, err := os.Open(a)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var whole atomic.Int64
	var readers sync.WaitGroup
	end := time.Now().Add(2 * time.Second)
	check := func(what string, got []byte, err error, must bool) {
		switch {
		case err == nil && !bytes.Equal(got, want):
			t.Errorf("%s: %d bytes without an error, expected %d others", what, len(got), len(want))
		case err != nil && must:
			t.Errorf("%s: %v", what, err)
		case err == nil:
			whole.Add(1)
		}
	}
	for _, path := range []string{a, z} {
		readers.Go(func() {
			for time.Now().Before(end) && !t.Failed() {
				got, err := os.ReadFile(path)
				check(path, got, err, false)
			}
		})
	}
	readers.Go(func() {
		for time.Now().Before(end) && !t.Failed() {
			got := make([]byte, len(want))
			_, err := f.ReadAt(got, 0)
			check("the file that stays open", got, err, true)
		}
	})
	renames := 0
	for ; time.Now().Before(end) && !t.Failed(); renames++ {
		for _, way := range [][2]string{{a, z}, {z, a}} {
			if err := os.Rename(way[0], way[1]); err != nil {
				t.Fatal(err)
			}
		}
	}
	readers.Wait()
	t.Logf("%d renames, %d whole reads", 2*renames, whole.Load())
	got, err := os.ReadFile(a)
	check("at rest", got, err, true)
	checkSmallWrite(t, a, want)
}

// manyLines creates an array of 600 strings, four to a chunk, and returns its lines.
func manyLines(t *testing.T, path string) []byte {
	t.Helper()
	sizes := strings.NewReplacer("[5,3]", "[600]", "[4,2]", "[4]")
	document := sizes.Replace(stringsV3("string", "[CODEC]"))
	var text []byte
	for i := range 600 {
		text = fmt.Appendf(text, "\"line %d\"\n", i)
	}
	for _, content := range [][2]string{{".json", document}, {".jsonl", string(text)}} {
		if err := os.WriteFile(path+content[0], []byte(content[1]), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return text
}

// checkSmallWrite writes three bytes of a file in place, and expects all others as they were.
func checkSmallWrite(t *testing.T, path string, want []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("new"), 1); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	want = append([]byte("\"new"), want[4:]...)
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
		t.Errorf("three bytes were written: read %d bytes, %v; expected %d others",
			len(got), err, len(want))
	}
}
