// Package storetest tests that a backend keeps the contract of store.Driver, and makes
// backends fail on purpose.
//
// # Testing a new backend
//
// Write one test beside it. The suite asks for a driver over a fresh store with the given objects.
// For backends that can write, [Fill] puts the objects there:
//
//	func TestConformance(t *testing.T) {
//		storetest.Run(t, func(t *testing.T, objects map[string][]byte) store.Driver {
//			d, err := dirstore.Open(t.TempDir(), nil)
//			if err != nil {
//				t.Fatal(err)
//			}
//			t.Cleanup(func() { d.Close() })
//			storetest.Fill(t, d, objects)
//			return d
//		})
//	}
//
// A backend that cannot write (zip, HTTP) writes the archive, or starts the server, from objects
// instead. What needs store.Writer is tested where the driver is one. Run it under -race too: one
// of the tests is made for that.
//
// # Making a backend fail
//
// [Faulty] wraps a driver; an [Injector] decides about each operation. OnNth(3, OpRead,
// syscall.EIO) fails the third read.
//
// # Adding a test
//
// Write a method of the type of one of the files and name it in the table of Run. Say in its
// comment which sentence of the contract it tests. It must hold for every backend: an error may say
// more than the contract asks, never something else.
package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// Run tests the drivers that open returns. Each is over a fresh store with objects, and with
// nothing else in it.
func Run(t *testing.T, open func(t *testing.T, objects map[string][]byte) store.Driver) {
	tests := []struct {
		name string
		run  func(*suite)
	}{
		{"Missing", as(reading.missing)},
		{"Empty", as(reading.empty)},
		{"ReadAt", as(reading.readAt)},
		{"Big", as(reading.big)},
		{"Peek", as(reading.peek)},
		{"Closed", as(reading.closed)},
		{"Stat", as(reading.stat)},
		{"OddNames", as(reading.oddNames)},
		{"Cancelled", as(reading.cancelled)},
		{"Concurrent", as(reading.concurrent)},
		{"Store", as(reading.portable)},
		{"List", as(listing.list)},
		{"ListEmptyRoot", as(listing.listEmptyRoot)},
		{"ListStops", as(listing.listStops)},
		{"ListMany", as(listing.listMany)},
		{"Survey", as(listing.survey)},
		{"OpenFor", as(requesting.openFor)},
		{"Ranges", as(requesting.ranges)},
		{"GetIf", as(requesting.getIf)},
		{"Walk", as(requesting.walk)},
		{"Prefetch", as(requesting.prefetch)},
		{"Traits", as(requesting.traits)},
		{"Stamp", as(holding.stamp)},
		{"Put", as(writing.putting)},
		{"StageKeepsNothing", as(writing.keepsNothing)},
		{"StageParts", as(writing.parts)},
		{"Staged", as(writing.staged)},
		{"Discard", as(writing.discarding)},
		{"CommitIf", as(writing.conditional)},
		{"CommitTells", as(writing.tells)},
		{"Versions", as(writing.versions)},
		{"MergeRace", as(writing.mergeRace)},
		{"Delete", as(writing.deleting)},
		{"DeleteIf", as(writing.deletingIf)},
		{"Replace", as(writing.replace)},
		{"ReplaceRace", as(writing.replaceRace)},
		{"RemoveAll", as(writing.removeAll)},
		{"RemoveAlone", as(writing.removeAlone)},
		{"Rename", as(writing.rename)},
		{"ReplaceTree", as(writing.replaceTree)},
		{"Links", as(linking.links)},
		{"ChangedLinks", as(linking.changedLinks)},
		{"PutThroughLinks", as(linking.putThroughLinks)},
		{"FailedCommit", as(holding.failedCommit)},
		{"Make", as(holding.making)},
		{"Hold", as(holding.hold)},
		{"HoldRenamed", as(holding.holdRenamed)},
		{"Identity", as(holding.identity)},
		{"HoldRemoved", as(holding.holdRemoved)},
		{"HoldRace", as(holding.holdRace)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { test.run(&suite{T: t, open: open}) })
	}
}

// as returns the test that runs one of a part of the suite.
func as[P ~struct{ *suite }](run func(P)) func(*suite) {
	return func(s *suite) { run(P{s}) }
}

// Fill puts objects into d, which must be a store.Writer.
func Fill(t *testing.T, d store.Driver, objects map[string][]byte) {
	t.Helper()
	for key, data := range objects {
		if err := store.New(d, "").Put(t.Context(), key, data); err != nil {
			t.Fatalf("Fill: %v", err)
		}
	}
}

// suite is one test of Run. The tests are methods of its parts, such as reading and writing.
type suite struct {
	*testing.T
	open func(t *testing.T, objects map[string][]byte) store.Driver
}

