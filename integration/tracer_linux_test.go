package integration

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// tracer counts the file-system calls that a process with all its threads makes below a folder, and
// kills it right before one of them. (strace can inject a signal too, but counts for each thread of
// its own.) For root, the kernel stops the process at such calls only; that is a sixth of its stops
// otherwise. A filter of any other user would take setuid from fusermount3.
type tracer struct {
	below string       // calls that concern files of this folder count
	armed atomic.Bool  // count from now on
	at    int64        // kill before the call of this number, from 1; 0: never
	seen  atomic.Int64 // calls so far
	last  atomic.Value // string: the name of the last

	goOn func(tid, signal int) error // until the next stop
}

// fileCalls are the calls that count: those that change files, or make changes last. The value
// says where the call names its file.
var fileCalls = map[uint64]struct {
	name string
	path int // index of the argument that is a path; -1: the first is a descriptor
}{
	unix.SYS_OPENAT: {"openat", 1}, unix.SYS_OPENAT2: {"openat2", 1}, unix.SYS_WRITE: {"write", -1},
	unix.SYS_PWRITE64: {"pwrite64", -1},
	unix.SYS_WRITEV:   {"writev", -1}, unix.SYS_PWRITEV: {"pwritev", -1},
	unix.SYS_FSYNC: {"fsync", -1}, unix.SYS_FDATASYNC: {"fdatasync", -1},
	unix.SYS_SYNCFS: {"syncfs", -1}, unix.SYS_SYNC_FILE_RANGE: {"sync_file_range", -1},
	unix.SYS_FTRUNCATE: {"ftruncate", -1},
	unix.SYS_FALLOCATE: {"fallocate", -1}, unix.SYS_FCNTL: {"fcntl", -1},
	unix.SYS_FLOCK: {"flock", -1}, unix.SYS_CLOSE: {"close", -1},
	unix.SYS_RENAMEAT: {"renameat", 1}, unix.SYS_RENAMEAT2: {"renameat2", 1},
	unix.SYS_UNLINKAT: {"unlinkat", 1},
	unix.SYS_MKDIRAT:  {"mkdirat", 1}, unix.SYS_LINKAT: {"linkat", 1},
	unix.SYS_COPY_FILE_RANGE: {"copy_file_range", -1},
}

// launch starts the process under the tracer.
func (t *tracer) launch(cmd *exec.Cmd) (<-chan error, error) {
	started, ended := make(chan error), make(chan error, 1)
	go func() {
		// the thread that started a process traces it; it is not used afterwards
		runtime.LockOSThread()
		cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true, Setpgid: true}
		t.goOn = syscall.PtraceSyscall
		if os.Geteuid() == 0 {
			t.goOn = syscall.PtraceCont
			stopAtFileCalls(cmd)
		}
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		err := t.begin(cmd.Process.Pid)
		started <- err
		if err == nil {
			ended <- t.follow(cmd.Process.Pid)
		}
	}()
	return ended, <-started
}

func (t *tracer) begin(pid int) error {
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil {
		return fmt.Errorf("waiting for the start: %w", err)
	}
	const options = unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACESECCOMP |
		unix.PTRACE_O_EXITKILL | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEFORK |
		unix.PTRACE_O_TRACEVFORK
	if err := syscall.PtraceSetOptions(pid, options); err != nil {
		return fmt.Errorf("tracing: %w", err)
	}
	return t.goOn(pid, 0)
}

// follow lets the threads run from call to call until the process has ended, and returns its exit
// status. That of the first thread comes last. They are a process group of their own, because this
// thread may have started other processes before.
func (t *tracer) follow(pid int) error {
	for {
		var status syscall.WaitStatus
		tid, err := syscall.Wait4(-pid, &status, unix.WALL|unix.WNOTHREAD, nil)
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil:
			return fmt.Errorf("tracing: %w", err)
		case tid == pid && (status.Signaled() || status.ExitStatus() > 0):
			return fmt.Errorf("exit status %d, signal %v", status.ExitStatus(), status.Signal())
		case tid == pid && status.Exited():
			return nil
		case status.Exited() || status.Signaled():
			continue
		}
		signal := 0
		switch stop := status.StopSignal(); {
		case stop == syscall.SIGTRAP|0x80, status.TrapCause() == unix.PTRACE_EVENT_SECCOMP:
			if t.counts(tid) && t.seen.Add(1) == t.at {
				syscall.Kill(pid, syscall.SIGKILL)
			}
		case stop != syscall.SIGTRAP && stop != syscall.SIGSTOP: // those are the tracer's own
			signal = int(stop)
		}
		t.goOn(tid, signal) // fails if the thread has been killed meanwhile
	}
}

// filtered is the variable that makes this program install a filter and become its arguments.
const filtered = "ZARRFS_TEST_FILTERED"

// stopAtFileCalls makes a command that is traced start behind a filter of its calls.
func stopAtFileCalls(cmd *exec.Cmd) {
	cmd.Args = append([]string{os.Args[0], cmd.Path}, cmd.Args...)
	cmd.Path = "/proc/self/exe"
	cmd.Env = append(cmd.Environ(), filtered+"=1")
}

// becomeFiltered installs the filter, and executes the command that stopAtFileCalls was given. The
// filter belongs to this thread, and so to the process that it becomes.
func becomeFiltered() error {
	runtime.LockOSThread()
	theCall := unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS} // its number
	filter := []unix.SockFilter{theCall}
	for nr := range fileCalls {
		filter = append(filter,
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: uint32(nr), Jf: 1},
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_TRACE})
	}
	pass := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}
	filter = append(filter, pass)
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	at := uintptr(unsafe.Pointer(&program))
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, at)
	if errno != 0 {
		return fmt.Errorf("a filter of calls: %w", errno)
	}
	os.Unsetenv(filtered)
	return unix.Exec(os.Args[1], os.Args[2:], os.Environ())
}

// callInfo is what the kernel says of a stopped thread's call (struct ptrace_syscall_info).
type callInfo struct {
	op   uint8 // 1: at the entry; 3: there too, by a filter
	_    [3]uint8
	_    uint32
	_    [2]uint64
	nr   uint64
	args [6]uint64
	_    [8]uint64
}

// counts reports whether the thread is about to make a call that counts.
func (t *tracer) counts(tid int) bool {
	if !t.armed.Load() {
		return false
	}
	var info callInfo
	const request = 0x420e // PTRACE_GET_SYSCALL_INFO
	_, _, errno := syscall.Syscall6(syscall.SYS_PTRACE, request, uintptr(tid), unsafe.Sizeof(info),
		uintptr(unsafe.Pointer(&info)), 0, 0)
	if errno != 0 {
		return false
	}
	call, known := fileCalls[info.nr]
	if info.op&1 == 0 || !known || !strings.HasPrefix(t.file(tid, info, call.path), t.below) {
		return false
	}
	t.last.Store(call.name)
	return true
}

// file returns the file of a call: the absolute path that it names, otherwise the file or folder of
// its descriptor.
func (t *tracer) file(tid int, info callInfo, path int) string {
	if path > 0 {
		if name := stringAt(tid, info.args[path]); strings.HasPrefix(name, "/") {
			return name
		}
	}
	link, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", tid, int32(info.args[0])))
	return link
}

// stringAt reads a string of the traced thread's memory.
func stringAt(tid int, address uint64) string {
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", tid))
	if err != nil {
		return ""
	}
	defer memory.Close()
	var b [unix.PathMax]byte
	n, _ := memory.ReadAt(b[:], int64(address))
	text, _, _ := strings.Cut(string(b[:n]), "\x00")
	return text
}
