package store_test

import (
	"math/rand/v2"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// may reports what a file system lets a user do, as POSIX has it.
func may(r store.Rights, uid uint32, groups map[uint32]bool) uint32 {
	switch {
	case uid == r.UID:
		return r.Mode >> 6 & 7
	case groups[r.GID]:
		return r.Mode >> 3 & 7
	}
	return r.Mode & 7
}

// TestRightsOfBoth: for any user, the rights to two things give what each of them gives, and
// no more.
func TestRightsOfBoth(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	some := func() store.Rights {
		return store.Rights{Known: true, Mode: random.Uint32N(0o1000), UID: random.Uint32N(3),
			GID: random.Uint32N(3)}
	}
	for range 20000 {
		a, b := some(), some()
		both := a.And(b)
		for uid := range uint32(4) {
			for in := range uint32(8) {
				groups := map[uint32]bool{0: in&1 != 0, 1: in&2 != 0, 2: in&4 != 0}
				each := may(a, uid, groups) & may(b, uid, groups)
				if got := may(both, uid, groups); got&^each != 0 || a.UID == b.UID &&
					a.GID == b.GID && got != each {
					t.Fatalf("%+v and %+v: user %d in %v may %o, want %o", a, b, uid, groups, got,
						each)
				}
			}
		}
	}
}

// TestRightsInside: a user that may enter a directory may read the objects in it. With the right to
// write, the user may also replace them.
func TestRightsInside(t *testing.T) {
	for dir, want := range map[uint32]uint32{0o755: 0o644, 0o700: 0o600, 0o777: 0o666, 0o555: 0o444,
		0o711: 0o644, 0o666: 0, 0o750: 0o640} {
		if got := (store.Rights{Known: true, Mode: dir}).Inside().Mode; got != want {
			t.Errorf("%o: got %o, want %o", dir, got, want)
		}
	}
}
