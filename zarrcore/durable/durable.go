// Package durable remembers in which directories of a store something was committed or deleted,
// until they are synced: before that, a power cut may undo it.
package durable

import (
	"context"
	"errors"
	iofs "io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// Dirs are the directories of all arrays that are not synced yet. They outlive what was written:
// an fsync may come long after an array was closed, moved or recreated. The zero Dirs are empty.
// All methods may be called concurrently.
type Dirs struct {
	mu    sync.Mutex
	stamp uint64                       // of the last note
	dirs  map[string]map[string]uint64 // by array: a key in each directory, with its last stamp
	count int                          // of keys
}

// most is from how many directories on they are to be synced unasked.
const most = 1 << 14

// Note remembers that the object at key, of the array at path, has changed.
func (d *Dirs) Note(path, key string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dirs == nil {
		d.dirs = map[string]map[string]uint64{}
	}
	if d.dirs[path] == nil {
		d.dirs[path] = map[string]uint64{}
	}
	d.stamp++
	one := key[:strings.LastIndexByte(key, '/')+1] + "-" // a key of each directory is enough
	d.put(path, one, d.stamp)
}

// put sets a stamp. The caller holds mu.
func (d *Dirs) put(path, key string, stamp uint64) {
	before := len(d.dirs[path])
	d.dirs[path][key] = stamp
	d.count += len(d.dirs[path]) - before
}

// HasAny reports whether something is remembered of an array.
func (d *Dirs) HasAny(path string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.dirs[path]) > 0
}

// of returns what is remembered of an array.
func (d *Dirs) of(path string) map[string]uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.dirs[path])
}

// Paths returns the arrays of which something is remembered.
func (d *Dirs) Paths() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Collect(maps.Keys(d.dirs))
}

// forget forgets what is durable now: what was not noted again meanwhile.
func (d *Dirs) forget(path string, synced map[string]uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for key, stamp := range synced {
		if d.dirs[path][key] == stamp {
			delete(d.dirs[path], key)
			d.count--
		}
	}
	if len(d.dirs[path]) == 0 {
		delete(d.dirs, path)
	}
}

// HasTooMany reports whether there are so many directories that they are to be synced.
func (d *Dirs) HasTooMany() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.count >= most
}

// Move follows a rename of all that is at from and below it.
func (d *Dirs) Move(from, to string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for path, keys := range d.dirs {
		at, ok := store.Moved(path, from, to)
		if !ok {
			continue
		}
		moved := make(map[string]uint64, len(keys))
		for key, stamp := range keys {
			moved[at+key[len(path):]] = stamp
		}
		delete(d.dirs, path)
		d.dirs[at] = moved
	}
}

// Delete deletes an object of the array at path, if there is one, and notes that.
func (d *Dirs) Delete(
	ctx context.Context, in *store.Store, path, key string, cond store.If) error {
	err := in.Delete(ctx, key, cond)
	if errors.Is(err, iofs.ErrNotExist) {
		return nil
	}
	if err == nil {
		d.Note(path, key)
	}
	return err
}

// Sync makes durable where the objects of the array at path are found. The store in may be a
// directory of it that is held open.
func (d *Dirs) Sync(ctx context.Context, in *store.Store, path string) error {
	dirs := d.of(path)
	if len(dirs) == 0 {
		return nil
	}
	err := in.SyncDirs(ctx, slices.Collect(maps.Keys(dirs)))
	if err == nil {
		d.forget(path, dirs)
	}
	return err
}
