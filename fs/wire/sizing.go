package wire

import (
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/fs/program"
)

// If the answer to a READ for the page cache is too short, the kernel fills the page with zeros. A
// program sees them as long as the kernel believes that the file reaches that far. A request for
// another size is such a case. The program that truncates the file already has the answer. But a
// reader may see the page before that program gets a CPU to note the new size. On a busy machine
// that takes many milliseconds.
//
// A change by another file of the array is another such case. A notice tells the kernel of it, and
// the next call of a program asks for the size. But a short answer to a READ that was sent before
// the notice counts no more as the end of the file. So the kernel is made to ask at once.

const (
	// SizeWait is how long a READ waits at most for the kernel to note another size of the file.
	SizeWait = 5 * time.Second
	// SizeAsked is the time between two questions which size the kernel has.
	SizeAsked = 500 * time.Microsecond
	// learnAgain is how long the kernel may take to learn a size until it is made to ask again. The
	// time doubles, because a question may wait for the very page that is to be read.
	learnAgain = 2 * time.Millisecond

	// These two are for where the kernel cannot be asked. In the first a program that is not kept
	// from its CPU notes the answer. In the second one that is notes it, mostly, and the kernel asks
	// for the size when it is made to; see Learn.
	sizeNoted = 50 * time.Millisecond
	sizeLate  = time.Second
)

// Sizing is what is known of changes of a file's size.
type Sizing struct {
	changed  atomic.Int64 // when it was last found to be another one, in nanoseconds since 1970
	waiting  atomic.Int64 // requests for another one, that the kernel waits for
	answered atomic.Int64 // when it was last told to the kernel, in nanoseconds since 1970
	thread   atomic.Int64 // that had asked for it
}

// Begin notes that a thread asks for another size. It returns a function that notes that the kernel
// is about to get the answer.
func (s *Sizing) Begin(thread int) (sized func()) {
	s.waiting.Add(1)
	return func() {
		s.noted(thread)
		s.waiting.Add(-1)
	}
}

// Asked notes that a thread asks for the size. It returns a function that notes that the kernel is
// about to get the answer.
func (s *Sizing) Asked(thread int) (answered func()) {
	began := time.Now().UnixNano()
	return func() {
		if changed := s.changed.Load(); changed < began && began-changed < int64(SizeWait) {
			s.noted(thread)
		}
	}
}

// noted notes that the kernel is about to get the size, for a thread that waits for it.
func (s *Sizing) noted(thread int) {
	s.thread.Store(int64(thread))
	s.answered.Store(time.Now().UnixNano())
}

// Changed notes that the file has another size, for whatever reason.
func (s *Sizing) Changed() { s.changed.Store(time.Now().UnixNano()) }

// Unchanged returns for how long the file has had its size.
func (s *Sizing) Unchanged() time.Duration { return since(&s.changed) }

// since returns how long ago a time is, given in nanoseconds since 1970.
func since(at *atomic.Int64) time.Duration { return time.Since(time.Unix(0, at.Load())) }

// Overrates reports whether the kernel still believes that a truncated file has a byte at off. The
// file has that inode number, and path returns where it is.
func (s *Sizing) Overrates(off int64, number uint64, path func() string) bool {
	answered := since(&s.answered)
	if s.waiting.Load() > 0 {
		answered = 0
	}
	changed := s.Unchanged()
	if min(answered, changed) > SizeWait {
		return false
	}
	size, known := kernelSize(path(), number)
	if !known { // the program that cut the file may wait for the very page that is to be read
		return answered < sizeNoted || changed < answered && changed < sizeLate ||
			answered < sizeLate && program.WaitsForCPU(int(s.thread.Load()))
	}
	return size > off
}

// kernelSize returns the size that the kernel believes the file at path to have, if that has the
// inode number. It is asked through the mount, for what it knows by itself: a request that came back
// to the daemon might wait for the very page that is to be read. So the size is not known if the
// kernel has forgotten a name on the way to the file. It is not known either if the mount was moved,
// or before Linux 5.12.
func kernelSize(path string, number uint64) (size int64, known bool) {
	const cached = 0x20 // RESOLVE_CACHED of openat2(2)
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: cached}
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
	if err != nil {
		return 0, false
	}
	defer unix.Close(fd)
	var st unix.Statx_t
	err = unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_SIZE|unix.STATX_INO, &st)
	return int64(st.Size), err == nil && st.Ino == number
}

// Learning makes the kernel learn the size of a file while a READ of its page cache waits.
type Learning struct {
	last  time.Time
	again time.Duration
}

// Learn makes the kernel ask for the size of the file at path, unless it was made to ask a moment
// ago. A file of another inode number is left alone. The kernel takes the answer, and then drops the
// pages behind the new end. The READ may hold one of these, so nobody waits for the question.
func (l *Learning) Learn(path string, number uint64) {
	if time.Since(l.last) < l.again {
		return
	}
	l.last, l.again = time.Now(), max(learnAgain, 2*l.again)
	go learnSize(path, number)
}

func learnSize(path string, number uint64) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return // the file is gone
	}
	defer unix.Close(fd)
	var st unix.Statx_t
	err = unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_INO, &st)
	if err == nil && st.Ino == number {
		_ = unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_FORCE_SYNC, unix.STATX_SIZE, &st)
	}
}
