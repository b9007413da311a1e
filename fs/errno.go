package fs

import (
	"context"
	"errors"
	iofs "io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/fs/terminal"
	"github.com/zarrfs/zarrfs/layout/npy"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// errTooBig marks an array of more bytes than a file can have (2^63-1).
var errTooBig = errors.New("more bytes than a file can have (2^63-1)")

// errContent marks a file that cannot be renamed onto a view, for what is in it. It is not EINVAL,
// which mv(1) takes to mean that a folder was to be moved into itself.
var errContent = errors.New("unsupported content")

// sentinels maps the errors that zarrcore may wrap, first match first. It is the only mapping of
// errors to numbers.
var sentinels = []struct {
	err   error
	errno syscall.Errno
}{
	{errContent, syscall.EOPNOTSUPP}, // whatever is wrong with it
	{errTooBig, syscall.EFBIG},
	{zarrcore.ErrFixedSize, syscall.EFBIG},
	{zarrcore.ErrFraction, syscall.EINVAL},
	{zarrcore.ErrNotEmpty, syscall.ENOTEMPTY},
	{npy.ErrHeader, syscall.EINVAL},
	{errors.ErrUnsupported, syscall.EOPNOTSUPP}, // also a wrapped ENOSYS, which would make the kernel stop asking
	{context.Canceled, syscall.EINTR},
	{context.DeadlineExceeded, syscall.ETIMEDOUT},
	{os.ErrDeadlineExceeded, syscall.ETIMEDOUT},
	{zarrcore.ErrInUse, syscall.EBUSY},
	{store.ErrConflict, syscall.ESTALE},
	{zarrcore.ErrChanged, syscall.ESTALE},
	{zarrcore.ErrNotVlen, syscall.ESTALE}, // the array that had lines is another one by now
	{store.ErrReadOnly, syscall.EROFS},
	{store.ErrInvalidKey, syscall.ENOENT},
	{zarrcore.ErrNotArray, syscall.ENOENT},
	{iofs.ErrNotExist, syscall.ENOENT},
	{iofs.ErrPermission, syscall.EACCES},
	{iofs.ErrExist, syscall.EEXIST},
	{iofs.ErrInvalid, syscall.EINVAL},
	{iofs.ErrClosed, syscall.EBADF},
}

// errnoOf returns what the kernel is told of err. A system call's own number is passed on; what is
// not in the table is EIO. A corrupt chunk is in no table: it is EIO, whatever it wraps besides.
func errnoOf(err error) syscall.Errno {
	if err == nil {
		return 0
	}
	var own syscall.Errno
	if errors.As(err, &own) && passable(own) {
		return own
	}
	for _, s := range sentinels {
		if errors.Is(err, s.err) {
			return s.errno
		}
	}
	return syscall.EIO
}

// reasonOf is the text of err for people. Words that only repeat the number that the program was
// given, as in "invalid argument: …", are left out.
func reasonOf(err error) string {
	text := terminal.Line(err.Error())
	words := []string{errnoOf(err).Error()}
	for _, s := range sentinels {
		words = append(words, s.err.Error())
	}
	for _, w := range words {
		text = strings.TrimPrefix(text, w+": ")
	}
	if why, ok := strings.CutSuffix(text, ": "+errors.ErrUnsupported.Error()); ok && strings.Contains(why, ": ") {
		return why
	}
	return text
}

// passable reports whether a number that a system call gave the daemon means the same to the
// program that reads. Those that speak of the daemon's own descriptors and signals do not.
func passable(e syscall.Errno) bool {
	switch e {
	case 0, syscall.ENOSYS, syscall.ENOTSUP, syscall.EBADF, syscall.EFAULT, syscall.EAGAIN, syscall.EINTR, syscall.ENODATA:
		return false
	}
	return e < 512 // 512 and up are the kernel's own, such as ERESTARTSYS
}

// expected reports whether an error is part of everyday life, so that no line of the log is spent
// on it.
func expected(op string, e syscall.Errno) bool {
	return e == 0 || e == syscall.EINTR || e == syscall.ENOENT && quiet(op)
}

// quiet reports whether op may well ask for what is not there. A change never does: the kernel has
// looked its names up before.
func quiet(op string) bool {
	switch op {
	case "lookup", "stat", "list", "open", "getxattr", "unlink", "rmdir", "rename":
		return true
	}
	return false
}

// errorLog writes each error once: the same error of the same array again within a minute is only
// counted, also where another operation meets it, as a close does after a write.
type errorLog struct {
	log *slog.Logger

	mu   sync.Mutex
	seen map[string]time.Time // by path and text; forgotten whole when it has grown to maxSeen
	all  uint64
	last []RecentError // at most maxRecent
}

// A RecentError is why a program was given an error, for those who cannot see the log.
type RecentError struct {
	Time  time.Time `json:"time"`
	Op    string    `json:"op"` // what the program did
	Path  string    `json:"path"`
	Errno string    `json:"errno"`
	Err   string    `json:"err"`
}

const (
	maxSeen     = 4096
	maxRecent   = 64
	repeatAfter = time.Minute
)

// errno returns the number for err and logs it, unless it is expected.
func (l *errorLog) errno(op, path string, err error) syscall.Errno {
	e := errnoOf(err)
	if expected(op, e) {
		return e
	}
	r := RecentError{time.Now(), op, path, errnoName(e), reasonOf(err)}
	if !l.fresh(path+"\x00"+r.Err, r.Time) {
		return e
	}
	l.remember(r)
	var z *zarrcore.Error
	if errors.As(err, &z) && z.Key != "" {
		l.log.Error(op, "path", path, "key", z.Key, "errno", errnoName(e), "err", r.Err)
		return e
	}
	l.log.Error(op, "path", path, "errno", errnoName(e), "err", r.Err)
	return e
}

// fresh notes an error and reports whether it should be written.
func (l *errorLog) fresh(key string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all++
	if at, ok := l.seen[key]; ok && now.Sub(at) < repeatAfter {
		return false
	}
	if l.seen == nil || len(l.seen) >= maxSeen {
		l.seen = make(map[string]time.Time)
	}
	l.seen[key] = now
	return true
}

// remember keeps an error among the latest.
func (l *errorLog) remember(e RecentError) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.last) == maxRecent {
		l.last = slices.Delete(l.last, 0, 1)
	}
	l.last = append(l.last, e)
}

// latest returns the errors that were written last, in the order in which they happened.
func (l *errorLog) latest() []RecentError {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.last)
}

// count returns how many errors programs were given.
func (l *errorLog) count() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all
}

// errnoName returns the symbolic name that manuals use.
func errnoName(e syscall.Errno) string {
	if e == syscall.EOPNOTSUPP {
		return "EOPNOTSUPP" // also called ENOTSUP, but not in our documents
	}
	if s := unix.ErrnoName(e); s != "" {
		return s
	}
	return e.Error()
}
