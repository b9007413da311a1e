package zarrcore

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"strings"

	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// Remove removes the array at path with all its objects, or an empty group; a
// group with children is ErrNotEmpty. What was written to the array and not
// stored goes with it.
func (h *Hierarchy) Remove(ctx context.Context, path string) error {
	if err := h.remove(ctx, path); err != nil {
		return &Error{Op: "remove", Path: path, Err: err}
	}
	return nil
}

func (h *Hierarchy) remove(ctx context.Context, path string) error {
	if !h.Writable() {
		return store.ErrReadOnly
	}
	if path == "" {
		return fmt.Errorf("%w: it is the root of the store", iofs.ErrPermission)
	}
	n, err := h.Node(ctx, path)
	if err != nil {
		return err
	}
	if n.Kind != ArrayNode {
		if err := h.bare(ctx, path); err != nil {
			return err
		}
	}
	orphans := h.orphansAt(path)
	if err := h.removeStored(ctx, path); err != nil {
		return err
	}
	for _, d := range orphans {
		h.log.Warn("what was written for an array that was here before goes with the one that is removed", "array", path, "bytes", d.set.Bytes())
		h.dropDraft(d)
	}
	if err := h.dropConsolidated(ctx, parent(path)); err != nil {
		return err
	}
	return h.store.SyncDirs(ctx, []string{path})
}

// removeStored removes what is stored at path. Only then what is dirty of it may be
// forgotten.
func (h *Hierarchy) removeStored(ctx context.Context, path string) error {
	h.mu.Lock()
	a := h.arrays[path]
	h.mu.Unlock()
	if a != nil {
		defer a.draft.pause()()
	}
	h.vlens.storing.Lock()
	err := h.store.RemoveAll(ctx, path)
	h.vlens.storing.Unlock()
	if err != nil {
		return err
	}
	if a != nil {
		h.take(path)
		a.draft.abandon()
	}
	return nil
}

// take removes an array from those that are open, and returns it.
func (h *Hierarchy) take(path string) *Array {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := h.arrays[path]
	delete(h.arrays, path)
	if a != nil {
		a.retire()
	}
	return a
}

// MigrationJournal is the name of the object of a group, or array, that keeps
// the documents it had before package migrate turned them into others.
const MigrationJournal = ".zarrfs-migration.json"

// bare returns ErrNotEmpty unless the group at path holds nothing but its own
// documents, and those that it had before a migration: other files in its folder
// belong to somebody else.
func (h *Hierarchy) bare(ctx context.Context, path string) error {
	return h.store.List(ctx, path, func(e store.Entry) error {
		if meta.IsDocument(e.Name) && e.Name != meta.NameArray || e.Name == MigrationJournal {
			return nil
		}
		return fmt.Errorf("%w: it holds %q", ErrNotEmpty, e.Name)
	})
}

// Rename moves the array or group at from, with all below it, to the path to,
// which must not exist unless replace is set: an array then replaces an array,
// and a group an empty group.
func (h *Hierarchy) Rename(ctx context.Context, from, to string, replace bool) error {
	if from == to {
		return nil
	}
	if err := h.rename(ctx, from, to, replace); err != nil {
		return &Error{Op: "rename", Path: from, Err: err}
	}
	return nil
}

func (h *Hierarchy) rename(ctx context.Context, from, to string, replace bool) error {
	switch {
	case !h.Writable():
		return store.ErrReadOnly
	case from == "" || to == "":
		return fmt.Errorf("%w: it is the root of the store", iofs.ErrPermission)
	case strings.HasPrefix(to, from+"/"):
		return fmt.Errorf("%w: %q lies in it", iofs.ErrInvalid, to)
	}
	if err := nameable(to); err != nil {
		return err
	}
	n, err := h.Node(ctx, from)
	if err != nil {
		return err
	}
	format, err := h.formatBelow(ctx, parent(to), to)
	if err != nil {
		return err
	}
	if n.Format != format && n.Kind != DirectoryNode {
		return fmt.Errorf("%w: %d, this is %d", ErrOtherFormat, format, n.Format)
	}
	replaces, err := h.replaces(ctx, n, to, replace)
	if err == nil && !replaces {
		err = h.Vacate(ctx, to)
	}
	if err != nil {
		return err
	}
	if err := h.move(ctx, from, to, replaces); err != nil {
		return err
	}
	for _, dir := range []string{parent(from), parent(to)} {
		if err := h.dropConsolidated(ctx, dir); err != nil {
			return err
		}
	}
	return h.store.SyncDirs(ctx, []string{from, to})
}

// movedPath returns what becomes of a path, or key, when from, at which or below
// which it lies, is renamed to to.
func movedPath(path, from, to string) string { return to + path[len(from):] }

// move renames what is stored at from. Meanwhile nobody writes to the arrays that
// are open: what was dirty in between would be stored nowhere. What it replaces is
// removed last, when nothing is left to fail but the rename.
func (h *Hierarchy) move(ctx context.Context, from, to string, replaces bool) error {
	h.moving.Lock()
	defer h.moving.Unlock()
	open := h.openBelow(from)
	for _, a := range open {
		defer a.draft.pause()()
		if err := a.draft.storeBoth(ctx); err != nil && !errors.Is(err, ErrFraction) { // which is in the log
			return err
		}
	}
	if replaces {
		if err := h.remove(ctx, to); err != nil {
			return err
		}
	}
	for _, a := range open {
		defer a.draft.leave()()
	}
	h.vlens.storing.Lock()
	err := h.store.Rename(ctx, from, to)
	h.vlens.storing.Unlock()
	if err != nil {
		return err
	}
	h.undurable.move(from, to)
	h.follow(ctx, open, from, to)
	return nil
}

// leave makes those wait who do not find an object, until the array is at its new path.
func (d *draft) leave() (arrived func()) {
	both := d.both()
	for _, d := range both {
		d.away.Lock()
	}
	return func() {
		for _, d := range both {
			d.away.Unlock()
		}
	}
}

// replaces reports whether there is something at to that n may replace.
func (h *Hierarchy) replaces(ctx context.Context, n *Node, to string, replace bool) (bool, error) {
	target, err := h.Node(ctx, to)
	switch {
	case errors.Is(err, iofs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !replace || (target.Kind == ArrayNode) != (n.Kind == ArrayNode):
		return false, iofs.ErrExist
	}
	return true, nil
}

// openBelow returns the open arrays at path and below it.
func (h *Hierarchy) openBelow(path string) []*Array {
	h.mu.Lock()
	defer h.mu.Unlock()
	var open []*Array
	for p, a := range h.arrays {
		if p == path || strings.HasPrefix(p, path+"/") {
			open = append(open, a)
		}
	}
	return open
}

// follow lets who has arrays open that were moved have them at their new path. The
// caller has paused them.
func (h *Hierarchy) follow(ctx context.Context, open []*Array, from, to string) {
	for _, old := range open {
		h.take(old.path)
		d, path := old.draft, movedPath(old.path, from, to)
		d.abandon()
		for _, way := range d.both() {
			way.moved.Store(&path)
		}
		if d.inUse() { // it may be moved again before anything is done with it
			if a, err := h.OpenArray(ctx, path); err == nil {
				d.bequeath(a)
			}
		}
	}
}
