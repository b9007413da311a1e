// Package material keeps files of the mount decoded, as plain files in the scratch folder. The
// kernel reads those without asking the daemon, at the speed of the folder's file system: its page
// cache has large folios, and that of FUSE has pages of 4 KiB.
//
// A file is outdated when its array changes, and later opens do not get it. Programs that have it
// open read it past the daemon, so nothing can make them read another one. Therefore each change of
// the array is written to it too, until they close it.
//
// What is materialised of an array is a part of the state of its path (package pathstate): a rename
// moves it, and a removal ends it. Locks: that of a habit (package pagecache) or that of the states
// comes first, then Files.mu. File.following is held while zarrcore works, and comes before both.
package material

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/pagecache"
	"github.com/zarrfs/zarrfs/fs/pathstate"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore"
)

const (
	// least is the size of the smallest file that is materialised, in bytes: below one READ there
	// is nothing to gain.
	least = 1 << 20
	// retryAfter is after how long a file that could not be materialised is tried again.
	retryAfter = pagecache.HabitWindow
	// keepFor is for how long after its last open a file does not make room for others: if more is
	// read alternately than there is room for, each file would otherwise be rewritten for every
	// read.
	keepFor = pagecache.HabitWindow
	// soonFor is how long, after a file began to be materialised, its opens do not go to the page
	// cache: they read along, and the pages would not be needed for long.
	soonFor = time.Second
	// calmFor is how long a file is not passed through after it got another inode. An open that
	// fails with ESTALE is tried again by the kernel, once: by then the new inode must not have
	// outdated passthrough handles as well.
	calmFor = time.Second
	// nearFor is how long an open waits for a file that is nearly written.
	nearFor = 500 * time.Millisecond
)

// Arrays opens arrays by their paths.
type Arrays interface {
	OpenArray(ctx context.Context, path string) (*zarrcore.Array, error)
}

// Kernel knows plain files that it reads in place of files of the mount.
type Kernel interface {
	// Register makes a file one of them, and returns its number.
	Register(file *os.File) (backing int32, err error)
	// Unregister ends that.
	Unregister(backing int32)
}

// Options say what may be materialised.
type Options struct {
	Most  int64 // bytes of one file; 0: nothing is materialised
	Limit int64 // bytes of all
	Dir   string
	Log   *errno.Log
}

// Files are the materialised files of a mount.
type Files struct {
	o      Options
	ctx    context.Context // ends with the mount
	arrays Arrays
	states pathstate.Parts[Part]
	kernel Kernel

	writing sync.WaitGroup

	mu     sync.Mutex
	taking []*File // those that take space
	freed  []plain // those that nobody needs, and that release has yet to close
	// one is being written: more at a time would take too much from the readers
	busy bool
	off  bool // the kernel or the lack of privileges does not allow it
}

// New returns the materialised files of a mount, which ends with ctx. What is materialised of each
// array is in its part of the states.
func New(ctx context.Context, o Options, arrays Arrays, states pathstate.Parts[Part]) *Files {
	return &Files{o: o, ctx: ctx, arrays: arrays, states: states}
}

// Serve says which kernel reads the files. It is called before the first of them is needed.
func (t *Files) Serve(k Kernel) { t.kernel = k }

// Wait waits until no file is being written any more. The mount has ended.
func (t *Files) Wait() { t.writing.Wait() }

// Find returns the materialised file of a view of the array at path, with one user more. It returns
// nil if there is no file of bytes with that fingerprint. An outdated one is dropped. Find waits
// for one that is nearly written: its caller would otherwise decode all of it once more.
func (t *Files) Find(path string, v view.View, print string) (m *File) {
	t.await(path, v, print)
	t.at(path, func(a *array) {
		if m = a.files[v]; m == nil {
			return
		}
		if m.print != print {
			t.drop(m)
		}
		if m.dropped || !m.ready || time.Since(a.renewed[v]) < calmFor {
			m = nil
			return
		}
		m.users++
		m.opened = time.Now()
	})
	return m
}

// await waits for a file if it is nearly written.
func (t *Files) await(path string, v view.View, print string) {
	var near *File
	t.at(path, func(a *array) {
		if m := a.files[v]; m != nil && m.print == print && m.isNear() {
			near = m
		}
	})
	if near == nil {
		return
	}
	select {
	case <-near.finished:
	case <-time.After(nearFor):
	}
}

// NoteRenewed notes that a file of the mount gets another inode. Its array is at the path that
// where returns.
func (t *Files) NoteRenewed(where func() string, v view.View) {
	t.states.Follow(where, func(p *Part) {
		t.mu.Lock()
		defer t.mu.Unlock()
		p.array(t).renewed[v] = time.Now()
	})
}

