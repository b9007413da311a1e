package pagecache

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// Briefly is how many entries a reply to begin with has if their attributes are asked for. The
// kernel always asks for them first, also for a program that wants names only. It goes on only if
// the program has then looked at the attributes that it got.
const Briefly = 10

// Listing is what is known of how a directory is listed. It decides whether the kernel keeps a
// listing. The zero value is that of a directory that was not listed yet.
type Listing struct {
	looked atomic.Int64 // names that were looked up one by one since the last listing began

	mu   sync.Mutex
	kept kept // what the kernel was told to keep
	last struct {
		entries  int64 // of the last listing that came to its end
		detailed bool  // a program asks for the attributes of most of them, as ls -l does
	}
}

// kept is a directory's listing that the kernel may have kept.
type kept struct {
	of Stamp
	at time.Time // zero: none is kept
	// it came to its end, and what it shows can change only with the directory itself
	whole bool
}

// Stamp is the state of a directory. Equal stamps: the same children.
type Stamp struct {
	Version string
	ModTime time.Time
}

// NoteLookup counts a name that is looked up by itself.
func (l *Listing) NoteLookup() { l.looked.Add(1) }

const (
	// restsAfter is how old a group must be before its listing is kept: a change within the same
	// tick of the store's clock would not show in its time.
	restsAfter = 2 * time.Second
	// keepFor is how long a listing is kept. A child that turns from a group into an array does not
	// change its parent.
	keepFor = time.Minute
)

// Opened counts an open of the directory, whose state is now, and returns the open's FOPEN_ flags:
// whether the kernel is to use and make a kept listing. The answer no also drops the one it has. If
// programs want the attributes of the entries, the answer is no. With a kept listing
// the kernel would look up each name by itself. That takes three times as long as a listing with
// the attributes.
func (l *Listing) Opened(now Stamp, at time.Time) uint32 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if looked := l.looked.Swap(0); !l.kept.at.IsZero() && looked > l.last.entries/2 {
		l.last.detailed = true
	}
	isOld := l.kept.of != now || !l.kept.whole || at.Sub(l.kept.at) > keepFor
	stale := l.last.detailed || !l.kept.at.IsZero() && isOld
	if stale || now.ModTime.IsZero() || at.Sub(now.ModTime) < restsAfter {
		l.kept = kept{}
		return 0
	}
	if l.kept.at.IsZero() {
		l.kept = kept{of: now, at: at}
	}
	return fuse.FOPEN_CACHE_DIR | fuse.FOPEN_KEEP_CACHE
}

// Ended notes that a listing came to its end. It gets the number of its entries, and how many of
// them were looked up with it. whole: what it shows can change only with the directory itself.
func (l *Listing) Ended(entries, looked int64, whole bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept.whole = l.kept.whole || whole
	l.last.entries, l.last.detailed = entries, looked > entries/2 && entries > Briefly
}

// Changed ends what the kernel keeps of the listing, at the next one: a change of transients does
// not change the store.
func (l *Listing) Changed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept.whole = false
}
