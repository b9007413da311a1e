package live

// This file is about writers that wait: while more is dirty than memory (--dirty-size) and scratch
// have room for, and while they are too far ahead of the store. A write first waits for what is on
// its way (makesWait). Behind its own bytes it waits until the limit is kept (keepToDirtyLimit).

// How far a writer runs ahead of the store, in bytes: by a slab of objects, within these limits.
const (
	drainLeast = 96 << 20
	drainMost  = 256 << 20
)

// makesWait reports whether writers wait until settled: the array is being moved, or too much of it
// is on its way to the store. The caller holds mu.
func (d *draft) makesWait() bool {
	tooMuch := d.drains && d.complete.Backlog > d.backlogMost() && d.failed.Err == nil
	return d.paused != 0 || tooMuch
}

// backlogMost returns how much may be on its way to the store while writers go on: a slab of
// objects, which become complete at once, keeps all workers busy until the next one is complete.
// More than that only takes memory.
func (d *draft) backlogMost() int64 {
	slab := d.live.Load().gen.Objects.SlabBytes()
	return min(max(slab, drainLeast), drainMost, d.h.of.Dirty.Limit()/2)
}

// keepToDirtyLimit makes the writer of a wait while something is stored, if more is dirty than may
// be. The caller has called lockAlone, which is undone meanwhile.
func (a handle) keepToDirtyLimit() {
	if a.h.of.Dirty.Over() <= 0 {
		return
	}
	a.lineage.unlock(a.draft)
	a.h.relieve(a.draft)
	a.lineage.pair.Lock()
	a.draft.mu.Lock()
}

// crowdRuns is after how many runs a write looks whether to wait until something is
// stored before it goes on: where chunks are one element wide each may make another
// one dirty, and a megabyte a million, with notes of hundreds of bytes each.
const crowdRuns = 4096
