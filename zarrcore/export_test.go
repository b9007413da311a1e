package zarrcore

import (
	"context"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/catalog"
)

// ExpireScan makes the last scan of a's objects an hour old.
func ExpireScan(a *Array) {
	a.mu.Lock()
	defer a.mu.Unlock()
	old := *a.scan
	old.at = old.at.Add(-time.Hour)
	a.scan = &old
}

// ExpireOrphans does what comes to pass once flushes have failed for long.
func ExpireOrphans(ctx context.Context, h *Hierarchy) {
	for _, d := range h.drafts() {
		d.mu.Lock()
		d.failed.noteOrphan(catalog.ErrOrphan)
		d.failed.gone = d.failed.gone.Add(-orphanAge)
		d.mu.Unlock()
		d.giveUpOrphan(ctx)
	}
}

// LookBehind does what a sequential read of a begins in the background, and waits for it.
func LookBehind(a *Array) {
	a.mayHold(0, 1)
	for range 10_000 {
		a.mu.Lock()
		known := a.scan != nil && a.scan.most >= scanLimit
		a.mu.Unlock()
		if known {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
