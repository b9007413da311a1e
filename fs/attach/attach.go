// Package attach attaches a FUSE server to a folder, and detaches it. It does so by mount(2) if
// that is allowed, which it is to root, otherwise by fusermount3. It has no locks.
package attach

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Server answers the kernel's requests for what is below a folder.
type Server struct {
	*fuse.Server
	dir    string // absolute
	direct bool   // mounted by mount(2), not by fusermount3
}

// At mounts at dir, an absolute path, and lets go-fuse answer the kernel's first request.
func At(dir string, raw fuse.RawFileSystem, o fuse.MountOptions, readOnly bool) (*Server, error) {
	s := &Server{dir: dir, direct: true}
	var err error
	if s.Server, err = fuse.NewServer(raw, dir, direct(o, readOnly)); err == nil {
		return s, nil
	}
	// it was mounted, and the first request was not answered
	if errno := syscall.Errno(0); !errors.As(err, &errno) {
		s.Detach()
		return nil, err
	}
	failed := os.NewSyscallError("mount", err)
	if _, err := FusermountPath(); err != nil {
		return nil, errors.Join(failed, err)
	}
	if s, err = byHelper(dir, raw, o, readOnly); err != nil {
		return nil, errors.Join(failed, err)
	}
	return s, nil
}

// byHelper mounts by fusermount3. Where the first request was not answered, the mount that it has
// made is dead, and goes.
func byHelper(
	dir string, raw fuse.RawFileSystem, o fuse.MountOptions, readOnly bool,
) (*Server, error) {
	s := &Server{dir: dir}
	var err error
	if s.Server, err = fuse.NewServer(raw, dir, indirect(o, readOnly)); err == nil {
		return s, nil
	}
	err = fmt.Errorf("fusermount3: %w", err)
	if dead := unix.Statfs(dir, new(unix.Statfs_t)); errors.Is(dead, unix.ENOTCONN) {
		err = errors.Join(err, s.Detach())
	}
	return nil, err
}

// direct returns the options of a mount by mount(2).
func direct(o fuse.MountOptions, readOnly bool) *fuse.MountOptions {
	o.DirectMountStrict = true
	o.DirectMountFlags = unix.MS_NOSUID | unix.MS_NODEV
	if readOnly {
		o.DirectMountFlags |= unix.MS_RDONLY
	}
	return &o
}

// indirect returns the options of a mount by fusermount3, whose own defaults are nosuid and nodev.
func indirect(o fuse.MountOptions, readOnly bool) *fuse.MountOptions {
	if readOnly {
		o.Options = append(slices.Clone(o.Options), "ro")
	}
	return &o
}

// Unmount ends the mount. It fails with EBUSY while a program has a file or folder of it open.
func (s *Server) Unmount() error {
	if s.direct {
		return unix.Unmount(s.dir, 0)
	}
	return Fusermount("-u", s.dir)
}

// Detach takes the mount out of the tree at once; programs that have files of it open can go on
// with them.
func (s *Server) Detach() error {
	if s.direct {
		return unix.Unmount(s.dir, unix.MNT_DETACH)
	}
	return Fusermount("-u", "-z", s.dir)
}

// SetReadAhead makes the kernel read n bytes ahead in the mount. Only root may do so, and the mount
// works without it too.
func (s *Server) SetReadAhead(n int64, log *slog.Logger) {
	var st unix.Stat_t
	if err := unix.Stat(s.dir, &st); err != nil {
		return
	}
	device := fmt.Sprintf("%d:%d", unix.Major(st.Dev), unix.Minor(st.Dev))
	path := filepath.Join("/sys/class/bdi", device, "read_ahead_kb")
	if err := os.WriteFile(path, fmt.Appendf(nil, "%d", n>>10), 0o644); err != nil {
		log.Debug("read-ahead stays at the kernel's default", "err", err)
	}
}
