package dirstore

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// documents are those of arrays and groups. The first three make a directory one.
var documents = []string{"zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata"}

// limit is what a new object of an array or group may be to users: no more than its document is. So
// what only its owner may read stays so. The zero limit is that of a node that has no document yet.
type limit struct {
	document store.Rights
	foreign  bool // a new file has not the owner and group of the document by itself
}

// limitOf returns the limit of a new object at key. The directory of an array is held open while
// something is stored there. So one look at its document does for many objects.
func (r *root) limitOf(key string) limit {
	dir := ""
	if slices.Contains(documents, store.Base(key)) { // of another node, maybe
		dir = store.Parent(key)
	}
	if dir != "" || r.above == nil {
		return r.findLimit(dir)
	}
	r.limited.Do(func() { r.limit = r.findLimit("") })
	return r.limit
}

// findLimit looks at the documents in dir.
func (r *root) findLimit(dir string) (l limit) {
	for _, name := range documents[:3] {
		if _, rights, err := r.look(store.Join(dir, name)); err == nil {
			l.document = l.document.And(rights)
		}
	}
	d := l.document
	l.foreign = d.Known && (int(d.UID) != unix.Geteuid() || int(d.GID) != unix.Getegid())
	return l
}

// mode returns with which mode a file is to be made, before the umask.
func (l limit) mode() uint32 {
	if !l.document.Known {
		return 0o666
	}
	return 0o600 | l.document.Mode&0o066
}

// isNone reports whether a new directory needs no look at the one above it.
func (l limit) isNone() bool {
	const all = 0o044
	return !l.foreign && (!l.document.Known || l.document.Mode&all == all)
}

// keep gives the file that is open as fd the owner and group of the document, as far as this
// process may. The file was made with that mode.
func (l limit) keep(fd int) {
	var now unix.Stat_t
	if !l.foreign || fstat(fd, &now) != nil {
		return
	}
	want := now
	want.Uid, want.Gid = l.document.UID, l.document.GID
	if want.Uid == now.Uid && want.Gid == now.Gid {
		return
	}
	if mode := keepOwner(fd, &want, &now); mode != permissions(&now) {
		unix.Fchmod(fd, mode)
	}
}
