package zarrcore

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// undurable remembers the directories in which objects were committed or deleted
// and which were not synced since: a power cut may undo what was done there. It
// outlives drafts, for an fsync may come long after an array was closed, moved or
// created anew.
type undurable struct {
	mu    sync.Mutex
	stamp uint64                       // of the last note
	dirs  map[string]map[string]uint64 // by array: a key in each directory, with the stamp of its last note
	count int                          // of keys
}

// undurableMost is from how many directories on a flush syncs them unasked.
const undurableMost = 1 << 14

// note remembers that the object at key, of the array at path, has changed.
func (u *undurable) note(path, key string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.dirs == nil {
		u.dirs = map[string]map[string]uint64{}
	}
	if u.dirs[path] == nil {
		u.dirs[path] = map[string]uint64{}
	}
	u.stamp++
	u.put(path, key[:strings.LastIndexByte(key, '/')+1]+"-", u.stamp) // one key of each directory is enough
}

// put sets a stamp. The caller holds mu.
func (u *undurable) put(path, key string, stamp uint64) {
	before := len(u.dirs[path])
	u.dirs[path][key] = stamp
	u.count += len(u.dirs[path]) - before
}

// of returns what is remembered of an array.
func (u *undurable) of(path string) map[string]uint64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return maps.Clone(u.dirs[path])
}

// paths returns the arrays of which something is remembered.
func (u *undurable) paths() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Collect(maps.Keys(u.dirs))
}

// forget forgets what is durable now: what was not noted again meanwhile.
func (u *undurable) forget(path string, synced map[string]uint64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for key, stamp := range synced {
		if u.dirs[path][key] == stamp {
			delete(u.dirs[path], key)
			u.count--
		}
	}
	if len(u.dirs[path]) == 0 {
		delete(u.dirs, path)
	}
}

// tooMany reports that there are so many directories that they are to be synced.
func (u *undurable) tooMany() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.count >= undurableMost
}

// move follows a rename of what is at from, and below.
func (u *undurable) move(from, to string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for path, keys := range u.dirs {
		if path != from && !strings.HasPrefix(path, from+"/") {
			continue
		}
		moved := make(map[string]uint64, len(keys))
		for key, stamp := range keys {
			moved[movedPath(key, from, to)] = stamp
		}
		delete(u.dirs, path)
		u.dirs[movedPath(path, from, to)] = moved
	}
}

// syncDirs makes durable where the objects of the array at path are found.
func (h *Hierarchy) syncDirs(ctx context.Context, path string) error {
	return h.syncDirsIn(ctx, h.store, path)
}

// syncDirsIn is syncDirs in a directory that is held open.
func (h *Hierarchy) syncDirsIn(ctx context.Context, in *store.Store, path string) error {
	dirs := h.undurable.of(path)
	if len(dirs) == 0 {
		return nil
	}
	err := in.SyncDirs(ctx, slices.Collect(maps.Keys(dirs)))
	if err == nil {
		h.undurable.forget(path, dirs)
	}
	return err
}

// syncAll is syncDirs for all arrays.
func (h *Hierarchy) syncAll(ctx context.Context) error {
	var all []error
	for _, path := range h.undurable.paths() {
		if err := h.syncDirs(ctx, path); err != nil {
			all = append(all, &Error{Op: "store", Path: path, Err: err})
		}
	}
	return errors.Join(all...)
}
