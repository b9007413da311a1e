package dirstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path"

	"golang.org/x/sys/unix"
)

const (
	lockSuffix     = ".__lock"
	lockFilePrefix = "lock-" // in the staging folder
)

// A keyLock keeps all others from replacing one object: in this process, in other zarrfs, and in
// tensorstore. The protocol is that of tensorstore. The lock of KEY is an open-file-description
// lock on the file KEY.__lock, held while that path still leads to that file. tensorstore makes the
// file, writes the new object into it and renames it to KEY. tensorstore (0.1.86) does not truncate
// a lock file that it finds. So a program may leave such a file only if the file is empty: ours
// never has content.
//
// Making and removing a file for each object would double the cost of a commit on ext4. So the lock
// is one of a few files of the staging folder, locked first, then linked to KEY.__lock. The end
// unlinks it and unlocks it.
type keyLock struct {
	s    *staging
	p    place     // of the lock
	file int       // descriptor
	from *lockFile // nil where the lock was made, or found, at its place
}

// lockFile is an empty file in the staging folder.
type lockFile struct {
	name string
	fd   int
}

// lock waits until nobody else holds the lock of the object at p. On file systems without locks it
// does nothing.
func (s *staging) lock(ctx context.Context, p place) (*keyLock, error) {
	p.name = lockName(p.name)
	l := &keyLock{s: s, p: p}
	if err := s.note(p.r.full(path.Join(path.Dir(p.key), p.name))); err != nil {
		return nil, err
	}
	err := l.take(ctx)
	if err != nil {
		s.forget()
		return nil, err
	}
	return l, nil
}

// lockName is tensorstore's. Where that is too long for a file's name, tensorstore cannot write the
// object, so any name does.
func lockName(name string) string {
	if len(name)+len(lockSuffix) <= unix.NAME_MAX {
		return name + lockSuffix
	}
	hash := sha256.Sum256([]byte(name))
	return hex.EncodeToString(hash[:]) + lockSuffix
}

func (l *keyLock) take(ctx context.Context) error {
	f, err := l.s.lockFile()
	if err != nil {
		return err
	}
	if f == nil {
		l.file = -1
		return nil
	}
	if err = unix.Linkat(l.s.fd, f.name, l.p.dir, l.p.name, 0); err == nil {
		l.file, l.from = f.fd, f
		return nil
	}
	l.s.freeLockFile(f)
	// Taken; or a file system that has no links, or is another one below this directory.
	l.file, err = l.p.lockByName(ctx, unix.O_CREAT)
	return err
}

// lockFile returns a locked file; nil where there are no locks.
func (s *staging) lockFile() (*lockFile, error) {
	for {
		f, err := s.idleLockFile()
		if err != nil {
			return nil, err
		}
		switch err = tryLock(f.fd); err {
		case nil:
			return f, nil
		case errLocked:
			// somebody who has waited for its former use looks at it just now: it is theirs, then
			// nobody's
			unix.Unlinkat(s.fd, f.name, 0)
			unix.Close(f.fd)
		case errNoLocks:
			s.freeLockFile(f)
			return nil, nil
		default:
			s.freeLockFile(f)
			return nil, err
		}
	}
}

func (s *staging) idleLockFile() (*lockFile, error) {
	s.mu.Lock()
	if n := len(s.idle); n > 0 {
		f := s.idle[n-1]
		s.idle = s.idle[:n-1]
		s.mu.Unlock()
		return f, nil
	}
	s.mu.Unlock()
	name := lockFilePrefix + s.newName()
	fd, err := openat(s.fd, name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL)
	if err != nil {
		return nil, err
	}
	return &lockFile{name: name, fd: fd}, nil
}

// freeLockFile unlocks f. An idle file must not be locked: others may still wait for it.
func (s *staging) freeLockFile(f *lockFile) {
	unlock(f.fd)
	s.mu.Lock()
	s.idle = append(s.idle, f)
	s.mu.Unlock()
}

// lockByName waits for the lock at p, as tensorstore does, and returns its descriptor; -1 on file
// systems without locks.
func (p place) lockByName(ctx context.Context, create int) (int, error) {
	for {
		fd, err := openat(p.dir, p.name, unix.O_WRONLY|create)
		if err != nil {
			return -1, err
		}
		switch err := waitLock(ctx, fd); {
		case err == errNoLocks:
			return -1, nil
		case err != nil:
			return -1, err
		case p.leadsTo(fd):
			return fd, nil
		}
		// the object has got that file, or it is removed: there is another lock now, or none
		unix.Close(fd)
	}
}

// leadsTo reports whether fd is the file at the place.
func (p place) leadsTo(fd int) bool {
	var open unix.Stat_t
	there, err := p.lstat()
	return err == nil && fstat(fd, &open) == nil && there.Ino == open.Ino && there.Dev == open.Dev
}

// unlock ends the lock.
func (l *keyLock) unlock() {
	if l.file >= 0 {
		unix.Unlinkat(l.p.dir, l.p.name, 0)
		if l.from != nil {
			l.s.freeLockFile(l.from)
		} else {
			unix.Close(l.file)
		}
	}
	l.s.forget()
}

// lock locks the object at p, as long as a staging folder is used for it.
func (a *area) lock(ctx context.Context, p place) (unlock func(), err error) {
	s, err := a.staging()
	if err != nil {
		return nil, err
	}
	lock, err := s.lock(ctx, p)
	if err != nil {
		a.done(s)
		return nil, err
	}
	return func() {
		lock.unlock()
		a.done(s)
	}, nil
}
