package fs

import (
	"fmt"
	"sync"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// IO says how reads pass the kernel's page cache.
type IO string

const (
	// IOAuto streams past the page cache until an array turns out to be mapped or read again and again.
	IOAuto IO = "auto"
	// IOCached keeps all that is read in the page cache.
	IOCached IO = "cached"
	// IODirect never does; mmap still works.
	IODirect IO = "direct"
)

// ParseIO reads the value of --io.
func ParseIO(s string) (IO, error) {
	switch io := IO(s); io {
	case IOAuto, IOCached, IODirect:
		return io, nil
	}
	return "", fmt.Errorf("no io mode %q: there are auto, cached, direct", s)
}

const (
	// habitWindow is how long reads count for a file's habit.
	habitWindow = 10 * time.Minute
	// smallRequest is the mean READ below which a reader is no stream.
	smallRequest = 64 << 10
	// smallRequests is how many READs that mean needs.
	smallRequests = 16
	// recentOffsets is how many offsets of small READs are remembered to recognise one that comes again.
	recentOffsets = 256
)

// habit is what is known of how a file is read. It decides whether the next read-only open passes the page cache.
//
// A stream that is read once loses by the page cache: pages cost twice what a direct READ costs. But a mapped file
// loses its pages at each mmap of a direct open, and what is read again is best read from memory.
type habit struct {
	mu       sync.Mutex
	cached   bool // the coming opens keep pages
	since    time.Time
	requests int64
	bytes    int64
	again    int64 // small READs at an offset that was read before
	recent   [recentOffsets]int64

	// What the page cache may hold. Invariant: if kept is not "", every page is of that fingerprint or newer.
	kept  string
	pages bool   // there may be pages
	open  int    // handles that are open
	last  string // the fingerprint of the last open
	mixed bool   // handles of more than one fingerprint are open: any of them may make pages
}

// note counts a READ. paged: it came from the page cache (a mapping or read-ahead), not from read(2) on a direct open.
func (h *habit) note(off, n, size int64, paged bool, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now.Sub(h.since) > habitWindow {
		h.since, h.requests, h.bytes, h.again = now, 0, 0, 0
		h.recent = [recentOffsets]int64{}
		h.cached = h.cached && paged
	}
	h.requests++
	h.bytes += n
	h.pages = h.pages || paged
	if n < smallRequest {
		h.noteSmall(off)
	}
	h.cached = h.cached || paged || h.rereadsSmall() || float64(h.bytes) > 1.5*float64(size)
}

func (h *habit) noteSmall(off int64) {
	slot := &h.recent[(uint64(off)*0x9E3779B97F4A7C15)>>56]
	if *slot == off+1 {
		h.again++
	}
	*slot = off + 1 // 0 is an empty slot
}

func (h *habit) rereadsSmall() bool {
	return h.requests >= smallRequests && h.bytes < h.requests*smallRequest && 2*h.again >= h.requests
}

// opened counts an open of a file whose bytes have the fingerprint now, and returns the open's FOPEN_ flags.
func (h *habit) opened(mode IO, now string) uint32 {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mixed = h.mixed || h.open > 0 && h.last != now
	h.open++
	h.last = now
	if mode == IODirect || mode == IOAuto && !h.cached {
		if h.kept != now {
			h.hold(now, !h.pages) // a mapping of this open makes pages of this fingerprint
		}
		return fuse.FOPEN_DIRECT_IO | fuse.FOPEN_NOFLUSH
	}
	flags := uint32(fuse.FOPEN_NOFLUSH)
	if h.kept == now && !h.mixed {
		flags |= fuse.FOPEN_KEEP_CACHE
	}
	h.hold(now, true) // what is not kept the kernel drops at this open
	h.pages = true
	return flags
}

// hold notes that all pages are of the fingerprint now, if they are.
func (h *habit) hold(now string, all bool) {
	if h.kept = ""; all && !h.mixed {
		h.kept = now
	}
}

// released counts the end of a handle.
func (h *habit) released() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open--
	h.mixed = h.mixed && h.open > 0
}
