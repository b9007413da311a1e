package integration

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// mapping is the variable that makes this program write in two ways to the array in a folder.
const mapping = "ZARRFS_TEST_MAPPING"

// TestKilledWhileItDropsPages: a program writes an array through a mapping, and through another of
// its views. For each such WRITE the daemon makes the kernel drop the pages of the mapping, which
// it writes first. If the daemon is killed then, that WRITE is never answered. A thread of the
// daemon waits for it, and the kernel does not take the mount for one that nobody serves: programs
// wait for ever, too. `zarrfs umount --force` ends all of that. Most rounds get there.
func TestKilledWhileItDropsPages(t *testing.T) {
	store := filepath.Join(t.TempDir(), "s.zarr")
	bin := zarrfs(t)
	run(t, bin, "create", store, "a", "--shape", "1048576", "--dtype", "u1", "--chunks", "65536")
	for range 3 {
		d := started(t, store)
		writer := exec.Command("/proc/self/exe")
		writer.Env = append(os.Environ(), mapping+"="+d.dir)
		ended, err := startAndWait(writer)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(300 * time.Millisecond)
		syscall.Kill(d.process.Process.Pid, syscall.SIGKILL)
		time.Sleep(100 * time.Millisecond)
		said, err := command(d.bin, "umount", "--force", d.dir)
		var exit *exec.ExitError
		isCode4 := errors.As(err, &exit) && exit.ExitCode() == 4
		if !isCode4 || !strings.Contains(string(said), "is unmounted, but") {
			t.Errorf("expected exit status 4 and that it is unmounted, found %v\n%s", err, said)
		}
		if d.wait(); syscall.Kill(d.process.Process.Pid, 0) == nil {
			t.Fatal("the daemon was killed, and has not ended")
		}
		d.process = nil
		syscall.Kill(writer.Process.Pid, syscall.SIGKILL)
		select {
		case <-ended:
		case <-time.After(patience):
			t.Fatal("the program that writes still waits for the mount")
		}
	}
}

// writeThroughMapping writes to the array a of a mount until that fails: in this goroutine through
// a mapping, which ends this process, in another by WRITEs.
func writeThroughMapping(dir string) error {
	f, err := os.OpenFile(filepath.Join(dir, "a.npy"), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	m, err := unix.Mmap(int(f.Fd()), 0, 1<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	go writeBeside(filepath.Join(dir, "a.raw"))
	for n := byte(0); ; n++ {
		for i := 200; i < len(m); i += 4096 {
			m[i] = n
		}
	}
}

// writeBeside writes to a view of an array until that fails.
func writeBeside(path string) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	for n := 0; err == nil; n++ {
		_, err = f.WriteAt(make([]byte, 4096), int64(n%16)<<16)
	}
}
