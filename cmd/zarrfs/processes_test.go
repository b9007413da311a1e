package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestAwaitEndWithoutDescriptors: where no descriptor of a process can be had, it is waited for all
// the same, and not taken for one that has ended.
func TestAwaitEndWithoutDescriptors(t *testing.T) {
	sleep := exec.Command("sleep", "600")
	noError(t, "start", sleep.Start())
	defer sleep.Wait()
	defer sleep.Process.Kill()
	var limit unix.Rlimit
	noError(t, "the limit of descriptors", unix.Prlimit(0, unix.RLIMIT_NOFILE, nil, &limit))
	none := unix.Rlimit{Cur: 0, Max: limit.Max}
	noError(t, "lower it", unix.Prlimit(0, unix.RLIMIT_NOFILE, &none, nil))
	running := awaitEnd(sleep.Process.Pid, 50*time.Millisecond)
	sleep.Process.Kill()
	sleep.Wait()
	ended := awaitEnd(sleep.Process.Pid, time.Minute)
	noError(t, "raise it", unix.Prlimit(0, unix.RLIMIT_NOFILE, &limit, nil))
	if running == nil {
		t.Error("a process that runs counts as ended")
	}
	noError(t, "a process that has ended", ended)
}

// stuckBeside shows a process whose file of that name gives no answer until the test ends. Behind
// it are these files and links of other processes.
func stuckBeside(t *testing.T, stuck int, file string, files, links map[string]string) {
	t.Helper()
	patience, folder := questionTime, procFolder
	questionTime, procFolder = 100*time.Millisecond, t.TempDir()
	for name, text := range files {
		write(t, procFolder, name, text)
	}
	for name, to := range links {
		noError(t, "mkdir", os.MkdirAll(filepath.Join(procFolder, filepath.Dir(name)), 0o777))
		noError(t, "link", os.Symlink(to, filepath.Join(procFolder, name)))
	}
	noError(t, "mkdir", os.MkdirAll(procOf(stuck), 0o777))
	pipe := procOf(stuck) + file
	noError(t, "mkfifo", unix.Mkfifo(pipe, 0o600))
	t.Cleanup(func() {
		end, err := os.OpenFile(pipe, os.O_WRONLY, 0) // the question gets its answer
		noError(t, "open the pipe: nothing was asked", err)
		end.Close()
		soon(t, "the process is stuck no more", func() bool {
			_, stuck := stuckProcesses.Load(stuck)
			return !stuck
		})
		questionTime, procFolder = patience, folder
	})
}

// TestStuckProcesses: a process that the kernel does not answer about hides none of the others, and
// does not count as a user.
func TestStuckProcesses(t *testing.T) {
	const mountLine = "1 0 0:77 / /there rw - fuse.zarrfs store rw,user_id=5\n"
	m, ok := parseMountinfo(mountLine)
	if !ok {
		t.Fatal(mountLine)
	}
	t.Run("users", func(t *testing.T) {
		stuckBeside(t, 1000000, "maps", map[string]string{"1000001/comm": "later\n"},
			map[string]string{"1000001/cwd": "/proc/sys"})
		if text := usersText("/proc"); text != "later (pid 1000001)" {
			t.Errorf("users: %q", text)
		}
	})
	t.Run("no users", func(t *testing.T) {
		stuckBeside(t, 1000000, "maps", nil, nil)
		if text := usersText("/proc"); text != "" {
			t.Errorf("only a stuck process is there, and users are %q", text)
		}
	})
	namespaces := map[string]string{
		"self/ns/mnt": "mnt:[1]", "1000000/ns/mnt": "mnt:[2]", "1000001/ns/mnt": "mnt:[2]",
	}
	there := map[string]string{"1000001/comm": "later\n", "1000001/mountinfo": mountLine}
	t.Run("copies", func(t *testing.T) {
		stuckBeside(t, 1000000, "mountinfo", there, namespaces)
		if text := copiesText(m); text != "later (pid 1000001) at /there" {
			t.Errorf("copies: %q", text)
		}
	})
	t.Run("copies anywhere", func(t *testing.T) {
		stuckBeside(t, 1000000, "mountinfo", there, namespaces)
		all := copiesAnywhere()
		if len(all) != 1 || all[procOf(1000001)+"root/there"] != m {
			t.Errorf("copies: %v", all)
		}
	})
	t.Run("server", func(t *testing.T) {
		stuckBeside(t, 1000000, "status",
			map[string]string{
				"1000001/status":   "Uid:\t5\t5\t5\t5\n",
				"1000001/fdinfo/7": "fuse_connection:\t77\n",
			},
			map[string]string{"1000001/fd/7": "/dev/fuse"})
		if pid := m.serverOr(1000000); pid != 1000001 {
			t.Errorf("it is served by %d", pid)
		}
	})
}
