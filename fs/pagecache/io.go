// Package pagecache decides which opens of a file keep the kernel's pages, and which pass them by.
// Other opens get a plain file that the kernel reads in its place.
package pagecache

import "fmt"

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

// ParseIO reads the value of --io.
func ParseIO(s string) (IO, error) {
	switch io := IO(s); io {
	case IOAuto, IOCached, IODirect:
		return io, nil
	}
	return "", fmt.Errorf("no io mode %q: there are auto, cached, direct", s)
}
