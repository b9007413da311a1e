package dirstore

import (
	"context"
	"io/fs"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

var (
	_ store.Permitter = (*Driver)(nil)
	_ store.Owned     = (*object)(nil)
)

// rightsOf returns the rights to the file or directory that is open as fd and that st describes.
// Where it has an access control list, the bits for its group are the most that anybody in the list
// has. The group itself may have less. So they are not believed.
func rightsOf(fd int, st *unix.Stat_t) store.Rights {
	mode := permissions(st) & 0o3777
	group, other := mode>>3&7, mode&7
	if group != other && hasACL(fd) {
		mode = mode&^0o070 | group&other<<3
	}
	return store.Rights{Known: true, Mode: mode, UID: st.Uid, GID: st.Gid}
}

// Rights returns the rights of users to the object; see store.Owned.
func (o *object) Rights() store.Rights { return rightsOf(o.fd, &o.st) }

// MayWrite asks the kernel; see store.Permitter.
func (d *dirs) MayWrite(ctx context.Context, dir string) error {
	r, err := d.begin(ctx)
	if err != nil {
		return err
	}
	if dir == "" {
		dir = "."
	}
	fd, err := r.openParent(dir)
	if err == unix.ENOENT {
		err = fs.ErrNotExist
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Faccessat(fd, ".", unix.W_OK|unix.X_OK, unix.AT_EACCESS)
}
