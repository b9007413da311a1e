package program

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
)

func TestOfThread(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	p := OfThread(syscall.Gettid())
	if p.PID != os.Getpid() || p.Start == "" || p.Mover || p.Copier {
		t.Errorf("this process is %+v", p)
	}
	if again := OfThread(os.Getpid()); again != p {
		t.Errorf("by its first thread it is %+v, by another %+v", again, p)
	}
	if p := OfThread(0); p != (Process{}) {
		t.Errorf("a process that cannot be seen is %+v", p)
	}
}

// TestPrograms asks what kind of program a process is.
func TestPrograms(t *testing.T) {
	for name, want := range map[string]Process{
		"tee":   {Copier: true},
		"cat":   {Copier: true},
		"sleep": {},
	} {
		cmd := exec.Command(name)
		if name == "sleep" {
			cmd.Args = append(cmd.Args, "60")
		}
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		p := OfThread(cmd.Process.Pid)
		if p.HasEnded() || !p.Is(OfThread(cmd.Process.Pid)) {
			t.Errorf("%s has ended, or is another process now", name)
		}
		in.Close()
		cmd.Process.Kill()
		cmd.Wait()
		if !p.HasEnded() || p.Is(OfThread(cmd.Process.Pid)) {
			t.Errorf("%s has not ended, although it was killed", name)
		}
		if p.PID != cmd.Process.Pid || p.Mover != want.Mover || p.Copier != want.Copier {
			t.Errorf("%s is %+v, expected %+v", name, p, want)
		}
	}
}

func TestThread(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if !WaitsForCPU(syscall.Gettid()) {
		t.Error("the thread that runs this does not run")
	}
	if WaitsForCPU(1 << 30) {
		t.Error("a thread that is not there runs")
	}
	if IsStopped(syscall.Gettid()) || IsStopped(1<<30) {
		t.Error("a thread that runs, or is not there, is stopped")
	}
	groups, err := os.Getgroups()
	if err != nil {
		t.Fatal(err)
	}
	for _, gid := range groups {
		if !HasGroup(os.Getpid(), uint32(gid)) {
			t.Errorf("group %d is not found", gid)
		}
	}
	if HasGroup(os.Getpid(), 1<<31) || HasGroup(1<<30, 0) {
		t.Error("a group is found that nobody has")
	}
}
