package memstore

import (
	"context"
	"io/fs"
	"maps"
	"strings"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

var _ store.Writer = (*Driver)(nil)

// IsWritable is always true.
func (d *Driver) IsWritable() bool { return true }

// staged is what an object shall be.
type staged struct {
	d      *Driver
	place  func() (key string, err error) // the caller holds Driver.mu
	object *object
}

// Stage collects the parts; see store.Store.
func (d *Driver) Stage(
	ctx context.Context, key string, write func(store.Parts) error,
) (store.StagedObject, error) {
	return d.stage(ctx, func() (string, error) { return key, nil }, write)
}

// stage is Stage for an object whose key place returns when it is committed.
func (d *Driver) stage(
	ctx context.Context, place func() (key string, err error), write func(store.Parts) error,
) (store.StagedObject, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	o := &object{modTime: time.Now()}
	if err := write((*parts)(o)); err != nil {
		return nil, err
	}
	return &staged{d: d, place: place, object: o}, nil
}

// parts is an object that nobody sees yet.
type parts object

// Write appends to the object.
func (p *parts) Write(b []byte) (int, error) {
	p.data = append(p.data, b...)
	return len(b), nil
}

// WriteAt replaces bytes of the object.
func (p *parts) WriteAt(b []byte, off int64) (int, error) { return copy(p.data[off:], b), nil }

// SyncStaged does nothing: memory is never durable.
func (d *Driver) SyncStaged(ctx context.Context, _ []store.StagedObject) error { return ctx.Err() }

// SyncDirs does nothing either.
func (d *Driver) SyncDirs(ctx context.Context, _ []string) error { return ctx.Err() }

// Commit makes it the object; see store.Staged.
func (s *staged) Commit(ctx context.Context, cond store.If) (store.Info, error) {
	if err := ctx.Err(); err != nil {
		return store.Info{}, err
	}
	d := s.d
	d.mu.Lock()
	defer d.mu.Unlock()
	key, err := s.place()
	if err == nil {
		err = d.meets(key, cond)
	}
	if err != nil {
		return store.Info{}, err
	}
	d.version++
	s.object.version = d.version
	_, replaces := d.objects[key]
	d.objects[key] = s.object
	info := s.object.info(key)
	info.Replaces = replaces
	return info, nil
}

// Discard does nothing: the garbage collector has it.
func (s *staged) Discard() {}

// meets reports whether the object at key meets cond. The caller holds mu.
func (d *Driver) meets(key string, cond store.If) error {
	o, exists := d.objects[key]
	if !exists {
		return cond.Conflict(false, "")
	}
	return cond.Conflict(true, o.info(key).Version)
}

// Delete removes the object at key; see store.Store.
func (d *Driver) Delete(ctx context.Context, key string, cond store.If) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.meets(key, cond); err != nil {
		return err
	}
	if _, exists := d.objects[key]; !exists {
		return fs.ErrNotExist
	}
	delete(d.objects, key)
	return nil
}

// RemoveAll removes dir and all below it, at once; see store.Dirs.
func (d *Driver) RemoveAll(ctx context.Context, dir string) error {
	return d.RemoveAlone(ctx, dir, func(string) bool { return true })
}

// RemoveAlone removes dir if it holds nothing but its own objects; see store.Dirs.
func (d *Driver) RemoveAlone(
	ctx context.Context, dir string, isOwn func(name string) bool,
) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.isDir(dir) {
		return fs.ErrNotExist
	}
	for key := range d.objects {
		if isWithin(key, dir) && !isOwn(strings.TrimPrefix(key, dir+"/")) {
			return store.ErrNotEmpty
		}
	}
	maps.DeleteFunc(d.objects, func(key string, _ *object) bool { return isWithin(key, dir) })
	d.removed(dir)
	return nil
}

// Rename moves an object, or all below a directory, at once; see store.Dirs.
func (d *Driver) Rename(ctx context.Context, from, to string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	_, isObject := d.objects[from]
	switch {
	case !isObject && !d.isDir(from):
		return fs.ErrNotExist
	case d.exists(to):
		return fs.ErrExist
	case isWithin(to, from):
		return fs.ErrInvalid
	case !d.isDir(to[:max(0, strings.LastIndexByte(to, '/'))]):
		return fs.ErrNotExist
	}
	move(d.objects, from, to)
	d.renamed(from, to)
	return nil
}

// Replace gives a directory the key of another, which it removes; see store.Dirs.
func (d *Driver) Replace(ctx context.Context, from, to string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case from == to || isWithin(to, from) || isWithin(from, to):
		return fs.ErrInvalid
	case !d.isDir(from) || !d.isDir(to):
		return fs.ErrNotExist
	}
	maps.DeleteFunc(d.objects, func(key string, _ *object) bool { return isWithin(key, to) })
	d.removed(to)
	move(d.objects, from, to)
	d.renamed(from, to)
	return nil
}

// move renames the keys of m at and below from.
func move(m map[string]*object, from, to string) {
	moved := map[string]*object{}
	for key, v := range m {
		if isWithin(key, from) {
			moved[to+key[len(from):]] = v
			delete(m, key)
		}
	}
	maps.Copy(m, moved)
}

// exists reports whether there is an object or directory. The caller holds mu.
func (d *Driver) exists(key string) bool {
	_, isObject := d.objects[key]
	return isObject || d.isDir(key)
}

// isWithin reports whether key is dir, or below it.
func isWithin(key, dir string) bool {
	rest, ok := strings.CutPrefix(key, dir)
	return ok && (rest == "" || rest[0] == '/')
}
