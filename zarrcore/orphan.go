package zarrcore

import (
	"context"
	"errors"
	"fmt"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// errOrphan says that what was written has no array any more.
var errOrphan = fmt.Errorf("%w: the array that it was written to is no more", store.ErrConflict)

// orphanTries is how many flushes in a row must find no array before what was
// written for it is given up: half a minute, for who replaces a document may be at
// it just now.
const orphanTries = 6

// giveUpOrphan moves what was written for an array that another program has
// removed, or replaced by one of another layout, to a file in the scratch folder,
// once nobody has that array open. Else it would stand against every unmount.
func (d *draft) giveUpOrphan(ctx context.Context) {
	d.mu.Lock()
	orphan := errors.Is(d.err, errOrphan) && d.tries >= orphanTries
	err := d.err
	d.mu.Unlock()
	if !orphan || d.inUse() {
		return
	}
	if _, err := d.h.Node(ctx, ""); err != nil {
		return // the whole store is away, and may come back
	}
	bytes := d.set.Bytes()
	file, rescueErr := d.rescue(d.h.scratchDir)
	if rescueErr != nil {
		d.h.log.Error("what was written for an array that is no more cannot be kept", "array", d.path, "bytes", bytes, "err", rescueErr)
		return
	}
	d.h.log.Error("given up: what was written for an array that is no more is kept in a file", "array", d.path, "bytes", bytes, "file", file, "err", err)
	d.h.dropDraft(d)
	d.h.mu.Lock()
	d.h.kept = append(d.h.kept, file)
	d.h.mu.Unlock()
}

// dropDraft forgets what was written to an array that is no more. Who opens
// what is in its place now gets a draft of that.
func (h *Hierarchy) dropDraft(d *draft) {
	d.flushing.Lock()
	defer d.flushing.Unlock()
	d.forget()
	h.mu.Lock()
	a := h.arrays[d.path]
	h.mu.Unlock()
	if a != nil && (a.draft == d || a.draft.twin.Load() == d) {
		h.take(d.path)
	}
}

// orphansAt returns the drafts of arrays that were at path before the one that is
// there now.
func (h *Hierarchy) orphansAt(path string) (orphans []*draft) {
	for _, d := range h.drafts() {
		d.mu.Lock()
		if d.path == path && errors.Is(d.err, errOrphan) {
			orphans = append(orphans, d)
		}
		d.mu.Unlock()
	}
	return orphans
}
