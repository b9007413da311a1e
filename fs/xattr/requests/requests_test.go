package requests

import (
	"log/slog"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/identity"
	"github.com/zarrfs/zarrfs/fs/known"
	"github.com/zarrfs/zarrfs/fs/nodes"
	"github.com/zarrfs/zarrfs/zarrcore/hierarchytest"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
)

// TestForeign refuses attributes that are not of Zarr. A program that sets access lists of many
// files is told why once. The reason for another attribute is kept for the file.
func TestForeign(t *testing.T) {
	ctx := t.Context()
	root := map[string]string{"zarr.json": hierarchytest.Group}
	h, _ := hierarchytest.Open(t, memstore.New(), root)
	var states known.States
	answers := &errno.Answers{Failures: errno.NewFailures(states.Failures()),
		Unsaved: func(string) error { return nil }}
	answers.Errors.To = slog.New(slog.DiscardHandler)
	a := New(Mount{Answers: answers, Ctx: ctx, H: h})
	for i, tc := range []struct {
		path, attr string
		errors     uint64 // logged by then
		isKept     bool
	}{
		{"a", "system.posix_acl_access", 1, false},
		{"b", "system.posix_acl_access", 1, false},
		{"b", "user.comment", 2, true},
		{"c", "user.comment", 3, true},
	} {
		n := nodes.New(identity.Of(tc.path, "npy"))
		if e := a.Set(ctx, &n, tc.attr, make([]byte, 100), 0); e != unix.EOPNOTSUPP {
			t.Errorf("%d: %v, expected %v", i, e, unix.EOPNOTSUPP)
		}
		if now := answers.Errors.Count(); now != tc.errors {
			t.Errorf("%d: %d errors are logged, expected %d", i, now, tc.errors)
		}
		if why := answers.Failures.Of(tc.path); (why != nil) != tc.isKept {
			t.Errorf("%d: the reason that is kept: %v", i, why)
		}
	}
}
