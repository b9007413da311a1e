package pagecache

import "github.com/hanwen/go-fuse/v2/fuse"

// holding is what the page cache may hold of a file. Invariant: if kept is not "" and dropped is
// set, every page is of that fingerprint or newer.
type holding struct {
	kept string
	// the kernel has dropped the pages that were older: it does so some time after the open by
	// which it is told
	dropped bool
	pages   bool   // there may be pages
	open    int    // handles that are open
	last    string // the fingerprint of the last open
	mixed   bool   // handles of more than one fingerprint are open: any of them may make pages
}

// Opened counts an open of a file whose bytes have the fingerprint now, and returns the open's
// FOPEN_ flags. ready is the materialised file of these bytes, if there is one; soon reports
// whether there will be. A passthrough handle gets a use of its backing.
func (h *Habit) Opened(mode IO, now string, ready Backing, soon bool) (OpenMode, Backing, uint32) {
	h.mu.Lock()
	defer h.mu.Unlock()
	how, backing := h.judge(now, ready, h.open-h.handles)
	switch how {
	case AsUsual:
		return how, nil, h.openedAsUsual(mode, now, soon)
	case Passthrough:
		h.open++
		h.last, h.kept = now, "" // the kernel drops the pages
		h.enter(backing)
		return how, backing, PassthroughFlags
	}
	return how, nil, 0
}

// OpenedForWriting counts a writable open. An inode with passthrough handles cannot have one
// besides.
func (h *Habit) OpenedForWriting() OpenMode {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.handles > 0 {
		return NewInode
	}
	h.open++
	return AsUsual
}

func (h *Habit) openedAsUsual(mode IO, now string, soon bool) uint32 {
	h.mixed = h.mixed || h.open > 0 && h.last != now
	h.open++
	h.last = now
	if mode == IODirect || mode == IOAuto && (soon || !h.cached) {
		if h.kept != now {
			h.hold(now, !h.pages) // a mapping of this open makes pages of this fingerprint
		}
		return fuse.FOPEN_DIRECT_IO | fuse.FOPEN_NOFLUSH
	}
	flags := uint32(fuse.FOPEN_NOFLUSH)
	if h.kept == now && h.dropped && !h.mixed {
		flags |= fuse.FOPEN_KEEP_CACHE
	}
	h.hold(now, true) // what is not kept the kernel drops at this open
	h.pages = true
	return flags
}

// hold notes that all pages are of the fingerprint now, if they are, or will be once the kernel has
// dropped the others.
func (h *Habit) hold(now string, all bool) {
	switch {
	case !all || h.mixed:
		h.kept = ""
	case h.kept != now:
		h.kept, h.dropped = now, !h.pages
	}
}

// NoteDropped counts a READ of a handle that was opened on bytes of that fingerprint, without
// FOPEN_KEEP_CACHE. The kernel drops the pages when it has the answer to such an open, before the
// program has the handle. Until then an open that keeps them would show older bytes.
func (h *Habit) NoteDropped(print string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dropped = h.dropped || h.kept == print
}

// Released counts the end of a handle.
func (h *Habit) Released(passed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open--
	if passed {
		h.leave()
	}
	h.mixed = h.mixed && h.open > 0
}
