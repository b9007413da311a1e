package scratch

import (
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// RoomFor returns why files cannot be kept in a folder, as far as that shows before it is done.
func RoomFor(files []*File, folder string) error {
	for dir := folder; ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		switch {
		case errors.Is(err, iofs.ErrNotExist) && dir != filepath.Dir(dir):
			continue
		case err != nil:
			return err
		case !info.IsDir():
			return fmt.Errorf("%s is not a folder", dir)
		}
		if err := unix.Faccessat(unix.AT_FDCWD, dir, unix.W_OK|unix.X_OK,
			unix.AT_EACCESS); err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
		return roomOnDisk(files, dir, info.Sys().(*syscall.Stat_t).Dev)
	}
}

// roomOnDisk returns nil if the files that must be copied have room on the disk of a folder.
func roomOnDisk(files []*File, dir string, device uint64) error {
	var disk unix.Statfs_t
	if err := unix.Statfs(dir, &disk); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	var needed int64
	for _, s := range files {
		if stat, err := s.SysStat(); err == nil && stat.Dev != device {
			needed += stat.Blocks * 512
		}
	}
	if free := int64(disk.Bavail) * disk.Bsize; needed > free {
		return fmt.Errorf("%s: %w: %d bytes are needed, and %d are free", dir, syscall.ENOSPC,
			needed, free)
	}
	return nil
}

// KeepAs gives the file's bytes a name: as a link where that can be, or as a copy. The file
// survives a power cut.
func (s *File) KeepAs(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if s.link(path) == nil {
		return nil
	}
	os.Remove(path) // it may have got its name, and not be durable
	err := s.Use(func(file *os.File) error { return copyTo(file, path) })
	if err != nil {
		os.Remove(path) // a part of it would be taken for the whole
	}
	return err
}

// copyTo copies a file to a new one, with its mode, its time and its holes.
func copyTo(file *os.File, path string) (err error) {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm()|0o400)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	for at := int64(0); ; {
		from, end, more := nextStretch(file, at)
		if !more {
			break
		}
		if _, err := io.Copy(io.NewOffsetWriter(to, from),
			io.NewSectionReader(file, from, end-from)); err != nil {
			return err
		}
		at = end
	}
	if err := errors.Join(to.Truncate(info.Size()), to.Sync()); err != nil {
		return err
	}
	return os.Chtimes(path, time.Time{}, info.ModTime())
}

// nextStretch returns the first stretch of data at or after at.
func nextStretch(file *os.File, at int64) (from, end int64, more bool) {
	from, err := unix.Seek(int(file.Fd()), at, unix.SEEK_DATA)
	if err != nil {
		return 0, 0, false // ENXIO: none
	}
	end, err = unix.Seek(int(file.Fd()), from, unix.SEEK_HOLE)
	return from, end, err == nil && end > from
}
