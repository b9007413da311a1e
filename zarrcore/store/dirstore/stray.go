package dirstore

import (
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
func (r *root) sweepStrays(folder *os.File) error {
	strays := map[uint64]int{} // by inode: how many links are elsewhere
	fd := int(folder.Fd())
	err := eachEntry(folder, func(name string, kind entryKind) error {
		var st unix.Stat_t
		if !strings.HasPrefix(name, lockFilePrefix) || kind == isDirectory {
			return nil
		}
		if unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil &&
			kindOf(&st) == unix.S_IFREG && st.Nlink > 1 {
			strays[st.Ino] = int(st.Nlink) - 1
		}
		return nil
	})
	if err != nil || len(strays) == 0 {
		return err
	}
	if err = r.findStrays("", strays); err == errNoMore {
		err = nil
	}
	return err
}

// findStrays removes the locks in dir, and below, that are one of strays, until it has found all:
// errNoMore.
func (r *root) findStrays(dir string, strays map[uint64]int) error {
	f, err := r.openDir(dir)
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
			return r.sweepStray(path.Join(dir, name), strays)
		}
		return nil
	})
	for _, name := range below {
		if err == nil {
			err = r.findStrays(path.Join(dir, name), strays)
		}
	}
	return err
}

// sweepStray removes the lock at key if it is one of strays.
func (r *root) sweepStray(key string, strays map[uint64]int) error {
	p, err := r.place(key)
	if err != nil {
		return ignoring(err, os.ErrNotExist)
	}
	defer p.close()
	st, err := p.lstat()
	if err != nil || strays[st.Ino] == 0 {
		return ignoring(err, os.ErrNotExist)
	}
	if err := p.sweepLock(); err != nil {
		return err
	}
	if strays[st.Ino]--; strays[st.Ino] == 0 {
		delete(strays, st.Ino)
	}
	if len(strays) == 0 {
		return errNoMore
	}
	return nil
}
