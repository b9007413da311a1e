package fs

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/fs/pagecache"
	"github.com/zarrfs/zarrfs/fs/scratch"
	"github.com/zarrfs/zarrfs/fs/view"
)

const (
	// leastMaterial is the size of the smallest file that is materialised: below one READ there is
	// nothing to gain.
	leastMaterial = 1 << 20
	// retryMaterial is after how long a file that could not be materialised is tried again.
	retryMaterial = pagecache.HabitWindow
	// keepMaterial is for how long after its last open a file does not make room for others: if
	// more is read alternately than there is room for, each file would otherwise be rewritten for
	// every read.
	keepMaterial = pagecache.HabitWindow
	// soonMaterial is how long, after a file began to be materialised, its opens do not go to the
	// page cache: they read along, and the pages would not be needed for long.
	soonMaterial = time.Second
	// calmMaterial is how long a file is not passed through after it got another inode. An open
	// that fails with ESTALE is tried again by the kernel, once: by then the new inode must not
	// have outdated passthrough handles as well.
	calmMaterial = time.Second
	// nearMaterial is how long an open waits for a file that is nearly written.
	nearMaterial = 500 * time.Millisecond
)

// material is a file of the mount as a plain file in the scratch folder, which the kernel reads
// without asking: at the speed of the folder's file system. The page cache of that has large
// folios, and FUSE's has pages of 4 KiB.
type material struct {
	table   *materials
	key     fileKey
	print   string // the array's fingerprint
	size    int64
	began   time.Time
	backing int32    // the kernel's number of it
	file    *os.File // what the kernel reads; nil as long as backing is 0

	finished  chan struct{} // closed when it is written, or given up
	following sync.Mutex    // held while a change of the array is written to the file

	// Guarded by materials.mu.
	ready   bool      // all bytes are there
	failed  time.Time // it was given up then, and takes no space
	dropped bool      // out of the table: it ends with its last user
	users   int       // handles, and the goroutine that writes it
	done    int64     // bytes that are there
	opened  time.Time // last
}

// backings is the part of go-fuse's server that knows passthrough.
type backings interface {
	RegisterBackingFd(*fuse.BackingMap) (int32, syscall.Errno)
	UnregisterBackingFd(int32) syscall.Errno
}

// materials are the materialised files of a mount. Its lock comes after a habit's.
type materials struct {
	f     *filesystem
	most  int64  // bytes of one file; 0: nothing is materialised
	limit int64  // bytes of all
	dir   string // scratch folder

	kernel  backings
	writing sync.WaitGroup

	mu       sync.Mutex
	files    map[fileKey]*material
	renewed  map[fileKey]time.Time // when files got another inode, as far as that was within calmMaterial
	followed []*material           // out of the table, but still read, while their arrays are written to
	bytes    int64                 // that all take
	busy     bool                  // one is being written: more at a time would take too much from the readers
	off      bool                  // the kernel or the lack of privileges does not allow it
}

// find returns the materialised file of these bytes with one user more, nil if there is none. An
// outdated one is dropped.
func (t *materials) find(key fileKey, print string) *material {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.files[key]
	if m == nil {
		return nil
	}
	if m.print != print {
		t.drop(m)
		return nil
	}
	if !m.ready || time.Since(t.renewed[key]) < calmMaterial {
		return nil
	}
	m.users++
	m.opened = time.Now()
	return m
}

// noteRenewed notes that a file gets another inode.
func (t *materials) noteRenewed(key fileKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.renewed, func(_ fileKey, at time.Time) bool { return time.Since(at) >= calmMaterial })
	if t.renewed == nil {
		t.renewed = make(map[fileKey]time.Time)
	}
	t.renewed[key] = time.Now()
}

// use counts one more user of a file that has users.
func (t *materials) use(m *material) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m.users++
}

// asBacking returns m as a habit takes it: an untyped nil if there is no such file.
func (m *material) asBacking() pagecache.Backing {
	if m == nil {
		return nil
	}
	return m
}

// Use implements pagecache.Backing.
func (m *material) Use() { m.table.use(m) }

