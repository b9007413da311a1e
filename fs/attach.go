package fs

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// attach mounts at m.dir and lets go-fuse answer the kernel's first request. It mounts by mount(2)
// if that is allowed, which it is to root, otherwise by fusermount3.
func (m *Mount) attach(raw fuse.RawFileSystem) (err error) {
	m.direct = true
	if m.server, err = fuse.NewServer(raw, m.dir, m.fs.directOptions()); err == nil {
		return nil
	}
	if errno := syscall.Errno(0); !errors.As(err, &errno) { // it was mounted, and the first request was not answered
		m.Detach()
		return err
	}
	direct := os.NewSyscallError("mount", err)
	if _, err := FusermountPath(); err != nil {
		return errors.Join(direct, err)
	}
	if err := m.attachByHelper(raw); err != nil {
		return errors.Join(direct, err)
	}
	return nil
}

// attachByHelper mounts by fusermount3. Where the first request was not answered, the mount that it
// has made is dead, and goes.
func (m *Mount) attachByHelper(raw fuse.RawFileSystem) (err error) {
	m.direct = false
	if m.server, err = fuse.NewServer(raw, m.dir, m.fs.helperOptions()); err == nil {
		return nil
	}
	err = fmt.Errorf("fusermount3: %w", err)
	if dead := unix.Statfs(m.dir, new(unix.Statfs_t)); errors.Is(dead, unix.ENOTCONN) {
		err = errors.Join(err, m.Detach())
	}
	return err
}

// directOptions are those of a mount by mount(2).
func (f *filesystem) directOptions() *fuse.MountOptions {
	o := f.serverOptions()
	o.DirectMountStrict = true
	o.DirectMountFlags = unix.MS_NOSUID | unix.MS_NODEV
	if f.o.ReadOnly {
		o.DirectMountFlags |= unix.MS_RDONLY
	}
	return o
}

// helperOptions are those of a mount by fusermount3, whose own defaults are nosuid and nodev.
func (f *filesystem) helperOptions() *fuse.MountOptions {
	o := f.serverOptions()
	if f.o.ReadOnly {
		o.Options = append(o.Options, "ro")
	}
	return o
}

// source returns what df and /proc/mounts show as the mounted device.
func (f *filesystem) source() string { return cmp.Or(f.o.Source, "zarrfs") }
