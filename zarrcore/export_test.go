package zarrcore

import (
	"context"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/unstored"
)

// ScanAgain scans a's objects as soon as the last scan may be replaced.
func ScanAgain(ctx context.Context, a *Array) error {
	for last := a.watch.Last(); a.watch.Last() == last; time.Sleep(time.Millisecond) {
		if _, err := a.watch.Scan(ctx, 0); err != nil {
			return err
		}
	}
	return nil
}

// ExpireOrphans does what comes to pass once flushes have failed for long.
func ExpireOrphans(ctx context.Context, h *Hierarchy) {
	for _, d := range h.arrays.unsaved.all() {
		d.mu.Lock()
		d.failed.NoteOrphan(catalog.ErrOrphan)
		d.failed.Gone = d.failed.Gone.Add(-unstored.OrphanAge)
		d.mu.Unlock()
		d.giveUpOrphan(ctx)
	}
}

// LookBehind does what a sequential read of a begins in the background, and waits for it.
func LookBehind(a *Array) {
	a.mayHold(0, 1)
	for range 10_000 {
		if a.watch.Last().IsThorough() {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
