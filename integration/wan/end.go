package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The addresses of the ends, which only their own namespaces know.
const (
	nearAddress = "10.213.7.1"
	farAddress  = "10.213.7.2"
)

// queueLength is how many packets a device keeps until they are read.
const queueLength = 10_000

// An end is a network namespace with a TUN device. A thread lives in it as long as it is needed.
type end struct {
	device *os.File
	thread int
	jobs   chan func()
}

// newEnd makes a namespace, and in it a device with an address.
func newEnd(address string) (*end, error) {
	e := &end{jobs: make(chan func())}
	ready := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocks it: the thread ends with the goroutine
		err := e.enter(address)
		ready <- err
		if err != nil {
			return
		}
		for job := range e.jobs {
			job()
		}
	}()
	return e, <-ready
}

// enter makes the calling thread's namespace.
func (e *end) enter(address string) error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("a network namespace cannot be made: %w", err)
	}
	e.thread = unix.Gettid()
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("/dev/net/tun: %w", err)
	}
	request, err := unix.NewIfreq("wan")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		return fmt.Errorf("a TUN device cannot be made: %w", err)
	}
	e.device = os.NewFile(uintptr(fd), "wan")
	return configure(address)
}

// configure gives the device its address, and switches it and the loopback device on.
func configure(address string) error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	addresses := func(text string) func(*unix.Ifreq) error {
		return func(r *unix.Ifreq) error { return r.SetInet4Addr(net.ParseIP(text).To4()) }
	}
	number := func(n uint32) func(*unix.Ifreq) error {
		return func(r *unix.Ifreq) error { r.SetUint32(n); return nil }
	}
	up := func(r *unix.Ifreq) error {
		r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
		return nil
	}
	for _, step := range []struct {
		device string
		call   uint
		value  func(*unix.Ifreq) error
	}{
		{"wan", unix.SIOCSIFADDR, addresses(address)},
		{"wan", unix.SIOCSIFNETMASK, addresses("255.255.255.252")},
		{"wan", unix.SIOCSIFMTU, number(mtu)},
		{"wan", unix.SIOCSIFTXQLEN, number(queueLength)},
		{"wan", unix.SIOCSIFFLAGS, up},
		{"lo", unix.SIOCSIFFLAGS, up},
	} {
		r, err := unix.NewIfreq(step.device)
		if err == nil {
			err = step.value(r)
		}
		if err == nil {
			err = unix.IoctlIfreq(s, step.call, r)
		}
		if err != nil {
			return fmt.Errorf("the device %s: ioctl %#x: %w", step.device, step.call, err)
		}
	}
	return nil
}

// path names the namespace, as nsenter takes it.
func (e *end) path() string { return fmt.Sprintf("/proc/%d/task/%d/ns/net", os.Getpid(), e.thread) }

// close ends the namespace, once this program has ended, too.
func (e *end) close() { close(e.jobs) }

// in calls f in the namespace.
func (e *end) in(f func() error) error {
	done := make(chan error)
	e.jobs <- func() { done <- f() }
	return <-done
}

// run runs a program in the namespace until it ends, or ctx does. Then it is told to end, and so
// are the programs that it has started.
func (e *end) run(ctx context.Context, env, args []string) error {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = env, os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM, Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	if err := e.in(cmd.Start); err != nil {
		return err
	}
	return cmd.Wait()
}

// serveSource serves bytes in the namespace: to each connection as many as it asks for. It returns
// the port.
func (e *end) serveSource() (port int, err error) {
	var listener net.Listener
	err = e.in(func() (err error) {
		listener, err = net.Listen("tcp4", farAddress+":0")
		return err
	})
	if err != nil {
		return 0, err
	}
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go send(c)
		}
	}()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

// send answers one connection of the source.
func send(c net.Conn) {
	defer c.Close()
	var n [8]byte
	for {
		if _, err := io.ReadFull(c, n[:]); err != nil {
			return
		}
		buffer := make([]byte, 64<<10)
		for left := binary.BigEndian.Uint64(n[:]); left > 0; {
			some := min(left, uint64(len(buffer)))
			if _, err := c.Write(buffer[:some]); err != nil {
				return
			}
			left -= some
		}
	}
}
