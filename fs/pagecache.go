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
	kept     string // the fingerprint of what the page cache holds pages of; "" if unknown
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

// openFlags returns the FOPEN_ flags of a read-only open of a file whose bytes have the fingerprint now.
func (h *habit) openFlags(mode IO, now string) uint32 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if mode == IODirect || mode == IOAuto && !h.cached {
		// Pages that a mapping of this open makes are of the same state; those of an older one must not be kept later.
		if h.kept != now {
			h.kept = ""
		}
		return fuse.FOPEN_DIRECT_IO | fuse.FOPEN_NOFLUSH
	}
	flags := uint32(fuse.FOPEN_NOFLUSH)
	if h.kept == now {
		flags |= fuse.FOPEN_KEEP_CACHE
	}
	h.kept = now
	return flags
}
