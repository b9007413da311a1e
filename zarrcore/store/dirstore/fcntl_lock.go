package dirstore

import (
	"context"
	"errors"
	"io"

	"golang.org/x/sys/unix"
)

var (
	errLocked  = errors.New("dirstore: locked by somebody else")
	errNoLocks = errors.New("dirstore: the file system has no locks")
)

// tryLock locks a whole file for writing, for as long as its open file description lives, unless
// somebody else has: errLocked.
func tryLock(fd int) error { return lockWith(fd, unix.F_WRLCK, setLock) }

func unlock(fd int) { lockWith(fd, unix.F_UNLCK, setLock) }

// waitLock is tryLock that waits. When it fails it has closed fd, or will as soon as the kernel
// ends its wait.
func waitLock(ctx context.Context, fd int) error {
	err := tryLock(fd)
	if err == errLocked {
		done := make(chan error, 1)
		go func() { done <- lockWith(fd, unix.F_WRLCK, setLockWait) }()
		select {
		case err = <-done:
		case <-ctx.Done():
			go func() {
				<-done
				unix.Close(fd)
			}()
			return ctx.Err()
		}
	}
	if err != nil {
		unix.Close(fd)
	}
	return err
}

func lockWith(fd int, kind int16, cmd int) error {
	lock := unix.Flock_t{Type: kind, Whence: io.SeekStart}
	for {
		switch err := unix.FcntlFlock(uintptr(fd), cmd, &lock); err {
		case unix.EINTR:
		case unix.EAGAIN, unix.EACCES:
			return errLocked
		case unix.ENOLCK, unix.ENOSYS, unix.EOPNOTSUPP, unix.EINVAL:
			return errNoLocks
		default:
			return err
		}
	}
}
