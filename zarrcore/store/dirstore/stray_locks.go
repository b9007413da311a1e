package dirstore

import (
	"errors"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// This file removes locks of a dead program that it has not noted, or under another path: a power
// cut may leave the link of a lock, which a file system journals, without the note of it. And a
// directory may be renamed after the note.

// sweepStrays removes what the lock files of a staging folder are linked to elsewhere in the store.
// Only if there is such a link it walks the store.
func (l *leftovers) sweepStrays(folder *os.File) error {
	s := strays{in: l.in, links: map[uint64]int{}}
	fd := int(folder.Fd())
	err := eachEntry(folder, func(name string, kind entryKind) error {
		var st unix.Stat_t
		if !strings.HasPrefix(name, lockFilePrefix) || kind == isDirectory {
			return nil
		}
		if unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil &&
			kindOf(&st) == unix.S_IFREG && st.Nlink > 1 {
			s.links[st.Ino] = int(st.Nlink) - 1
		}
		return nil
	})
	if err != nil || len(s.links) == 0 {
		return err
	}
	return ignoring(s.sweepIn(""), errNoMore)
}

// strays are the locks of a dead program that are somewhere in the store.
type strays struct {
	in    *root
	links map[uint64]int // by inode: how many links are left
}

// errNoMore says that all strays are found.
var errNoMore = errors.New("dirstore: nothing more to find")

// sweepIn removes the strays in dir, and below, until none is left: errNoMore.
func (s *strays) sweepIn(dir string) error {
	f, err := s.in.openDir(dir)
	if err != nil {
		return ignoring(err, os.ErrNotExist)
	}
	defer f.Close()
	var below []string
	err = eachEntry(f, func(name string, kind entryKind) error {
		switch {
		case kind == isDirectory && (dir != "" || !isStaging(name)):
			below = append(below, name)
		case kind == isFile && strings.HasSuffix(name, lockSuffix):
			return s.sweep(path.Join(dir, name))
		}
		return nil
	})
	for _, name := range below {
		if err == nil {
			err = s.sweepIn(path.Join(dir, name))
		}
	}
	return err
}

// sweep removes the lock at key if it is a stray.
func (s *strays) sweep(key string) error {
	p, err := s.in.place(key)
	if err != nil {
		return ignoring(err, os.ErrNotExist)
	}
	defer p.close()
	st, err := p.lstat()
	if err != nil || s.links[st.Ino] == 0 {
		return ignoring(err, os.ErrNotExist)
	}
	if err := p.sweepLock(); err != nil {
		return err
	}
	if s.links[st.Ino]--; s.links[st.Ino] == 0 {
		delete(s.links, st.Ino)
	}
	if len(s.links) == 0 {
		return errNoMore
	}
	return nil
}