// Start begins to materialise a view of the array at path, whose content c was just opened, if that
// may be. It reports whether the file will be there soon.
func (t *Files) Start(path string, v view.View, c view.Content, print string) (soon bool) {
	opened, ok := c.(*view.Flat)
	if !ok || opened.IsReordered() {
		return false
	}
	// its place at the start keeps the bands for it that the reader leaves behind
	bytes, err := opened.Again()
	if err != nil {
		return false
	}
	var m *File
	t.states.Make(path, func(p *Part) {
		m, soon = t.claim(p.array(t), v, c.Size(), print)
	})
	if m == nil {
		bytes.Close()
		return soon
	}
	go t.work(path, m, bytes)
	return soon
}

// claim enters a file that is to be written, if it may be. soon reports whether it will be there
// soon, also if another open writes it.
func (t *Files) claim(a *array, v view.View, size int64, print string) (m *File, soon bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if m := a.files[v]; m != nil {
		if m.failed.IsZero() || time.Since(m.failed) < retryAfter {
			return nil, m.isSoon()
		}
		delete(a.files, v)
	}
	if t.off || t.busy || size < least || size > t.o.Most || !t.makeRoom(size) {
		return nil, false
	}
	m = &File{table: t, of: a, view: v, print: print, size: size, began: time.Now(),
		finished: make(chan struct{}), life: life{users: 1}}
	a.files[v] = m
	t.busy = true
	t.writing.Add(1)
	return m, true
}

// makeRoom ends materialised files that nobody has had open for some time, the least recently
// opened first, until size more bytes are within the limit. The caller holds mu.
func (t *Files) makeRoom(size int64) bool {
	for t.taken()+size > t.o.Limit {
		var oldest *File
		for _, m := range t.taking {
			if m.ready && m.users == 0 && time.Since(m.opened) > keepFor &&
				(oldest == nil || m.opened.Before(oldest.opened)) {
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

// taken returns how many bytes all files take. The caller holds mu.
func (t *Files) taken() (sum int64) {
	for _, m := range t.taking {
		sum += m.size
	}
	return sum
}

// drop takes m out of the files that may be opened. Its space is freed with its last user. The
// caller holds mu.
func (t *Files) drop(m *File) {
	if m.of.files[m.view] == m {
		delete(m.of.files, m.view)
	}
	m.dropped = true
	t.free(m)
}

// free gives back the space of m if nobody needs it any more. The caller holds mu, and calls
// release after that.
func (t *Files) free(m *File) {
	if !m.dropped || m.users > 0 || m.backing == 0 {
		return
	}
	is := func(other *File) bool { return other == m }
	m.of.followed = slices.DeleteFunc(m.of.followed, is)
	t.taking = slices.DeleteFunc(t.taking, is)
	t.freed = append(t.freed, m.plain)
	m.plain = plain{}
}

// release closes the freed files. This may take a while: they have no name, so the close deletes
// their data. No lock is held.
func (t *Files) release() {
	t.mu.Lock()
	freed := t.freed
	t.freed = nil
	t.mu.Unlock()
	for _, p := range freed {
		t.kernel.Unregister(p.backing)
		p.file.Close()
	}
}

// giveUp stops materialising in this mount, because the kernel, the privileges or the scratch
// folder do not allow it. The caller holds mu.
func (t *Files) giveUp(why error) error {
	if !t.off {
		t.off = true
		t.o.Log.To.Info("no file is unpacked into the scratch folder", "why", why)
	}
	return why
}

// register puts a file among those that the kernel reads, and counts its space.
func (t *Files) register(m *File, file *os.File) error {
	backing, err := t.kernel.Register(file)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		return t.giveUp(fmt.Errorf("passthrough to %s: %w", t.o.Dir, err))
	}
	m.plain = plain{backing, file}
	t.taking = append(t.taking, m)
	return nil
}

// errOutdated ends the writing of a file whose array has changed.
var errOutdated = errors.New("the array has changed")

// progress notes that n bytes are there. An error says that nobody needs them.
func (t *Files) progress(m *File, n int64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	m.done = n
	if m.dropped {
		return errOutdated
	}
	return nil
}

// Status returns how many files are materialised, and the bytes of scratch in use. The bytes
// include those of files that are being written.
func (t *Files) Status() (files, bytes int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range t.taking {
		if m.ready && !m.dropped {
			files++
		}
	}
	return files, t.taken()
}
