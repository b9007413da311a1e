// Package errno says which number the kernel gets for an error, and which words people get. It
// keeps the last errors that programs got, and by path why requests were refused. All locks of it
// are innermost, but that failures are parts of the states (package pathstate).
package errno

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/fs/terminal"
	"github.com/zarrfs/zarrfs/layout/npy"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// ErrTooBig marks an array of more bytes than a file can have (2^63-1).
var ErrTooBig = errors.New("more bytes than a file can have (2^63-1)")

// ErrContent marks a file that cannot be renamed onto a view, for what is in it. It is not EINVAL,
// which mv(1) takes to mean that a folder was to be moved into itself.
var ErrContent = errors.New("unsupported content")

// NoPart is why there is no file of a part of an array: the expression in its name names none. Such
// an error is fs.ErrNotExist, but worth telling.
type NoPart struct {
	Text string // the expression
	Why  error
}

// Error says what is wrong.
func (e *NoPart) Error() string { return fmt.Sprintf("no part @{%s}: %v", e.Text, e.Why) }

// Is makes it fs.ErrNotExist.
func (e *NoPart) Is(target error) bool { return target == iofs.ErrNotExist }

// RemovedStore is why nothing is found in a mount: the folder of its store is gone. Such an error
// is never expected.
type RemovedStore struct{ Folder string }

// Error says what to do.
func (e *RemovedStore) Error() string {
	return fmt.Sprintf("the store %s was removed, and nothing can be written; "+
		"recreate it and mount it again", e.Folder)
}

// Is makes it an error that something does not exist.
func (e *RemovedStore) Is(target error) bool { return target == iofs.ErrNotExist }

// sentinels maps the errors that zarrcore may wrap, first match first. It is the only mapping of
// errors to numbers.
var sentinels = []struct {
	err   error
	errno syscall.Errno
}{
	{ErrContent, syscall.EOPNOTSUPP}, // whatever is wrong with it
	{ErrTooBig, syscall.EFBIG},
	{zarrcore.ErrFixedSize, syscall.EFBIG},
	{zarrcore.ErrFraction, syscall.EINVAL},
	{zarrcore.ErrNotEmpty, syscall.ENOTEMPTY},
	{zarrcore.ErrOtherFormat, syscall.EXDEV}, // so that mv copies
	{npy.ErrHeader, syscall.EINVAL},
	// Also a wrapped ENOSYS, which would make the kernel stop asking.
	{errors.ErrUnsupported, syscall.EOPNOTSUPP},
	{context.Canceled, syscall.EINTR},
	{context.DeadlineExceeded, syscall.ETIMEDOUT},
	{os.ErrDeadlineExceeded, syscall.ETIMEDOUT},
	{zarrcore.ErrInUse, syscall.EBUSY},
	{store.ErrConflict, syscall.ESTALE},
	{store.ErrChanged, syscall.ESTALE},
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

// Of returns the number that the kernel gets for err. A system call's own number is passed on; what
// is not in the table is EIO. A corrupt chunk is in no table: it is EIO, whatever it wraps besides.
func Of(err error) syscall.Errno {
	if err == nil {
		return 0
	}
	var own syscall.Errno
	if errors.As(err, &own) && isPassable(own) {
		return own
	}
	for _, s := range sentinels {
		if errors.Is(err, s.err) {
			return s.errno
		}
	}
	return syscall.EIO
}

// Reason is the text of err for people. Words that only repeat the program's error number, as in
// "invalid argument: …", are left out.
func Reason(err error) string {
	text := terminal.Line(err.Error())
	words := []string{Of(err).Error()}
	for _, s := range sentinels {
		words = append(words, s.err.Error())
	}
	for _, w := range words {
		text = strings.TrimPrefix(text, w+": ")
	}
	if why, ok := strings.CutSuffix(text, ": "+errors.ErrUnsupported.Error()); ok &&
		strings.Contains(why, ": ") {
		return why
	}
	return text
}

// isPassable reports whether an error number of one of the daemon's system calls means the same to
// the program that gets it. Numbers about the daemon's own descriptors and signals do not.
func isPassable(e syscall.Errno) bool {
	switch e {
	case 0, syscall.ENOSYS, syscall.ENOTSUP, syscall.EBADF, syscall.EFAULT,
		syscall.EAGAIN, syscall.EINTR, syscall.ENODATA:
		return false
	}
	return e < 512 // 512 and up are the kernel's own, such as ERESTARTSYS
}

// IsExpected reports whether an error is part of everyday life, so that it needs no line in the
// log.
func IsExpected(op string, err error) bool {
	switch Of(err) {
	case 0, syscall.EINTR:
		return true
	case syscall.EXDEV:
		return errors.Is(err, zarrcore.ErrOtherFormat) // mv goes on
	case syscall.ENOENT:
		return mayMiss(op) && !errors.As(err, new(*RemovedStore)) && !errors.As(err, new(*NoPart))
	}
	return false
}

// mayMiss reports whether op may well ask for what is not there. A change never does: the kernel
// has looked its names up before.
func mayMiss(op string) bool {
	switch op {
	case "lookup", "stat", "list", "open", "getxattr", "unlink", "rmdir", "rename":
		return true
	}
	return false
}

// Name returns the symbolic name that manuals use.
func Name(e syscall.Errno) string {
	if e == syscall.EOPNOTSUPP {
		return "EOPNOTSUPP" // also called ENOTSUP, but not in our documents
	}
	if s := unix.ErrnoName(e); s != "" {
		return s
	}
	return e.Error()
}

// Refused turns an error about a document that a program wrote into one about what the program did.
// An invalid document in the store means a broken store, but this one never got there.
func Refused(err error) error {
	if errors.Is(err, meta.ErrInvalid) {
		return fmt.Errorf("%w: %w", iofs.ErrInvalid, err)
	}
	return err
}
