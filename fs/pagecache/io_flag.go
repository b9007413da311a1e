// Package pagecache decides which opens of a file keep the kernel's pages, and which pass them by.
// Other opens get a plain file that the kernel reads in its place. It also decides whether the
// kernel keeps the listing of a folder. Under the lock of a habit, a backing is entered and left,
// which may lock the materialised files. That of a listing is innermost.
package pagecache

import (
	"fmt"
	"time"
)

// IO says how reads pass the kernel's page cache.
type IO string

const (
	// IOAuto streams past the page cache until an array turns out to be mapped or read again and
	// again.
	IOAuto IO = "auto"
	// IOCached keeps all that is read in the page cache.
	IOCached IO = "cached"
	// IODirect keeps nothing in the page cache; mmap still works.
	IODirect IO = "direct"
)

// cachedReadAhead is the read-ahead, in bytes, where all reads pass the page cache. Otherwise
// mostly mapped files do, and the kernel's default serves them better: a column through a mapping
// would drag in megabytes for each element.
const cachedReadAhead = 4 << 20

// ReadAhead returns how many bytes the kernel reads ahead of a program, 0 for its default, which is
// little.
func (io IO) ReadAhead() int64 {
	if io == IOCached {
		return cachedReadAhead
	}
	return 0
}

// SettleTime is how long the opens of a file that got another size pass the page cache by.
const SettleTime = 5 * time.Second

// AfterResize returns how a file is to be read whose size changed so long ago. The kernel takes a
// page from its cache, and looks at the file's size after that. If the file grows in between, the
// page has zeros behind the old end. No notice prevents this for a reader that has the page in its
// hands. A file that has just grown will probably grow again, so its opens take no such pages.
func (io IO) AfterResize(ago time.Duration) IO {
	if ago >= 0 && ago < SettleTime {
		return IODirect
	}
	return io
}

// ParseIO reads the value of --io.
func ParseIO(s string) (IO, error) {
	switch io := IO(s); io {
	case IOAuto, IOCached, IODirect:
		return io, nil
	}
	return "", fmt.Errorf("no io mode %q: there are auto, cached, direct", s)
}