// with opens a store of the given objects; nil data is an empty object.
func (s *suite) with(objects map[string][]byte) store.Driver {
	s.Helper()
	return s.open(s.T, objects)
}

// writer opens a store to change, or skips the test.
func (s *suite) writer(objects map[string][]byte) (store.Writer, *store.Store) {
	s.Helper()
	w, ok := s.with(objects).(store.Writer)
	if !ok {
		s.Skip("the backend cannot write")
	}
	return w, store.New(w, "test")
}

// listed is with, or skips the test where the store cannot list.
func (s *suite) listed(objects map[string][]byte) store.Driver {
	s.Helper()
	d := s.with(objects)
	if store.TraitsOf(d).List == store.ListNever {
		s.Skip("the store cannot list")
	}
	return d
}

// put stores data at key.
func (s *suite) put(st *store.Store, key string, data []byte) {
	s.Helper()
	if err := st.Put(s.Context(), key, data); err != nil {
		s.Fatal(err)
	}
}

// stage writes data for key; the test's end discards what was not committed.
func (s *suite) stage(st *store.Store, key string, data []byte) *store.Staged {
	s.Helper()
	o, err := st.Stage(s.Context(), key, data)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(o.Discard)
	return o
}

// must opens key; the test's end closes it.
func (s *suite) must(d store.Driver, key string) store.Object {
	s.Helper()
	o, err := d.Open(s.Context(), key)
	if err != nil {
		s.Fatalf("Open(%q): %v", key, err)
	}
	s.Cleanup(func() { o.Close() })
	return o
}

// wantContent reads the whole of key.
func (s *suite) wantContent(d store.Driver, key string, want []byte) {
	s.Helper()
	got, err := content(s.Context(), d, key)
	if err != nil || !bytes.Equal(got, want) {
		s.Errorf("content of %q: got %s, %v; want %s", key, brief(got), err, brief(want))
	}
}

// wantMissing expects fs.ErrNotExist from Open and Stat.
func (s *suite) wantMissing(d store.Driver, key string) {
	s.Helper()
	if o, err := d.Open(s.Context(), key); !errors.Is(err, fs.ErrNotExist) {
		s.Errorf("Open(%q): got %v, %v; want fs.ErrNotExist", key, o, err)
	}
	if info, err := d.Stat(s.Context(), key); !errors.Is(err, fs.ErrNotExist) {
		s.Errorf("Stat(%q): got %+v, %v; want fs.ErrNotExist", key, info, err)
	}
}

// wantList expects exactly these children, directories with a trailing "/".
func (s *suite) wantList(d store.Driver, dir string, want ...string) {
	s.Helper()
	seen := map[string]bool{}
	err := d.List(s.Context(), dir, func(e store.Entry) error {
		name := e.Name
		if e.Dir {
			name += "/"
		}
		if seen[name] {
			s.Errorf("List(%q): %q comes twice", dir, name)
		}
		seen[name] = true
		return nil
	})
	if err != nil {
		s.Errorf("List(%q): %v", dir, err)
	}
	for _, name := range want {
		if !seen[name] {
			s.Errorf("List(%q): %q is missing", dir, name)
		}
		delete(seen, name)
	}
	for name := range seen {
		s.Errorf("List(%q): %q is too much", dir, name)
	}
}

func content(ctx context.Context, d store.Driver, key string) ([]byte, error) {
	o, err := d.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	defer o.Close()
	data := make([]byte, o.Size())
	n, err := o.ReadAt(data, 0)
	if n == len(data) && err == io.EOF {
		err = nil // io.ReaderAt allows both at the exact end
	}
	return data[:n], err
}

// pattern returns n bytes that differ from place to place and from seed to seed.
func pattern(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 0))
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	return data
}

func brief(b []byte) string {
	if len(b) <= 32 {
		return fmt.Sprintf("%q", b)
	}
	return fmt.Sprintf("%d bytes %q…", len(b), b[:16])
}

// oddNames are elements of keys that some backend might mistake for something else.
func oddNames() []string {
	return []string{
		" ", "a b", " lead", "trail ", "ü", "日本語", "e\u0301", "%", "%2F", "%2e%2e", "%00", "a+b",
		"a&b=c", "a?b", "a#b", "a;b", "~", "...",
		"..a", "a..", ".zarray", ".hidden", "-rf", "*", "[a]", "{a}", "$HOME", "`id`", "'", `"`,
		`a\b`, `..\..\x`, "C:", "a:b", "CON",
		"tab\there", "new\nline", "\x01", "\x7f", "@", "!", "<x>", "|", strings.Repeat("n", 255),
		strings.Repeat("ü", 127),
	}
}
