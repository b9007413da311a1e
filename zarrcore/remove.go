package zarrcore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"strings"

	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/edit"
	"github.com/zarrfs/zarrfs/zarrcore/live"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// Remove removes the array at path with all its objects, an empty group, or a
// link. A group with children is ErrNotEmpty, and so is an array with files of
// others in its folder. What was written to the array and not stored goes with it.
func (h *changes) Remove(ctx context.Context, path string) error {
	if h.catalog.Kind(ctx, path) == ArrayNode {
		end, err := h.use(ctx, "remove", path)
		if err != nil {
			return err
		}
		defer end()
	} else { // nothing must be created in a group that is removed
		defer h.stop(path)()
	}
	if err := h.remove(ctx, path); err != nil {
		return &Error{Op: "remove", Path: path, Err: err}
	}
	return nil
}

// RemoveGroup removes the group at path if it is empty and its documents have that version (see
// Node). Otherwise it is ErrNotEmpty. What a program of this process sets of the group meanwhile is
// set before, and the group stays, or it is fs.ErrNotExist.
func (h *changes) RemoveGroup(ctx context.Context, path, version string) error {
	defer h.describing.Lock(path)()
	defer h.stop(path)()
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

func (h *changes) remove(ctx context.Context, path string) error {
	if !h.IsWritable() {
		return store.ErrReadOnly
	}
	if path == "" {
		return fmt.Errorf("%w: it is the root of the store", iofs.ErrPermission)
	}
	n, err := h.Node(ctx, path)
	if err == nil {
		err = h.edit.CheckAlone(ctx, n)
	}
	if err != nil {
		return err
	}
	a, resume := h.arrays.PauseAt(path)
	defer resume()
	return h.removePaused(ctx, n, a)
}

// removePaused is remove of the node n. The caller has paused the array a that is open there, if
// any.
func (h *changes) removePaused(ctx context.Context, n *Node, a *Array) error {
	path := n.Path
	err := h.displace(ctx, n, a, func() error {
		defer h.vlens.table.Leave(path)()
		return h.take(ctx, n)
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

// take takes the node n out of the store. Of a group it leaves what another program makes in it at
// that moment, and the group.
func (h *changes) take(ctx context.Context, n *Node) error {
	if n.Kind == ArrayNode || n.Kind == LinkNode {
		return h.store.Dirs().RemoveAll(ctx, n.Path)
	}
	err := h.store.Dirs().RemoveAlone(ctx, n.Path, edit.IsOfGroup)
	if errors.Is(err, ErrNotEmpty) {
		return cmp.Or(h.edit.CheckEmpty(ctx, n.Path), err) // the first one says what is there
	}
	return err
}

// displace lets remove take the node n out of the store. Only then what is dirty of it may be
// forgotten. The caller has paused the array a that is open there, if any.
func (h *changes) displace(
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
	h.arrays.Forget(n.Path, a)
	return nil
}

// Rename moves the array, group or link at from, with all below it, to the path to,
// which must not exist unless replace is set: an array then replaces an array,
// a group an empty group, and a link a link.
func (h *changes) Rename(ctx context.Context, from, to string, replace bool) error {
	if from == to {
		return nil
	}
	if err := h.rename(ctx, from, to, replace, ""); err != nil {
		return &Error{Op: "rename", Path: from, Err: err}
	}
	return nil
}

// rename is Rename, or Supplant if copied is not empty.
func (h *changes) rename(
	ctx context.Context, from, to string, replace bool, copied string,
) error {
	switch {
	case !h.IsWritable():
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
		return fmt.Errorf("%w: it has format %d, this node has format %d; copy it instead of "+
			"moving it", ErrOtherFormat, format, n.Format)
	}
	replaced, err := h.replaced(ctx, n, to, replace)
	if replaced != nil && copied == "" {
		err = h.edit.CheckAlone(ctx, replaced)
	}
	if err == nil {
		err = h.vacate(ctx, to)
	}
	if err != nil {
		return err
	}
	m := live.Move{From: from, To: to, Replaces: replaced != nil, Copied: copied}
	if err := h.move(ctx, m); err != nil {
		return err
	}
	for _, dir := range []string{store.Parent(from), store.Parent(to)} {
		if err := h.catalog.DropConsolidated(ctx, dir); err != nil {
			return err
		}
	}
	return h.store.SyncDirs(ctx, []string{from, to})
}

// vacate is Vacate. What another rename is just moving away from there is not lost.
func (h *changes) vacate(ctx context.Context, path string) error {
	end, err := h.moving.Use(ctx, path)
	if err != nil {
		return err
	}
	defer end()
	return h.Vacate(ctx, path)
}

// use waits while what is at path, above or below it, is renamed, or a group removed there. None of
// that begins until the caller calls end.
func (h *changes) use(ctx context.Context, op, path string) (end func(), err error) {
	if end, err = h.moving.Use(ctx, path); err != nil {
		return nil, &Error{Op: op, Path: path, Err: err}
	}
	return end, nil
}

// stop lets nothing be created or removed at, above or below these paths until the caller calls
// end, and nothing be renamed.
func (h *changes) stop(paths ...string) (end func()) {
	resume := h.moving.Stop(paths...)
	h.renaming.Lock()
	return func() {
		h.renaming.Unlock()
		resume()
	}
}

// move renames what is stored at m.From, and everything in this process that is of it.
func (h *changes) move(ctx context.Context, m live.Move) error {
	// Store now, so that little is left to store while other renames wait.
	if err := h.arrays.SaveBelow(ctx, m.From); err != nil {
		return err
	}
	defer h.stop(m.From, m.To)()
	return h.arrays.Move(ctx, m, func(old *Array) error {
		err := h.moveStored(ctx, m, old)
		if err == nil {
			h.beside.move(m.From, m.To)
		}
		return err
	})
}

// moveStored renames what is stored at m.From, at once in the place of what it replaces. Where the
// store cannot do that, this is removed first, when nothing is left to fail but the rename. The
// caller has paused the array old that is open at to, if any.
func (h *changes) moveStored(ctx context.Context, m live.Move, old *Array) error {
	if !m.Replaces {
		return h.moveBy(ctx, h.store.Dirs().Rename, m.From, m.To)
	}
	n, err := h.Node(ctx, m.To)
	if err != nil {
		return err
	}
	replace := func() error { return h.moveBy(ctx, h.store.Dirs().Replace, m.From, m.To) }
	err = h.displace(ctx, n, old, replace)
	if !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if err := h.removePaused(ctx, n, old); err != nil {
		return err
	}
	return h.moveBy(ctx, h.store.Dirs().Rename, m.From, m.To)
}

// moveBy calls rename, and lets readers of arrays of no fixed element size follow it.
func (h *changes) moveBy(
	ctx context.Context, rename func(context.Context, string, string) error, from, to string,
) error {
	defer h.vlens.table.Leave(from, to)()
	err := rename(ctx, from, to)
	if err == nil {
		h.vlens.table.Move(from, to)
	}
	return err
}

// replaced returns what is at to, which n may replace, and nil if nothing is there.
func (h *changes) replaced(ctx context.Context, n *Node, to string, replace bool) (*Node, error) {
	target, err := h.Node(ctx, to)
	switch {
	case errors.Is(err, iofs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !replace || target.Kind == LinkNode || (target.Kind == ArrayNode) != (n.Kind == ArrayNode):
		return nil, iofs.ErrExist
	}
	return target, nil
}
