package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// daemonEnv is set for the process that serves a mount in the background. Its value is the number
// of the descriptor on which it reports how the start went.
const daemonEnv = "ZARRFS_REPORT_FD"

// startReport is what the daemon reports, once.
type startReport struct {
	Error string `json:"error,omitempty"`
	Code  int    `json:"code,omitempty"`
}

func isDaemon() bool { return os.Getenv(daemonEnv) != "" }

// startDaemon runs this program again in a session of its own, and waits until its mount can be
// used or has failed.
func startDaemon() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	cmd := exec.Command(self, os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Stderr = os.Stderr // until it has started: FUSE's helper may print errors
	cmd.ExtraFiles = []*os.File{w}
	cmd.Env = append(os.Environ(), daemonEnv+"=3")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	keepToOurselves()
	if err := cmd.Start(); err != nil {
		return err
	}
	w.Close()
	stopOnSignal(cmd.Process)
	return awaitDaemon(cmd, r)
}

// keepToOurselves keeps descriptors that this process has inherited, such as a lock file of the
// shell or a pipe to another program, from the daemon. It would hold them as long as the mount
// exists. The descriptors for the daemon are duplicates, which are made after this.
func keepToOurselves() {
	const first = 3 // behind the standard descriptors
	if err := unix.CloseRange(first, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err == nil {
		return
	}
	entries, _ := os.ReadDir("/proc/self/fd") // kernels before 5.11
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd >= first {
			unix.CloseOnExec(fd)
		}
	}
}

// stopOnSignal passes Ctrl-C on to a daemon that is still starting.
func stopOnSignal(p *os.Process) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-c
		p.Signal(syscall.SIGTERM)
	}()
}

func awaitDaemon(cmd *exec.Cmd, r *os.File) error {
	line, _ := bufio.NewReader(r).ReadBytes('\n')
	var s startReport
	if json.Unmarshal(line, &s) == nil {
		if s.Error == "" {
			return nil
		}
		cmd.Wait()
		return withCode(s.Code, inLines(s.Error))
	}
	err := cmd.Wait()
	if err == nil {
		return errors.New("the mount ended before it could be used")
	}
	return fmt.Errorf("the background process died while starting: %w", err)
}

// reportStart reports to the waiting parent how the start went. Then it leaves the parent's pipe,
// terminal and folder.
func reportStart(err error) {
	if !isDaemon() {
		return
	}
	f := os.NewFile(3, "report")
	var s startReport
	if err != nil {
		s = startReport{onLines(err), codeOf(err)}
	}
	if err == nil {
		os.Chdir("/")
		leaveTerminal()
	}
	json.NewEncoder(f).Encode(s)
	f.Close()
}

// leaveTerminal points the standard descriptors to /dev/null.
func leaveTerminal() {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return
	}
	for fd := range 3 {
		unix.Dup3(int(null.Fd()), fd, 0)
	}
	null.Close()
}
