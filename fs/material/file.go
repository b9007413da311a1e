package material

import (
	"os"
	"sync"
	"time"

	"github.com/zarrfs/zarrfs/fs/pagecache"
	"github.com/zarrfs/zarrfs/fs/view"
)

// File is a file of the mount as a plain file in the scratch folder.
type File struct {
	table *Files
	view  view.View
	print string // the array's fingerprint
	size  int64
	began time.Time
	plain // zero until the kernel knows it

	finished  chan struct{} // closed when it is written, or given up
	following sync.Mutex    // held while a change of the array is written to the file

	// Guarded by Files.mu.
	of *array
	life
}

// plain is what the kernel reads.
type plain struct {
	backing int32 // the kernel's number of it
	file    *os.File
}

// life is how far a file has come.
type life struct {
	ready   bool      // all bytes are there
	failed  time.Time // it was given up then, and takes no space
	dropped bool      // no open gets it any more: it ends with its last user
	users   int       // handles, and the goroutine that writes it
	done    int64     // bytes that are there
	opened  time.Time // last
}

var _ pagecache.Backing = (*File)(nil)

// Backing returns the kernel's number of the file.
func (m *File) Backing() int32 { return m.backing }

// Fingerprint implements pagecache.Backing.
func (m *File) Fingerprint() string { return m.print }

// Use implements pagecache.Backing.
func (m *File) Use() {
	m.table.mu.Lock()
	defer m.table.mu.Unlock()
	m.users++
}

// Leave ends a use.
func (m *File) Leave() {
	defer m.table.release()
	m.table.mu.Lock()
	defer m.table.mu.Unlock()
	m.users--
	m.table.free(m)
}

// isSoon reports whether an open should rather wait for the materialised file than fill the page
// cache: a program that opens it when half of it is there needs the rest when it is finished. The
// caller holds Files.mu.
func (m *File) isSoon() bool {
	return m.failed.IsZero() && (m.done >= m.size/2 || time.Since(m.began) < soonFor)
}

// isNear reports whether the file is being written and, at the pace so far, will be there within
// nearFor. The caller holds Files.mu.
func (m *File) isNear() bool {
	if m.ready || m.finished == nil || m.done < m.size/2 {
		return false
	}
	left := float64(m.size-m.done) / float64(m.done) * float64(time.Since(m.began))
	return time.Duration(left) <= nearFor
}