// Fingerprint implements pagecache.Backing.
func (m *material) Fingerprint() string { return m.print }

// leave ends a use.
func (t *materials) leave(m *material) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m.users--
	t.free(m)
}

// drop takes m out of the table. Its space is freed with its last user. The caller holds mu.
func (t *materials) drop(m *material) {
	if t.files[m.key] == m {
		delete(t.files, m.key)
	}
	m.dropped = true
	t.free(m)
}

// free gives back the space of m if nobody needs it any more. The caller holds mu.
func (t *materials) free(m *material) {
	if !m.dropped || m.users > 0 || m.backing == 0 {
		return
	}
	t.unfollow(m)
	t.kernel.UnregisterBackingFd(m.backing)
	m.file.Close() // it has no name
	m.backing = 0
	t.bytes -= m.size
}

// start begins to materialise a file whose content c was just opened, if it may be. It reports
// whether the file will be there soon.
func (t *materials) start(n *fileNode, c view.Content, print string) (soon bool) {
	opened, ok := c.(*view.Flat)
	if !ok || n.fs.writings.find(n.path()) != nil || opened.Reordered() {
		return false
	}
	bytes, err := opened.Again() // its place at the start keeps the bands for it that the reader leaves behind
	if err != nil {
		return false
	}
	m, soon := t.claim(n.key(), c.Size(), print)
	if m == nil {
		bytes.Close()
		return soon
	}
	go t.work(m, bytes)
	return soon
}

// claim enters a file that is to be written, if it may be. soon reports whether it will be there
// soon, also if another open writes it.
func (t *materials) claim(key fileKey, size int64, print string) (m *material, soon bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if m := t.files[key]; m != nil {
		if m.failed.IsZero() || time.Since(m.failed) < retryMaterial {
			return nil, m.soon()
		}
		delete(t.files, key)
	}
	if t.off || t.busy || size < leastMaterial || size > t.most || !t.makeRoom(size) {
		return nil, false
	}
	m = &material{table: t, key: key, print: print, size: size, began: time.Now(), users: 1, finished: make(chan struct{})}
	if t.files == nil {
		t.files = make(map[fileKey]*material)
	}
	t.files[key] = m
	t.busy = true
	t.writing.Add(1)
	return m, true
}

// soon reports whether an open should rather wait for the materialised file than fill the page
// cache: a program that opens it when half of it is there needs the rest when it is finished. The
// caller holds mu.
func (m *material) soon() bool {
	return m.failed.IsZero() && (m.done >= m.size/2 || time.Since(m.began) < soonMaterial)
}

// await waits for the file if it is nearly written. A program that opens it just before that would
// otherwise decode all of it once more.
func (t *materials) await(key fileKey, print string) {
	t.mu.Lock()
	m := t.files[key]
	near := m != nil && m.print == print && m.near()
	t.mu.Unlock()
	if !near {
		return
	}
	select {
	case <-m.finished:
	case <-time.After(nearMaterial):
	}
}

// near reports whether the file is being written and, at the pace so far, will be there within
// nearMaterial. The caller holds mu.
func (m *material) near() bool {
	if m.ready || m.finished == nil || m.done < m.size/2 {
		return false
	}
	left := float64(m.size-m.done) / float64(m.done) * float64(time.Since(m.began))
	return time.Duration(left) <= nearMaterial
}

// makeRoom ends materialised files that nobody has had open for some time, the least recently
// opened first, until size more bytes are within the limit. The caller holds mu.
func (t *materials) makeRoom(size int64) bool {
	for t.bytes+size > t.limit {
		var oldest *material
		for _, m := range t.files {
			if m.ready && m.users == 0 && time.Since(m.opened) > keepMaterial && (oldest == nil || m.opened.Before(oldest.opened)) {
				oldest = m
			}
		}
		if oldest == nil {
			return false
		}
		t.drop(oldest)
	}
	return true
}

