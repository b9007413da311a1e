package memstore

import (
	"context"
	"io/fs"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

var _ store.Holder = (*Driver)(nil)

// held is a directory that is held open. It is the store with other keys.
type held struct {
	d   *Driver
	dir string // as it is called now; guarded by Driver.mu
	end bool   // it was removed, or is closed; guarded by Driver.mu
}

// Hold returns the directory dir, which goes with what is renamed; see store.Holder.
func (d *Driver) Hold(ctx context.Context, dir string) (store.Driver, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.isDir(dir) {
		return nil, fs.ErrNotExist
	}
	h := &held{d: d, dir: dir}
	d.holds[h] = struct{}{}
	return h, nil
}

// Close ends the use of the directory.
func (h *held) Close() error {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	delete(h.d.holds, h)
	h.end = true
	return nil
}

// key returns what key is called in the whole store.
func (h *held) key(key string) (string, error) {
	h.d.mu.RLock()
	defer h.d.mu.RUnlock()
	return h.keyLocked(key)
}

// keyLocked is key for a caller that holds Driver.mu.
func (h *held) keyLocked(key string) (string, error) {
	switch {
	case h.end:
		return "", fs.ErrNotExist
	case key == "":
		return h.dir, nil
	case h.dir == "":
		return key, nil
	}
	return h.dir + "/" + key, nil
}

// renamed lets directories that are held follow a rename. The caller holds mu.
func (d *Driver) renamed(from, to string) {
	for h := range d.holds {
		if isWithin(h.dir, from) {
			h.dir = to + h.dir[len(from):]
		}
	}
}

// removed ends directories that are held at dir, or below. The caller holds mu.
func (d *Driver) removed(dir string) {
	for h := range d.holds {
		h.end = h.end || isWithin(h.dir, dir)
	}
}

// IsWritable is always true.
func (h *held) IsWritable() bool { return true }

// Open is the store's.
func (h *held) Open(ctx context.Context, key string) (store.Object, error) {
	full, err := h.key(key)
	if err != nil {
		return nil, err
	}
	return h.d.Open(ctx, full)
}

// List is the store's. A directory that was removed holds nothing.
func (h *held) List(ctx context.Context, dir string, yield func(store.Entry) error) error {
	full, err := h.key(dir)
	if err != nil {
		return err
	}
	if err = h.d.List(ctx, full, yield); dir == "" && err == fs.ErrNotExist {
		err = nil // it is there as long as it is held, even if it is empty
	}
	return err
}

// Stat is the store's.
func (h *held) Stat(ctx context.Context, key string) (store.Info, error) {
	full, err := h.key(key)
	if err != nil {
		return store.Info{}, err
	}
	info, err := h.d.Stat(ctx, full)
	if key == "" && (err == nil || err == fs.ErrNotExist) {
		return store.Info{Dir: true}, nil
	}
	return info, err
}

// Stage is the store's. Where the object belongs is looked up when it is committed.
func (h *held) Stage(
	ctx context.Context, key string, write func(store.Parts) error,
) (store.StagedObject, error) {
	return h.d.stage(ctx, func() (string, error) { return h.keyLocked(key) }, write)
}

// SyncStaged does nothing.
func (h *held) SyncStaged(ctx context.Context, _ []store.StagedObject) error { return ctx.Err() }

// SyncDirs does nothing either.
func (h *held) SyncDirs(ctx context.Context, _ []string) error { return ctx.Err() }

// Delete is the store's.
func (h *held) Delete(ctx context.Context, key string, cond store.If) error {
	full, err := h.key(key)
	if err != nil {
		return err
	}
	return h.d.Delete(ctx, full, cond)
}

// RemoveAll is the store's.
func (h *held) RemoveAll(ctx context.Context, dir string) error {
	full, err := h.key(dir)
	if err != nil {
		return err
	}
	return h.d.RemoveAll(ctx, full)
}

// RemoveAlone is the store's.
func (h *held) RemoveAlone(
	ctx context.Context, dir string, isOwn func(name string) bool,
) error {
	full, err := h.key(dir)
	if err != nil {
		return err
	}
	return h.d.RemoveAlone(ctx, full, isOwn)
}

// Rename is the store's.
func (h *held) Rename(ctx context.Context, from, to string) error {
	fullFrom, err := h.key(from)
	if err != nil {
		return err
	}
	fullTo, err := h.key(to)
	if err != nil {
		return err
	}
	return h.d.Rename(ctx, fullFrom, fullTo)
}
