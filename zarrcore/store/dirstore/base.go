package dirstore

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// base is the directory of a driver, as it is open at present, and the driver's settings.
type base struct {
	path    string // absolute, for Refresh
	options Options
	root    atomic.Pointer[root] // nil after Close
	locks   *root                // of Options.SyncDir, or nil
	mu      sync.Mutex           // serialises replacing root
}

// begin starts an operation: it refuses a cancelled ctx and a closed store.
func (b *base) begin(ctx context.Context) (*root, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if r := b.root.Load(); r != nil {
		return r, nil
	}
	return nil, fs.ErrClosed
}

// place starts an operation and finds the place of key.
func (b *base) place(ctx context.Context, key string) (place, error) {
	r, err := b.begin(ctx)
	if err != nil {
		return place{}, err
	}
	return r.place(key)
}

// Refresh looks whether the store's directory was replaced by another of the same name, and goes on
// with that one. zarr-python overwrites a store so: it removes the whole tree and recreates it.
// Nothing else is remembered, whatever dir is. It never looks into another file system mounted over
// the directory: that may be the very mount which asks.
func (b *base) Refresh(dir string) {
	r := b.root.Load()
	if r == nil || !isReplaced(b.path, r.id) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.root.Load() != r {
		return // somebody else was faster
	}
	if fresh, err := openRoot(b.path); err == nil {
		b.root.Store(fresh)
	}
}

// IsWritable reports whether the directory lets this user make files in it.
func (b *base) IsWritable() bool {
	r := b.root.Load()
	if r == nil {
		return false
	}
	defer r.keep()
	return unix.Faccessat(r.fd, ".", unix.W_OK|unix.X_OK, unix.AT_EACCESS) == nil
}

// Close ends the use of the store and removes its staging folder, with what is staged and not
// committed. It also removes what Clean had to leave and no process holds any more. Open objects
// stay usable. What calls still run may finish: the root's descriptors are closed by the garbage
// collector when the last of them has returned.
func (b *base) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.root.Swap(nil)
	if r == nil {
		return fs.ErrClosed
	}
	if r.above != nil {
		return errors.Join(r.os.Close(), r.dir.Close())
	}
	return errors.Join(r.area.end(), r.leftovers.clean(nil, 0))
}
