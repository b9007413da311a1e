package listing

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/fs/alias"
	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/identity"
	"github.com/zarrfs/zarrfs/fs/known"
	"github.com/zarrfs/zarrfs/fs/pathstate"
	"github.com/zarrfs/zarrfs/fs/resolve"
	"github.com/zarrfs/zarrfs/fs/stat"
	"github.com/zarrfs/zarrfs/fs/transient"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore/hierarchytest"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// TestEntries lists an array beside a group with the name of the array's .npy, and a file that the
// store does not have. A view that was removed is not there.
func TestEntries(t *testing.T) {
	m := mountOf(t, filled(t, clashing))
	if _, err := m.Transients.Make(pathstate.At(""), "notes.tmp"); err != nil {
		t.Fatal(err)
	}
	m.Unlinked.Add("a", view.Plain(), 0)
	for _, tc := range []struct {
		bare bool
		want string
	}{
		{false, "a%.npy a.json a.npy/ notes.tmp zarr.json"},
		{true, "a%.npy a.json a.npy/ notes.tmp"},
	} {
		l := New(m, pathstate.At(""), tc.bare)
		got := rest(t, l)
		l.End()
		slices.Sort(got)
		if s := strings.Join(got, " "); s != tc.want {
			t.Errorf("bare is %v: %s, expected %s", tc.bare, s, tc.want)
		}
	}
}

// TestBack goes back to each entry. What follows is what followed before.
func TestBack(t *testing.T) {
	l := New(mountOf(t, filled(t, clashing)), pathstate.At(""), false)
	defer l.End()
	if l.HasBegun() {
		t.Error("it has begun before the first entry")
	}
	all := rest(t, l)
	for i := range all {
		at := uint64(i) + 2 // "." and ".." come first
		l.Back(t.Context(), at)
		for l.Pos() < at {
			l.Next(t.Context())
		}
		if got := rest(t, l); !slices.Equal(got, all[i:]) {
			t.Errorf("from %d: %q, expected %q", i, got, all[i:])
		}
	}
	l.Back(t.Context(), 0)
	if l.HasBegun() {
		t.Error("it does not list again")
	}
}

// stalled is a store that gives no answer about one group for some time.
type stalled struct {
	store.Driver
	group string
	isOn  atomic.Bool
}

func (s *stalled) Open(ctx context.Context, key string) (store.Object, error) {
	if s.isOn.Load() && strings.HasPrefix(key, s.group) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.Driver.Open(ctx, key)
}

// TestInterrupted: a listing that waits for the store gives up when its request does, at once or
// after thousands of entries. Later requests go on where it was: each entry comes once.
func TestInterrupted(t *testing.T) {
	objects, all := manyGroups()
	for _, at := range []string{"g0000", "g5500"} {
		t.Run(at, func(t *testing.T) {
			d := &stalled{Driver: filled(t, objects), group: at}
			l := New(mountOf(t, d), pathstate.At(""), true)
			defer l.End()
			d.isOn.Store(true)
			var got []string
			for range 2 { // once when it begins, and once when it goes on
				ctx, interrupt := context.WithTimeout(t.Context(), 100*time.Millisecond)
				names, errno := next(ctx, l)
				if interrupt(); errno != syscall.EINTR {
					t.Fatalf("%v after %d entries, expected %v", errno, len(names), syscall.EINTR)
				}
				got = append(got, names...)
			}
			d.isOn.Store(false)
			got = append(got, rest(t, l)...)
			if slices.Sort(got); !slices.Equal(got, all) {
				t.Errorf("%d names, expected %d, each once", len(got), len(all))
			}
		})
	}
}

// TestInterruptedTooLate: a request is given up just when it has found what it needed. The next one
// goes on.
func TestInterruptedTooLate(t *testing.T) {
	objects, all := manyGroups()
	l := New(mountOf(t, filled(t, objects)), pathstate.At(""), true)
	defer l.End()
	l.Next(t.Context())
	l.stop()
	got := rest(t, l)
	if slices.Sort(got); !slices.Equal(got, all) {
		t.Errorf("%d names, expected %d, each once", len(got), len(all))
	}
}

// manyGroups returns the objects of a store that has more groups than a listing reads ahead, and
// the names of these as rest returns them.
func manyGroups() (objects map[string][]byte, names []string) {
	objects = map[string][]byte{"zarr.json": []byte(hierarchytest.Group)}
	for i := range 6000 {
		name := fmt.Sprintf("g%04d", i)
		objects[name+"/zarr.json"] = []byte(hierarchytest.Group)
		names = append(names, name+"/")
	}
	return objects, names
}

// rest returns the names that are still to come, folders with a "/".
func rest(t *testing.T, l *Listing) []string {
	t.Helper()
	names, errno := next(t.Context(), l)
	if errno != 0 {
		t.Fatal(errno)
	}
	return names
}

// next is rest up to an error.
func next(ctx context.Context, l *Listing) (names []string, errno syscall.Errno) {
	for {
		e, ok, errno := l.Next(ctx)
		switch {
		case !ok:
			return names, errno
		case e.Self:
			continue
		}
		if mode, _ := e.Inode(); mode == syscall.S_IFDIR {
			e.Name += "/"
		}
		names = append(names, e.Name)
	}
}

// clashing is a store that has an array "a" and a group "a.npy".
var clashing = map[string][]byte{
	"zarr.json":       []byte(hierarchytest.Group),
	"a/zarr.json":     []byte(hierarchytest.Array),
	"a.npy/zarr.json": []byte(hierarchytest.Group),
}

// filled returns a store that has some objects.
func filled(t *testing.T, objects map[string][]byte) store.Driver {
	d := memstore.New()
	storetest.Fill(t, d, objects)
	return d
}

// mountOf returns a mount of a store.
func mountOf(t *testing.T, d store.Driver) *Mount {
	t.Helper()
	ctx := t.Context()
	h, s := hierarchytest.Open(t, d, nil)
	states := new(known.States)
	m := &Mount{Ctx: ctx, H: h, Errors: new(errno.Log),
		Unlinked: alias.NewUnlinked(states.Unlinked(), func(string) string { return "" })}
	cache := stat.NewCache(ctx, h, s, m.Errors, states.Stat())
	m.Names = resolve.New(ctx, h, resolve.Options{Name: "test"}, cache, m.Unlinked)
	o := transient.Options{Scratch: t.TempDir(), Ended: func(identity.Key) {}}
	m.Transients = transient.New(ctx, o, states.Transients())
	return m
}
