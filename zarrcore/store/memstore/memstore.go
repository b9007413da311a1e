// Package memstore keeps a store in memory, for tests and for hierarchies that nobody needs to
// keep.
package memstore

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// Driver is a store in memory. Directories exist while an object is below them. The zero value is
// not ready: use New.
type Driver struct {
	mu      sync.RWMutex
	objects map[string]*object
	version uint64 // of the object committed last
	holds   map[*held]struct{}

	unlistable bool
}

// object is one version of an object. It never changes, so those who opened it need no lock.
type object struct {
	data    []byte
	modTime time.Time
	version uint64
}

// New returns an empty store.
func New() *Driver { return &Driver{objects: map[string]*object{}, holds: map[*held]struct{}{}} }

// NewUnlistable returns an empty store that, like a web server, cannot list what it holds.
func NewUnlistable() *Driver {
	d := New()
	d.unlistable = true
	return d
}

// Open opens the object at key as it is now; see store.Driver.
func (d *Driver) Open(ctx context.Context, key string) (store.Object, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	if o, ok := d.objects[key]; ok {
		return &reader{ctx: ctx, object: o, key: key}, nil
	}
	return nil, fs.ErrNotExist
}

// Stat describes one object or directory; see store.Driver. An object hides a directory of the same
// name.
func (d *Driver) Stat(ctx context.Context, key string) (store.Info, error) {
	if err := ctx.Err(); err != nil {
		return store.Info{}, err
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	if o, ok := d.objects[key]; ok {
		return o.info(key), nil
	}
	if !d.isDir(key) {
		return store.Info{}, fs.ErrNotExist
	}
	return store.Info{Name: store.Base(key), Dir: true}, nil
}

// List calls yield for each child of dir as it is now; see store.Driver. yield may use the store.
func (d *Driver) List(ctx context.Context, dir string, yield func(store.Entry) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if d.unlistable {
		return store.ErrCannotList
	}
	d.mu.RLock()
	children, found := d.children(dir), d.isDir(dir)
	d.mu.RUnlock()
	if !found {
		return fs.ErrNotExist
	}
	for e := range maps.Keys(children) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := yield(e); err != nil {
			return err
		}
	}
	return nil
}

// children returns the set of direct children of dir. The caller holds mu.
func (d *Driver) children(dir string) map[store.Entry]struct{} {
	prefix := ""
	if dir != "" {
		prefix = dir + "/"
	}
	set := map[store.Entry]struct{}{}
	for key := range d.objects {
		if rest, ok := strings.CutPrefix(key, prefix); ok {
			name, _, deeper := strings.Cut(rest, "/")
			set[store.Entry{Name: name, Dir: deeper}] = struct{}{}
		}
	}
	return set
}

// isDir reports whether there is a directory. The caller holds mu.
func (d *Driver) isDir(dir string) bool {
	return dir == "" || len(d.children(dir)) > 0
}

func (o *object) info(key string) store.Info {
	size := int64(len(o.data))
	return store.Info{
		Name: store.Base(key), Size: size, Stored: size, ModTime: o.modTime,
		Version: strconv.FormatUint(o.version, 10),
	}
}

// reader is an opened object.
type reader struct {
	*object
	ctx    context.Context
	key    string
	closed atomic.Bool
}

// Size is the object's length.
func (r *reader) Size() int64 { return int64(len(r.data)) }

// Info describes the object when it was opened.
func (r *reader) Info() store.Info { return r.info(r.key) }

// ReadAt reads full or fails, as io.ReaderAt says.
func (r *reader) ReadAt(p []byte, off int64) (int, error) {
	switch err := r.ctx.Err(); {
	case err != nil:
		return 0, err
	case r.closed.Load():
		return 0, fs.ErrClosed
	case off < 0:
		return 0, fmt.Errorf("offset %d is negative: %w", off, fs.ErrInvalid)
	}
	n := copy(p, r.data[min(off, r.Size()):])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Close ends the use of this reader; the object stays.
func (r *reader) Close() error {
	if r.closed.Swap(true) {
		return fs.ErrClosed
	}
	return nil
}
