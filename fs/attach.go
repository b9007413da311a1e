package fs

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// This file makes mounts. go-fuse can do so itself, but keeps the device to itself then, on which WRITEs are also answered
// from here (early.go). It serves a device that was opened for it if it is given that in place of a mountpoint.

// attach mounts at dir, by mount(2) if that is allowed, which it is to root, else by fusermount3. It returns the device on
// which the kernel will send requests.
func attach(dir string, o *Options) (device *os.File, direct bool, err error) {
	device, err = attachDirectly(dir, o)
	if err == nil {
		return device, true, nil
	}
	device, helperErr := attachByHelper(dir, o)
	if helperErr != nil {
		return nil, false, errors.Join(err, helperErr)
	}
	return device, false, nil
}

// fuseType is the type of mounts in /proc/mounts.
const fuseType = "fuse.zarrfs"

// attachDirectly mounts by mount(2).
func attachDirectly(dir string, o *Options) (*os.File, error) {
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return nil, &os.PathError{Op: "stat", Path: dir, Err: err}
	}
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: "/dev/fuse", Err: err}
	}
	flags := uintptr(unix.MS_NOSUID | unix.MS_NODEV)
	if o.ReadOnly {
		flags |= unix.MS_RDONLY
	}
	options := append(commonOptions(o), fmt.Sprintf("fd=%d,rootmode=%o,user_id=%d,group_id=%d", fd, st.Mode&unix.S_IFMT, os.Geteuid(), os.Getegid()))
	if err := unix.Mount(cmp.Or(o.Source, "zarrfs"), dir, fuseType, flags, strings.Join(options, ",")); err != nil {
		unix.Close(fd)
		return nil, os.NewSyscallError("mount", err)
	}
	return os.NewFile(uintptr(fd), "/dev/fuse"), nil
}

// attachByHelper has fusermount3 mount, which sends the device through a socket.
func attachByHelper(dir string, o *Options) (*os.File, error) {
	path, err := FusermountPath()
	if err != nil {
		return nil, err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socketpair", err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "from fusermount"), os.NewFile(uintptr(pair[1]), "for fusermount")
	defer ours.Close()
	defer theirs.Close()
	options := append(commonOptions(o), "nosuid", "nodev", "subtype=zarrfs")
	if o.Source != "" {
		options = append(options, "fsname="+strings.NewReplacer(`\`, `\\`, ",", `\,`).Replace(o.Source))
	}
	if o.ReadOnly {
		options = append(options, "ro")
	}
	helper := exec.Command(path, "-o", strings.Join(options, ","), "--", dir)
	helper.ExtraFiles = []*os.File{theirs} // its descriptor 3
	helper.Env = append(os.Environ(), "_FUSE_COMMFD=3")
	if out, err := helper.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %s (%w)", path, strings.TrimSpace(string(out)), err)
	}
	return receiveFile(ours, "/dev/fuse")
}

// commonOptions are the options that the kernel and fusermount3 both know.
func commonOptions(o *Options) []string {
	options := []string{"default_permissions", fmt.Sprintf("max_read=%d", maxRequest)}
	if o.AllowOther {
		options = append(options, "allow_other")
	}
	return options
}

// receiveFile takes an open file from a socket.
func receiveFile(socket *os.File, name string) (*os.File, error) {
	conn, err := net.FileConn(socket)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	data, rights := make([]byte, 16), make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := conn.(*net.UnixConn).ReadMsgUnix(data, rights)
	if err != nil {
		return nil, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil || len(messages) != 1 {
		return nil, fmt.Errorf("expected one message with a file, found %d (%w)", len(messages), err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return nil, fmt.Errorf("expected one file, found %d (%w)", len(fds), err)
	}
	unix.CloseOnExec(fds[0])
	return os.NewFile(uintptr(fds[0]), name), nil
}

// serverOf returns go-fuse's server of a device, which it closes in the end.
func serverOf(device *os.File, raw fuse.RawFileSystem, o *fuse.MountOptions) (*fuse.Server, error) {
	fd, err := unix.FcntlInt(device.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("dup", err)
	}
	return fuse.NewServer(raw, fmt.Sprintf("/dev/fd/%d", fd), o)
}

// refusePolling lets the kernel learn that files of the mount at dir cannot be polled, so that it never asks again. A Go
// program that opens one is otherwise asked about it by its own runtime, and if it is the one that serves it, may wait for
// itself. go-fuse knows the file by its name.
func refusePolling(dir string) error {
	fd, err := unix.Open(filepath.Join(dir, ".go-fuse-epoll-hack"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	return err
}
