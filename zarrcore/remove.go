package zarrcore

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"slices"
	"strings"

	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// Remove removes the array at path with all its objects, an empty group, or a
// link; a group with children is ErrNotEmpty. What was written to the array and not
// stored goes with it.
func (h *Hierarchy) Remove(ctx context.Context, path string) error {
	if h.catalog.Kind(ctx, path) == ArrayNode {
		h.moving.RLock()
		defer h.moving.RUnlock()
	} else { // nothing must be created in a group that is removed
		h.moving.Lock()
		defer h.moving.Unlock()
	}
	if err := h.remove(ctx, path); err != nil {
		return &Error{Op: "remove", Path: path, Err: err}
	}
	return nil
}

// RemoveGroup removes the group at path if it is empty and its documents have that version (see
// Node). Otherwise it is ErrNotEmpty. What a program of this process sets of the group meanwhile is
// set before, and the group stays, or it is fs.ErrNotExist.
func (h *Hierarchy) RemoveGroup(ctx context.Context, path, version string) error {
	defer h.describing.Lock(path)()
	h.moving.Lock()
	defer h.moving.Unlock()
	n, err := h.Node(ctx, path)
	if err == nil && (n.Kind != GroupNode || n.Version != version) {
		err = fmt.Errorf("%w: it has changed", ErrNotEmpty)
	}
	if err == nil {
		err = h.remove(ctx, path)
	}
	if err != nil {
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
	a, resume := h.pauseAt(path)
	defer resume()
	return h.removePaused(ctx, n, a)
}

// removePaused is remove of the node n. The caller has paused the array a that is open there, if
// any.
func (h *Hierarchy) removePaused(ctx context.Context, n *Node, a *Array) error {
	path := n.Path
	err := h.displace(ctx, n, a, func() error {
		defer h.vlens.Leave(path)()
		return h.store.RemoveAll(ctx, path)
	})
	if err != nil {
		return err
	}
	h.beside.end(func(b *Beside) bool { return b.path == path })
	if err := h.catalog.DropConsolidated(ctx, store.Parent(path)); err != nil {
		return err
	}
	return h.store.SyncDirs(ctx, []string{path})
}

// pauseAt pauses the array at path if it is open. Otherwise a is nil.
func (h *Hierarchy) pauseAt(path string) (a *Array, resume func()) {
	if a = h.open.at(path); a == nil {
		return nil, func() {}
	}
	return a, a.draft.pause()
}

// displace lets remove take the node n out of the store. Only then what is dirty of it may be
// forgotten. The caller has paused the array a that is open there, if any.
func (h *Hierarchy) displace(
	ctx context.Context, n *Node, a *Array, remove func() error,
) error {
	if n.Kind != ArrayNode && n.Kind != LinkNode {
		if err := h.edit.CheckEmpty(ctx, n.Path); err != nil {
			return err
		}
	}
	if err := remove(); err != nil {
		return err
	}
	h.renames.remove(n.Path)
	if a != nil {
		h.open.take(n.Path)
		a.draft.abandon()
	}
	for _, d := range h.orphansAt(n.Path) { // a, which is paused, is no longer one
		h.opt.Log.Warn("what was written for an array that was here before goes with the one that is removed",
			"array", n.Path, "bytes", d.set.Bytes())
		h.dropDraft(d)
	}
	return nil
}

// Rename moves the array, group or link at from, with all below it, to the path to,
// which must not exist unless replace is set: an array then replaces an array,
// a group an empty group, and a link a link.
func (h *Hierarchy) Rename(ctx context.Context, from, to string, replace bool) error {
	if from == to {
		return nil
	}
	if err := h.rename(ctx, from, to, replace, ""); err != nil {
		return &Error{Op: "rename", Path: from, Err: err}
	}
	return nil
}

// rename is Rename, or Supplant if copied is not empty.
func (h *Hierarchy) rename(
	ctx context.Context, from, to string, replace bool, copied string,
) error {
	switch {
	case !h.Writable():
		return store.ErrReadOnly
	case from == "" || to == "":
		return fmt.Errorf("%w: it is the root of the store", iofs.ErrPermission)
	case strings.HasPrefix(to, from+"/"):
		return fmt.Errorf("%w: %q lies in it", iofs.ErrInvalid, to)
	}
	if err := catalog.Nameable(to); err != nil {
		return err
	}
	n, err := h.Node(ctx, from)
	if err != nil {
		return err
	}
	format, err := h.catalog.FormatBelow(ctx, store.Parent(to), to)
	if err != nil {
		return err
	}
	if n.Kind == LinkNode {
		return h.renameLink(ctx, from, to, replace)
	}
	if n.Format != format && n.Kind != DirectoryNode {
		return fmt.Errorf("%w: it has %d, this has %d; copy it there", ErrOtherFormat, format, n.Format)
	}
	replaces, err := h.replaces(ctx, n, to, replace)
	if err == nil {
		h.moving.RLock() // what another rename is just moving away from there is not lost
		err = h.Vacate(ctx, to)
		h.moving.RUnlock()
	}
	if err != nil {
		return err
	}
	if err := h.move(ctx, from, to, replaces, copied); err != nil {
		return err
	}
	for _, dir := range []string{store.Parent(from), store.Parent(to)} {
		if err := h.catalog.DropConsolidated(ctx, dir); err != nil {
			return err
		}
	}
	return h.store.SyncDirs(ctx, []string{from, to})
}

// move renames what is stored at from. Meanwhile nobody writes to the arrays that
// are open: what was dirty in between would be stored nowhere.
func (h *Hierarchy) move(
	ctx context.Context, from, to string, replaces bool, copied string,
) error {
	// Store now, so that little is left to store while nothing can be created.
	for _, a := range h.open.below(from) {
		if err := a.draft.save(ctx, false); err != nil {
			return err
		}
	}
	h.moving.Lock()
	defer h.moving.Unlock()
	open, resume, err := h.pauseBelow(ctx, from)
	defer resume()
	if err != nil {
		return err
	}
	old, resumeOld, err := h.pauseReplaced(ctx, to, replaces, copied)
	defer resumeOld()
	if err != nil {
		return err
	}
	for _, a := range open {
		defer a.draft.leave()()
		a.draft.setReplaced(replaces)
	}
	h.underway.Store(&renaming{from, to})
	defer h.underway.Store(nil)
	if err := h.moveNoted(ctx, from, to, replaces, old); err != nil {
		for _, a := range open {
			a.draft.setReplaced(false)
		}
		return err
	}
	late := h.openedLate(open, from)
	h.follow(ctx, open, from, to)
	h.followLate(ctx, late, from, to)
	return nil
}

// moveNoted renames what is stored at from, and notes where it is. From then on no array is opened
// by its old path: a caller that has found one before the rename looks for it again.
func (h *Hierarchy) moveNoted(
	ctx context.Context, from, to string, replaces bool, old *Array,
) error {
	defer h.open.depart(from, to)()
	if err := h.moveStored(ctx, from, to, replaces, old); err != nil {
		return err
	}
	h.renames.add(from, to)
	h.undurable.Move(from, to)
	h.beside.move(from, to)
	return nil
}

// moveStored renames what is stored at from, at once in the place of what it replaces. Where the
// store cannot do that, this is removed first, when nothing is left to fail but the rename. The
// caller has paused the array old that is open at to, if any.
func (h *Hierarchy) moveStored(
	ctx context.Context, from, to string, replaces bool, old *Array,
) error {
	if !replaces {
		return h.moveBy(ctx, h.store.Rename, from, to)
	}
	n, err := h.Node(ctx, to)
	if err != nil {
		return err
	}
	replace := func() error { return h.moveBy(ctx, h.store.Replace, from, to) }
	err = h.displace(ctx, n, old, replace)
	if !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if err := h.removePaused(ctx, n, old); err != nil {
		return err
	}
	return h.moveBy(ctx, h.store.Rename, from, to)
}

// moveBy calls rename, and lets those follow it who read arrays of no fixed element size.
func (h *Hierarchy) moveBy(
	ctx context.Context, rename func(context.Context, string, string) error, from, to string,
) error {
	defer h.vlens.Leave(from, to)()
	err := rename(ctx, from, to)
	if err == nil {
		h.vlens.Move(from, to)
	}
	return err
}

// A renaming is a rename in the store that is being done.
type renaming struct{ from, to string }

// follow returns what becomes of a path, if it is renamed.
func (r *renaming) follow(path string) (string, bool) {
	if r == nil {
		return "", false
	}
	return store.Moved(path, r.from, r.to)
}

// pauseTries is how often pauseBelow looks for arrays that were opened while it stored others.
const pauseTries = 10

// pauseBelow makes those wait who write to the arrays at path and below, until resume, and stores what they have written.
func (h *Hierarchy) pauseBelow(ctx context.Context, path string) (open []*Array, resume func(), err error) {
	var resumes []func()
	resume = func() {
		for _, f := range slices.Backward(resumes) {
			f()
		}
	}
	paused := map[*draft]bool{}
	for range pauseTries {
		before := len(open)
		for _, a := range h.open.below(path) {
			if paused[a.draft] {
				continue
			}
			paused[a.draft] = true
			open = append(open, a)
			resumes = append(resumes, a.draft.pause())
			if err := a.draft.storeBoth(ctx); err != nil && !errors.Is(err, ErrFraction) { // which is in the log
				return open, resume, err
			}
		}
		if len(open) == before {
			break
		}
	}
	return open, resume, nil
}

// openedLate returns the arrays below from that were opened after those that are open were paused,
// and before the rename began.
func (h *Hierarchy) openedLate(open []*Array, from string) []*Array {
	return slices.DeleteFunc(h.open.below(from), func(a *Array) bool {
		return slices.ContainsFunc(open, func(b *Array) bool { return a.draft == b.draft })
	})
}

// followLate is follow for arrays that nobody has paused. What was written to them is stored where they are now.
func (h *Hierarchy) followLate(ctx context.Context, late []*Array, from, to string) {
	for _, a := range late {
		path, _ := store.Moved(a.gen.Path, from, to)
		for _, way := range a.draft.both() {
			way.movedTo(path, &h.renames)
		}
		resume := a.draft.pause()
		if err := a.draft.storeBoth(ctx); err != nil && !errors.Is(err, ErrFraction) {
			h.opt.Log.Error("not stored while it was renamed, will be tried again", "array", a.gen.Path, "to", path, "err", err)
		} else {
			h.follow(ctx, []*Array{a}, from, to)
		}
		resume()
	}
}

// leave makes those wait who do not find an object, until the array is at its new path.
func (d *draft) leave() (arrived func()) {
	var ends []func()
	for _, d := range d.both() {
		ends = append(ends, d.away.Stop(""))
	}
	return func() {
		for _, end := range ends {
			end()
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
	case !replace || target.Kind == LinkNode || (target.Kind == ArrayNode) != (n.Kind == ArrayNode):
		return false, iofs.ErrExist
	}
	return true, nil
}

// follow lets who has arrays open that were moved have them at their new path. The
// caller has paused them.
func (h *Hierarchy) follow(ctx context.Context, open []*Array, from, to string) {
	for _, old := range open {
		h.open.take(old.gen.Path)
		path, _ := store.Moved(old.gen.Path, from, to)
		old.draft.abandon()
		old.draft.goOnAt(ctx, path)
	}
}

// goOnAt lets programs that have the array open, which is there no more, go on with the one at path.
func (d *draft) goOnAt(ctx context.Context, path string) {
	for _, way := range d.both() {
		way.movedTo(path, &d.h.renames)
	}
	if d.inUse() { // it may be moved again before anything is done with it
		if a, err := d.h.OpenArray(ctx, path); err == nil {
			d.bequeath(a)
		}
	}
}