// work materialises m.
func (t *materials) work(m *material, c view.Content) {
	defer t.writing.Done()
	defer close(m.finished)
	err := t.write(m, c)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.busy = false
	m.users--
	m.opened = time.Now()
	if err == nil && m.dropped {
		err = errOutdated
	}
	log := t.f.log.With("file", m.key.path, "view", m.key.view, "bytes", m.size, "took", time.Since(m.began))
	if err == nil {
		m.ready = true
		log.Debug("materialised")
		return
	}
	if errors.Is(err, errInMemory) {
		t.giveUp(err)
	}
	log.Debug("not materialised", "err", err)
	outdated := m.dropped
	t.drop(m)
	if !outdated && t.files[m.key] == nil && t.f.ctx.Err() == nil {
		t.files[m.key] = &material{key: m.key, print: m.print, failed: time.Now()}
	}
}

// giveUp stops materialising in this mount, because the kernel, the privileges or the scratch
// folder do not allow it. The caller holds mu.
func (t *materials) giveUp(why error) error {
	if !t.off {
		t.off = true
		t.f.log.Info("files that are read again and again are not materialised", "why", why)
	}
	return why
}

// registered puts the file among the kernel's backing files, and counts its space.
func (t *materials) registered(m *material, file *os.File) error {
	id, errno := t.kernel.RegisterBackingFd(&fuse.BackingMap{Fd: int32(file.Fd())})
	t.mu.Lock()
	defer t.mu.Unlock()
	if errno != 0 {
		return t.giveUp(fmt.Errorf("passthrough to %s: %w", t.dir, errno))
	}
	m.backing, m.file = id, file
	t.bytes += m.size
	return nil
}

// errOutdated ends the writing of a file whose array has changed.
var errOutdated = errors.New("the array has changed")

// progress notes that n bytes are there. An error says that nobody needs them.
func (t *materials) progress(m *material, n int64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	m.done = n
	if m.dropped {
		return errOutdated
	}
	return nil
}

// status returns how many files are materialised, and the bytes of scratch that they take.
func (t *materials) status() (files, bytes int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range t.files {
		if m.ready {
			files++
		}
	}
	return files, t.bytes
}

// errInMemory says that the scratch folder is not a disk: a file there would take the memory of the
// programs.
var errInMemory = errors.New("the scratch folder is in memory")

// suits reports whether the scratch folder may hold size bytes more, and have as much free beside.
func suits(dir string, size int64) error {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return fmt.Errorf("scratch folder %s: %w", dir, err)
	}
	if s.Type == unix.TMPFS_MAGIC || s.Type == unix.RAMFS_MAGIC {
		return fmt.Errorf("%s: %w", dir, errInMemory)
	}
	if free := int64(s.Bavail) * s.Bsize; free < 2*size {
		return fmt.Errorf("scratch folder %s has %d bytes free, expected twice %d: %w", dir, free, size, syscall.ENOSPC)
	}
	return nil
}

// write decodes the file once more, in order, so that it shares the bands of the programs that read
// it.
func (t *materials) write(m *material, c view.Content) (err error) {
	defer c.Close()
	defer t.f.errors.RecoverTo("materialise", m.key.path, &err)
	if err := suits(t.dir, m.size); err != nil {
		return err
	}
	file, err := scratch.Unnamed(t.dir)
	if err != nil {
		return err
	}
	if err := t.registered(m, file); err != nil {
		file.Close()
		return err
	}
	if err := scratch.Allocate(file, m.size); err != nil {
		return err
	}
	if err := t.fill(file, c, m); err != nil {
		return err
	}
	if c.Array().Fingerprint() != m.print { // before this all was of that print, for a print never comes back
		return errOutdated
	}
	return nil
}

// fill writes all bytes of the content. Pieces of a megabyte make large folios.
func (t *materials) fill(file *os.File, c view.Content, m *material) error {
	for off := int64(0); off < m.size; off += maxRequest {
		if err := t.progress(m, off); err != nil {
			return err
		}
		if err := writePiece(t.f.ctx, file, c, off, min(maxRequest, m.size-off)); err != nil {
			return err
		}
	}
	return nil
}
