package memstore

import (
	"context"
	"io/fs"
	"strings"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

var (
	_ store.Maker = (*Driver)(nil)
	_ store.Maker = (*held)(nil)
)

// Make makes a directory with objects; see store.Maker.
func (d *Driver) Make(ctx context.Context, dir, _ string, objects map[string][]byte) error {
	return d.make(ctx, func() (string, error) { return dir, nil }, objects)
}

// Make is the store's.
func (h *held) Make(ctx context.Context, dir, _ string, objects map[string][]byte) error {
	return h.d.make(ctx, func() (string, error) { return h.keyLocked(dir) }, objects)
}

func (d *Driver) make(
	ctx context.Context, place func() (dir string, err error), objects map[string][]byte,
) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	dir, err := place()
	switch {
	case err != nil:
		return err
	case d.exists(dir):
		return fs.ErrExist
	case !d.isDir(dir[:max(0, strings.LastIndexByte(dir, '/'))]):
		return fs.ErrNotExist
	}
	for name, data := range objects {
		d.version++
		d.objects[dir+"/"+name] = &object{data: append([]byte(nil), data...), modTime: time.Now(),
			version: d.version}
	}
	return nil
}
