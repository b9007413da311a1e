package dirstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// The area of a store is where its driver stages: a staging folder, which is there while somebody
// uses it. All directories of the store that are held open share it.
type area struct {
	in     *folder // the store's
	mu     sync.Mutex
	staged *staging // nil before the first object is staged
}

// staging returns the driver's staging folder, and makes it if it is missing. It stays until done.
func (a *area) staging() (*staging, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.staged; s != nil {
		if s.exists() {
			s.users++
			return s, nil
		}
		s.closeIdle()
	}
	for {
		s, err := a.newStaging(fmt.Sprintf("%s%016x", stagingPrefix, rand.Uint64()))
		if err == nil {
			a.staged = s
			s.users++
		}
		if err != errTaken {
			return s, err
		}
	}
}

// errTaken says that another program's Clean has met a new staging folder before it was
// locked.
var errTaken = errors.New("dirstore: the staging folder is being removed")

func (a *area) newStaging(name string) (*staging, error) {
	defer a.in.keep()
	// Nobody else may look into it: what is to replace an object that only its owner may read has
	// another mode until it is committed.
	err := a.in.leavingTime(func() error { return unix.Mkdirat(a.in.fd, name, 0o700) })
	if err != nil {
		if err == unix.EEXIST {
			err = errTaken
		}
		return nil, err
	}
	dir, err := openIn(a.in.fd, name, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	owner, err := openIn(int(dir.Fd()), ownerName, unix.O_RDWR|unix.O_CREAT)
	if err == unix.ENOENT {
		err = errTaken
	}
	if err == nil {
		err = own(owner)
	}
	if err != nil {
		dir.Close()
		return nil, err
	}
	return &staging{name: name, dir: dir, fd: int(dir.Fd()), owner: owner}, nil
}

// idleFor is how long an unused staging folder stays: zarr-python warns of a folder in a group that
// is not a node.
const idleFor = 500 * time.Millisecond

// done ends a use of a staging folder. Once nobody uses it for a while it is removed.
func (a *area) done(s *staging) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s.users--; s.users > 0 {
		return
	}
	last := s.next.Load()
	time.AfterFunc(idleFor, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.staged == s && s.users == 0 && s.next.Load() == last {
			a.remove(s)
		}
	})
}

// remove removes the staging folder and all in it. The caller holds a.mu.
func (a *area) remove(s *staging) error {
	a.staged = nil
	s.closeIdle()
	err := a.in.leavingTime(func() error { return bare(a.in.os.RemoveAll(s.name)) })
	return errors.Join(err, s.owner.Close(), s.dir.Close())
}

// end removes the staging folder, if there is one, and all in it.
func (a *area) end() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.staged; s != nil {
		if s.users == 0 {
			return a.remove(s)
		}
		s.closeIdle()
		return bare(a.in.os.RemoveAll(s.name))
	}
	return nil
}

// discard removes a directory in a staging folder, as far as it can: what is left of it goes at the
// end, or by Clean.
func (a *area) discard(s *staging, name string) error {
	return bare(a.in.os.RemoveAll(s.name + "/" + name))
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

// noteLeaving notes that directories of these births are to go if they are at a path. If there is
// no room for a note, it writes nothing: the replacement may make room.
func (a *area) noteLeaving(path string, births []string) (forget func(), err error) {
	var ends []func()
	forget = func() {
		for _, end := range slices.Backward(ends) {
			end()
		}
	}
	s, err := a.staging()
	if err != nil {
		return forget, ignoring(err, unix.ENOSPC, unix.EDQUOT)
	}
	ends = append(ends, func() { a.done(s) })
	for _, birth := range births {
		if birth == "" { // the file system does not report it
			continue
		}
		end, err := s.noteTree(path + "/" + replacedPrefix + birth)
		if err == nil {
			ends = append(ends, end)
		} else if !isFull(err) {
			forget()
			return nil, err
		}
	}
	return forget, nil
}
