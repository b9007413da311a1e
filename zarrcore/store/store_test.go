package store

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"slices"
	"strings"
	"testing"
)

// fake is a driver that misbehaves: it lists any names, and its one object may lie about its size.
// It counts calls.
type fake struct {
	names []string
	data  string
	size  int64
	calls int
	fresh []string // dirs that Refresh was called with
	open  int      // objects not closed
}

func (f *fake) Open(context.Context, string) (Object, error) {
	f.calls++
	f.open++
	return &fakeObject{strings.NewReader(f.data), f}, nil
}

func (f *fake) Stat(context.Context, string) (Info, error) {
	f.calls++
	return Info{}, io.ErrNoProgress
}

func (f *fake) List(_ context.Context, _ string, yield func(Entry) error) error {
	f.calls++
	for _, name := range f.names {
		if err := yield(Entry{Name: name}); err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}

func (f *fake) Refresh(dir string) { f.fresh = append(f.fresh, dir) }

type fakeObject struct {
	*strings.Reader
	f *fake
}

func (o *fakeObject) Size() int64  { return o.f.size }
func (o *fakeObject) Info() Info   { return Info{Size: o.f.size, Version: "v"} }
func (o *fakeObject) Close() error { o.f.open--; return nil }

func TestReadAll(t *testing.T) {
	tests := []struct {
		data        string
		size, limit int64
		want        error
	}{
		{"abc", 3, 3, nil}, {"", 0, 0, nil}, {"abc", 3, math.MaxInt64, nil},
		{"abc", 3, 2, ErrTooLarge}, {"", 1 << 60, 1 << 20, ErrTooLarge},
		{"abc", -1, 10, ErrTooLarge},
		{"ab", 3, 3, io.ErrUnexpectedEOF}, {"", 3, 3, io.ErrUnexpectedEOF},
	}
	for _, test := range tests {
		f := &fake{data: test.data, size: test.size}
		data, info, err := New(f, "").ReadAll(t.Context(), "k", test.limit)
		if !errors.Is(err, test.want) || err == nil &&
			(string(data) != test.data || info.Version != "v") {
			t.Errorf("%+v: %q, %+v, %v", test, data, info, err)
		}
		if err != nil && strings.Count(err.Error(), "read k: ") != 1 {
			t.Errorf("%+v: %q does not name operation and key, once", test, err)
		}
		if f.open != 0 {
			t.Errorf("%+v: object left open", test)
		}
	}
}

// Keys are checked before the driver sees them, and its errors get the key.
func TestKeysAndErrors(t *testing.T) {
	f := &fake{}
	s := New(f, "name")
	for _, key := range []string{"..", "a/../b", "/a", "a\x00"} {
		_, openErr := s.Open(t.Context(), key)
		_, _, readErr := s.ReadAll(t.Context(), key, 1)
		_, statErr := s.Stat(t.Context(), key)
		listErr := s.List(t.Context(), key, nil)
		errs := []error{openErr, readErr, statErr, listErr, s.Put(t.Context(), key, nil),
			s.Delete(t.Context(), key, If{})}
		for i, err := range errs {
			if !errors.Is(err, ErrInvalidKey) {
				t.Errorf("%q, call %d: %v, want ErrInvalidKey", key, i, err)
			}
		}
	}
	if f.calls != 0 {
		t.Errorf("the driver saw invalid keys %d times", f.calls)
	}
	_, err := s.Stat(t.Context(), "a/b")
	var path *fs.PathError
	if !errors.As(err, &path) || path.Op != "stat" || path.Path != "a/b" ||
		path.Err != io.ErrNoProgress {
		t.Errorf("Stat: %#v", err)
	}
	if s.IsWritable() || !errors.Is(s.Put(t.Context(), "a", nil), ErrReadOnly) ||
		!errors.Is(s.Delete(t.Context(), "a", If{}), ErrReadOnly) {
		t.Error("a driver without Writer can write")
	}
	if s.Dirs().Refresh("a"); !slices.Equal(f.fresh, []string{"a"}) {
		t.Errorf("Refresh reached the driver as %q", f.fresh)
	}
	if s.Name() != "name" || s.Close() != nil {
		t.Error("Name or Close")
	}
}

// Names that no key can have do not come out of a listing; the driver's error does, and yield's
// wins over it.
func TestListNames(t *testing.T) {
	f := &fake{names: []string{"a", "", ".", "..", "b/c", "/", "x\x00", "...", "d"}}
	var got []string
	err := New(f, "").List(t.Context(), "", func(e Entry) error {
		got = append(got, e.Name)
		return nil
	})
	if !errors.Is(err, io.ErrNoProgress) || !slices.Equal(got, []string{"a", "...", "d"}) {
		t.Errorf("List = %q, %v", got, err)
	}
	stop := errors.New("stop")
	if err := New(f, "").List(t.Context(), "", func(Entry) error { return stop }); err != stop {
		t.Errorf("List = %v, want yield's own error", err)
	}
}
