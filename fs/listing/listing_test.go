package listing

import (
	"slices"
	"strings"
	"syscall"
	"testing"

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
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
)

// TestEntries lists an array beside a group with the name of the array's .npy, and a file that the
// store does not have. A view that was removed is not there.
func TestEntries(t *testing.T) {
	m := mountOf(t)
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
	l := New(mountOf(t), pathstate.At(""), false)
	defer l.End()
	if l.HasBegun() {
		t.Error("it has begun before the first entry")
	}
	all := rest(t, l)
	for i := range all {
		at := uint64(i) + 2 // "." and ".." come first
		l.Back(at)
		for l.Pos() < at {
			l.Next()
		}
		if got := rest(t, l); !slices.Equal(got, all[i:]) {
			t.Errorf("from %d: %q, expected %q", i, got, all[i:])
		}
	}
	l.Back(0)
	if l.HasBegun() {
		t.Error("it does not list again")
	}
}

// rest returns the names that are still to come, folders with a "/".
func rest(t *testing.T, l *Listing) (names []string) {
	t.Helper()
	for {
		e, ok, errno := l.Next()
		switch {
		case errno != 0:
			t.Fatal(errno)
		case !ok:
			return names
		case e.Self:
			continue
		}
		if mode, _ := e.Inode(); mode == syscall.S_IFDIR {
			e.Name += "/"
		}
		names = append(names, e.Name)
	}
}

// mountOf returns a mount of a store that has an array "a" and a group "a.npy".
func mountOf(t *testing.T) *Mount {
	t.Helper()
	ctx := t.Context()
	h, s := hierarchytest.Open(t, memstore.New(), map[string]string{
		"zarr.json":       hierarchytest.Group,
		"a/zarr.json":     hierarchytest.Array,
		"a.npy/zarr.json": hierarchytest.Group,
	})
	states := new(known.States)
	m := &Mount{Ctx: ctx, H: h, Errors: new(errno.Log),
		Unlinked: alias.NewUnlinked(states.Unlinked(), func(string) string { return "" })}
	cache := stat.NewCache(ctx, h, s, m.Errors, states.Stat())
	m.Names = resolve.New(ctx, h, resolve.Options{Name: "test"}, cache, m.Unlinked)
	o := transient.Options{Scratch: t.TempDir(), Ended: func(identity.Key) {}}
	m.Transients = transient.New(ctx, o, states.Transients())
	return m
}
