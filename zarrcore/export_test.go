package zarrcore

import (
	"context"
	"time"
)

// ScanAgain scans a's objects as soon as the last scan may be replaced.
func ScanAgain(ctx context.Context, a *Array) error {
	watch := a.Watch()
	for last := watch.Last(); watch.Last() == last; time.Sleep(time.Millisecond) {
		if _, err := watch.Scan(ctx, 0); err != nil {
			return err
		}
	}
	return nil
}

// ExpireOrphans does what comes to pass once flushes have failed for long.
func ExpireOrphans(ctx context.Context, h *Hierarchy) { h.arrays.GiveUpOrphans(ctx, 0) }

// LookBehind does what a sequential read of a begins in the background, and waits for it.
func LookBehind(a *Array) {
	a.MayHold(0, 1)
	for range 10_000 {
		if a.Watch().Last().IsThorough() {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
