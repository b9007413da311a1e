package pagecache

import (
	"sync"
	"time"
)

const (
	// HabitWindow is how long reads count for a file's habit.
	HabitWindow = 10 * time.Minute
	// smallRequest is the mean READ below which a reader is not a stream.
	smallRequest = 64 << 10
	// smallRequests is how many READs that mean needs.
	smallRequests = 16
	// recentOffsets is how many offsets of small READs are remembered to recognise one that comes
	// again.
	recentOffsets = 256
)

// Habit is what is known of how a file is read. It decides whether the next read-only open passes
// the page cache.
//
// A stream that is read once loses by the page cache: pages cost twice what a direct READ costs.
// But a mapped file loses its pages at each mmap of a direct open, and what is read again is best
// read from memory.
type Habit struct {
	mu sync.Mutex
	reading
	holding
	passing // handles of a materialised file
}

// reading is how a file was read within HabitWindow.
type reading struct {
	cached   bool // the coming opens keep pages
	since    time.Time
	requests int64
	bytes    int64
	again    int64 // small READs at an offset that was read before
	recent   [recentOffsets]int64
	touched  uint64 // the 64ths of the file that were read, a bit each
	more     bool   // more was read than 1.5 times the file
	mapped   bool   // by a handle that is direct otherwise
}

// Note counts a READ. paged: it came from the page cache (a mapping or read-ahead), not from
// read(2) on a direct open.
func (h *Habit) Note(off, n, size int64, paged bool, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now.Sub(h.since) > HabitWindow {
		h.reading = reading{since: now, cached: h.cached && paged}
	}
	h.requests++
	h.bytes += n
	h.pages = h.pages || paged
	if n < smallRequest {
		h.noteSmall(off)
	}
	h.touched |= parts(off, n, size)
	h.more = h.more || float64(h.bytes) > 1.5*float64(size)
	h.cached = h.cached || paged || h.rereadsSmall() || h.more
}

// parts returns the bits of the 64ths of a file that hold bytes [off, off+n).
func parts(off, n, size int64) uint64 {
	part := (size-1)/64 + 1
	first, last := uint(off/part), uint(min(63, (off+n-1)/part))
	return ^uint64(0) << first & (^uint64(0) >> (63 - last))
}

// NoteMapping counts a READ of a mapping.
func (h *Habit) NoteMapping() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mapped = true
}

// Rereads reports whether the file is read as a whole, in streams, again and again. The bytes that
// an open finds now must also be those of the open before it.
func (h *Habit) Rereads(now string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.more && h.touched == ^uint64(0) && !h.mapped && h.last == now &&
		h.bytes >= h.requests*smallRequest
}

func (h *Habit) noteSmall(off int64) {
	slot := &h.recent[(uint64(off)*0x9E3779B97F4A7C15)>>56]
	if *slot == off+1 {
		h.again++
	}
	*slot = off + 1 // 0 is an empty slot
}

func (h *Habit) rereadsSmall() bool {
	return h.requests >= smallRequests && h.bytes < h.requests*smallRequest &&
		2*h.again >= h.requests
}
