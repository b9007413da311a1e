package zarrcore

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"strings"

	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/live"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

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
