package zarrcore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	iofs "io/fs"

	"github.com/zarrfs/zarrfs/zarrcore/edit"
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
