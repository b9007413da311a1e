package rights

import (
	"errors"
	iofs "io/fs"
	"os"
	"syscall"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// inStore is an array whose folder and documents have these rights.
func inStore(folder, document uint32) *zarrcore.Node {
	return &zarrcore.Node{Path: "a", Kind: zarrcore.ArrayNode,
		Folder:    store.Rights{Known: true, Mode: folder, UID: 4001, GID: 4002},
		Documents: store.Rights{Known: true, Mode: document, UID: 4001, GID: 4002}}
}

// TestShown: what the kernel is told follows the store, or the options where they are given.
func TestShown(t *testing.T) {
	umask, uid := uint32(0o027), uint32(77)
	for _, tc := range []struct {
		name         string
		o            Options
		folder, file uint32
		uid          uint32
	}{
		{"others may enter", Options{AllowOther: true}, 0o750, 0o640, 4001},
		{"owner", Options{AllowOther: true, UID: &uid}, 0o750, 0o640, 77},
		{"umask", Options{AllowOther: true, Umask: &umask}, 0o750, 0o640, 4001},
		{"read-only", Options{AllowOther: true, ReadOnly: true}, 0o550, 0o440, 4001},
	} {
		r := New(t.Context(), tc.o, nil)
		n := inStore(0o750, 0o640)
		if got := r.OfFolder(n); got.Mode != syscall.S_IFDIR|tc.folder || got.UID != tc.uid {
			t.Errorf("%s: the folder has %o of %d, expected %o of %d", tc.name, got.Mode, got.UID,
				tc.folder, tc.uid)
		}
		if got := r.OfFile(n); got.Mode != syscall.S_IFREG|tc.file || got.UID != tc.uid {
			t.Errorf("%s: the file has %o of %d, expected %o of %d", tc.name, got.Mode, got.UID,
				tc.file, tc.uid)
		}
	}
	got := New(t.Context(), Options{AllowOther: true}, nil).OfControl(File)
	if got.Mode&0o077 != 0 || got.UID != uint32(os.Getuid()) {
		t.Errorf("the mount's own files are for others too: %o of %d", got.Mode, got.UID)
	}
}

// TestRefused: users who cannot change an array's folder in the store can neither remove, replace
// nor move the array.
func TestRefused(t *testing.T) {
	owner := User{Known: true, UID: 4001}
	member, other := User{Known: true, UID: 5, GID: 4002}, User{Known: true, UID: 5, GID: 5}
	for _, tc := range []struct {
		mode  uint32
		u     User
		needs uint32
		want  error
	}{
		{0o755, owner, ToRemove, nil},
		{0o755, member, ToRemove, iofs.ErrPermission},
		{0o775, member, ToRemove, nil},
		{0o772, other, ToMove, nil},
		{0o772, other, ToReplace, iofs.ErrPermission},
		{0o1777, other, ToRemove, syscall.EPERM},
		{0o1777, owner, ToRemove, nil},
		{0o1777, other, ToMove, nil},
		{0o700, User{}, ToRemove, nil}, // unknown: the store itself refuses the daemon
	} {
		n := inStore(tc.mode, 0o644)
		if err := New(t.Context(), Options{AllowOther: true}, nil).Refuses(tc.u, n,
			tc.needs); !errors.Is(err, tc.want) {
			t.Errorf("%+v, folder %o, needs %o: %v, expected %v", tc.u, tc.mode, tc.needs, err,
				tc.want)
		}
		if err := New(t.Context(), Options{}, nil).Refuses(tc.u, n, tc.needs); err != nil {
			t.Errorf("refused where no other user may enter: %v", err)
		}
	}
}
