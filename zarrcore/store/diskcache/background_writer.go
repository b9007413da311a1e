package diskcache

import (
	"log/slog"
	"sync"
	"time"
)

// A keeper writes records to the cache folder, in the order in which they come, so that readers
// hardly wait for the disk. What the disk is too slow for is not kept.
type keeper struct {
	folder *folder
	log    *slog.Logger
	done   chan struct{} // closed when nothing more is written

	mu      sync.Mutex
	more    sync.Cond
	waiting []*record
	bytes   int64
	skipped int64
	slow    time.Time // when a reader waited in vain
	ended   bool
	refused error // why nothing is written at present
	since   time.Time
	hasSaid bool
}

// mostWaiting is how many bytes wait to be written at most.
const mostWaiting = 32 << 20

// A reader waits for room for so long at most, and not at all for a time after that was in vain.
const (
	mostWait = 100 * time.Millisecond
	slowFor  = 10 * time.Second
)

// pauseAfterError is for how long nothing is kept after an error of the disk.
const pauseAfterError = time.Minute

// newKeeper returns a keeper. refused is why nothing can be written, nil if it can.
func newKeeper(f *folder, log *slog.Logger, refused error) *keeper {
	k := &keeper{folder: f, log: log, done: make(chan struct{})}
	k.more.L = &k.mu
	if refused != nil {
		k.refuse(refused)
	}
	go k.run()
	return k
}

// put keeps a record soon.
func (k *keeper) put(r *record) {
	k.mu.Lock()
	defer k.mu.Unlock()
	size := r.bytes()
	if k.ended || k.isRefused() {
		return
	}
	if !k.awaitRoom(size) {
		k.skipped++
		return
	}
	k.waiting = append(k.waiting, r)
	k.bytes += size
	k.more.Signal()
}

// awaitRoom waits until there is room for so many bytes, but not for long, and not soon again if
// that was in vain. The caller holds mu.
func (k *keeper) awaitRoom(size int64) bool {
	began := time.Now()
	for k.bytes+size > mostWaiting {
		if began.Sub(k.slow) < slowFor || time.Since(began) > mostWait {
			k.slow = began
			return false
		}
		k.mu.Unlock()
		time.Sleep(time.Millisecond)
		k.mu.Lock()
	}
	return !k.ended && !k.isRefused()
}

// bytes is about how much memory a record takes.
func (r *record) bytes() int64 {
	n := int64(512)
	for _, e := range r.Extents {
		n += e.N
	}
	return n
}

// isRefused reports whether nothing is written at present. The caller holds mu.
func (k *keeper) isRefused() bool {
	return k.folder.account == nil || k.refused != nil && time.Since(k.since) < pauseAfterError
}

// run writes what comes.
func (k *keeper) run() {
	defer close(k.done)
	for {
		k.mu.Lock()
		for len(k.waiting) == 0 && !k.ended {
			k.more.Wait()
		}
		if len(k.waiting) == 0 {
			k.mu.Unlock()
			return
		}
		r := k.waiting[0]
		k.waiting = k.waiting[1:]
		k.mu.Unlock()
		err := k.write(r)
		k.mu.Lock()
		k.bytes -= r.bytes()
		if err != nil && err != errBusy {
			k.refuse(err)
			k.waiting, k.bytes = nil, 0
		} else if err == nil {
			k.refused = nil
		}
		k.mu.Unlock()
	}
}

// refuse notes that the disk takes nothing. The caller holds mu, or is alone.
func (k *keeper) refuse(err error) {
	k.refused, k.since = err, time.Now()
	if !k.hasSaid {
		k.log.Warn("the cache on disk cannot be written; reads go on without it",
			"folder", k.folder.root.Name(), "err", err)
	}
	k.hasSaid = true
}

// write writes a record. One of bytes of an object is joined with what the file has of the same
// version.
func (k *keeper) write(r *record) error {
	had := k.folder.read(r.Name)
	if had != nil && had.Kind == r.Kind && (r.Kind == isAbsent || r.Kind == isDir) {
		return nil
	}
	if had.isOf(r) {
		if r.isIn(had) {
			return nil
		}
		joined := *had
		for _, e := range r.Extents {
			joined.add(e.Off, e.data)
		}
		return k.folder.write(&joined)
	}
	return k.folder.write(r)
}

// isIn reports whether another record has all bytes of this one.
func (r *record) isIn(had *record) bool {
	for _, e := range r.Extents {
		if !had.has(e.Off, e.N) {
			return false
		}
	}
	return true
}

// stop writes what waits, and ends.
func (k *keeper) stop() {
	k.mu.Lock()
	k.ended = true
	k.more.Signal()
	k.mu.Unlock()
	<-k.done
}

// state returns how many records were left out because the disk is too slow, and why nothing is
// written at present, "" if it is.
func (k *keeper) state() (skipped int64, refused string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.refused != nil {
		refused = k.refused.Error()
	}
	return k.skipped, refused
}
