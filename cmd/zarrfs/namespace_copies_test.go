package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// inCopy runs a shell script in a mount namespace of its own, which has a copy of the mount at dir.
// It returns when the script has said so.
func inCopy(t *testing.T, dir, script string) *exec.Cmd {
	t.Helper()
	if out, err := exec.Command("unshare", "-m", "true").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: copies of a mount in other mount namespaces, which root and unshare "+
			"can make: %v\n%s", err, out)
	}
	// The namespace has copies of the mounts of other tests too, whose umount would wait for it.
	others := `awk -v own="$0" '$3 == "fuse.zarrfs" && $2 != own { print $2 }' /proc/mounts |
		xargs -r umount -l; `
	cmd := exec.Command("unshare", "-m", "sh", "-c", others+script+"; echo ready; exec sleep 600",
		dir)
	cmd.Dir = filepath.Dir(dir)
	said, err := cmd.StdoutPipe()
	noError(t, "pipe", err)
	noError(t, "unshare", cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	if line := make([]byte, 6); true {
		if _, err := said.Read(line); err != nil || string(line) != "ready\n" {
			t.Fatalf("the script in the copy: %q, %v", line, err)
		}
	}
	return cmd
}

// foreground mounts a store by a process that belongs to the test, and returns what waits for a
// text in its log.
func foreground(
	t *testing.T, store string, environ ...string,
) (cmd *exec.Cmd, dir string, said func(text string)) {
	t.Helper()
	return foregroundBy(t, nil, store, environ...)
}

// foregroundBy is foreground with a command that starts the process, such as unshare.
func foregroundBy(
	t *testing.T, starter []string, store string, environ ...string,
) (cmd *exec.Cmd, dir string, said func(text string)) {
	t.Helper()
	needFuse(t)
	dir = t.TempDir()
	log := filepath.Join(t.TempDir(), "log")
	noError(t, "log", os.WriteFile(log, nil, 0o600))
	cmd = ourProgram(t, "mount", "--foreground", "--log", log, store, dir)
	cmd.Env = append(cmd.Env, environ...)
	if len(starter) > 0 {
		try := exec.Command(starter[0], append(starter[1:], "true")...)
		if out, err := try.CombinedOutput(); err != nil {
			t.Skipf("SKIPPED: mounts by %s, which root can make: %v\n%s", starter, err, out)
		}
		by := exec.Command(starter[0], append(starter[1:], cmd.Args...)...)
		by.Env, cmd = cmd.Env, by
	}
	noError(t, "start", cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill()
		if _, ok := mountAt(dir); ok {
			zarrfs(t, "umount", "--lazy", dir)
		}
	})
	said = func(text string) { t.Helper(); logSays(t, log, text) }
	said("msg=mounted")
	return cmd, dir, said
}

// logSays waits until the log has a text.
func logSays(t *testing.T, log, text string) {
	t.Helper()
	end := time.Now().Add(time.Minute)
	for ; !strings.Contains(string(bytesOf(t, log)), text); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the log does not say %q:\n%s", text, bytesOf(t, log))
		}
	}
}

// TestCopiedMount: a copy of a mount in another mount namespace keeps the mount's process after
// umount. Both name the program that has it.
func TestCopiedMount(t *testing.T) {
	cmd, dir, said := foreground(t, makeStore(t))
	other := inCopy(t, dir, "true")
	holder := fmt.Sprintf("sleep (pid %d) at %s", other.Process.Pid, dir)
	code, out := zarrfs(t, "umount", "--timeout", "1500ms", dir)
	if code != exitBusy || strings.Count(out, holder) != 2 ||
		!strings.Contains(out, fmt.Sprintf("kill %d", cmd.Process.Pid)) {
		t.Errorf("umount: exit code %d: %s", code, out)
	}
	said(holder)
	noError(t, "kill", other.Process.Kill())
	noError(t, "the end of the mount's process", cmd.Wait())
}

// TestCopiedMountIsForced: umount --force stores what was written by way of the copies, and then
// cuts them off.
func TestCopiedMountIsForced(t *testing.T) {
	store := writableStore(t)
	cmd, dir, _ := foreground(t, store)
	other := inCopy(t, dir, "exec 3<>"+dir+"/rows.raw; printf 'in the copy' >&3")
	code, out := zarrfs(t, "umount", "--force", dir)
	holder := fmt.Sprintf("sleep (pid %d) at %s", other.Process.Pid, dir)
	if code != 0 || !strings.Contains(out, "cut off: "+holder) {
		t.Errorf("umount --force: exit code %d: %s", code, out)
	}
	noError(t, "the end of the mount's process", cmd.Wait())
	check(t, "stored", stored(t, store, "rows.raw")[:11], []byte("in the copy"))
}

// TestForceAfterUmountTimedOut: where an umount has given up on copies of the mount, another one
// names them. With --force it stores what was written by way of them, and cuts them off.
func TestForceAfterUmountTimedOut(t *testing.T) {
	store := writableStore(t)
	cmd, dir, _ := foreground(t, store)
	other := inCopy(t, dir, "exec 3<>"+dir+"/rows.raw; printf 'in the copy' >&3")
	holder := fmt.Sprintf("sleep (pid %d) at %s", other.Process.Pid, dir)
	for _, args := range [][]string{{"umount", "--timeout", "10ms", dir}, {"umount", dir}} {
		if code, out := zarrfs(t, args...); code != exitBusy || !strings.Contains(out, holder) ||
			!strings.Contains(out, "--force") {
			t.Errorf("zarrfs %s: exit code %d: %s", args, code, out)
		}
	}
	if code, out := zarrfs(t, "umount", "--force", dir); code != 0 ||
		!strings.Contains(out, "cut off: "+holder) {
		t.Errorf("umount --force: exit code %d: %s", code, out)
	}
	noError(t, "the end of the mount's process", cmd.Wait())
	check(t, "stored", stored(t, store, "rows.raw")[:11], []byte("in the copy"))
	if code, out := zarrfs(t, "umount", "--force", dir); code != exitMount ||
		!strings.Contains(out, "is not a mount") {
		t.Errorf("umount --force of what has ended: exit code %d: %s", code, out)
	}
}

// TestForceSparesOtherMounts: copies of other mounts go on.
func TestForceSparesOtherMounts(t *testing.T) {
	_, first, _ := foreground(t, makeStore(t))
	_, second, _ := foreground(t, makeStore(t))
	other := inCopy(t, first, "umount "+second)
	inCopy(t, second, "umount "+first)
	for _, dir := range []string{first, second} {
		zarrfs(t, "umount", "--timeout", "10ms", dir)
	}
	if code, out := zarrfs(t, "umount", "--force", second); code != 0 {
		t.Errorf("umount --force: exit code %d: %s", code, out)
	}
	inside := fmt.Sprintf("/proc/%d/root%s/a.json", other.Process.Pid, first)
	if _, err := os.ReadFile(inside); err != nil {
		t.Errorf("the copy of another mount: %v", err)
	}
}

// TestForceSparesMountsMadeElsewhere: a mount was made in another mount namespace, and a folder
// here has its name. It goes on when that folder is unmounted by force, even if its process does
// not answer.
func TestForceSparesMountsMadeElsewhere(t *testing.T) {
	private := []string{"unshare", "-m", "--propagation", "private"}
	cmd, dir, _ := foregroundBy(t, private, makeStore(t))
	for _, stopped := range []bool{false, true} {
		if stopped {
			noError(t, "stop", cmd.Process.Signal(syscall.SIGSTOP))
			t.Cleanup(func() { cmd.Process.Signal(syscall.SIGCONT) })
		}
		umount := ourProgram(t, "umount", "--force", dir)
		umount.Env = append(umount.Env, patience+"="+stoppedPatience)
		out, _ := umount.CombinedOutput()
		code := umount.ProcessState.ExitCode()
		if code != exitMount || !strings.Contains(string(out), "is not a mount") {
			t.Errorf("stopped %t: umount --force: %s: %s", stopped, umount.ProcessState, out)
		}
	}
	noError(t, "let it go on", cmd.Process.Signal(syscall.SIGCONT))
	inside := fmt.Sprintf("/proc/%d/root%s/a.json", cmd.Process.Pid, dir)
	if _, err := os.ReadFile(inside); err != nil {
		t.Errorf("the mount in the other namespace: %v", err)
	}
}

// TestUmountOfDaemonInPidNamespace: umount waits for a mount's process in another pid namespace by
// the number that the process has here.
func TestUmountOfDaemonInPidNamespace(t *testing.T) {
	cmd, dir, _ := foregroundBy(t, []string{"unshare", "-p", "-f", "--kill-child"}, makeStore(t))
	if state := stateFrom(dir); state.Pid != 1 {
		t.Fatalf("the mount names process %d, want 1", state.Pid)
	}
	if code, out := zarrfs(t, "umount", "--timeout", "10s", dir); code != 0 {
		t.Errorf("exit code %d: %s", code, out)
	}
	noError(t, "the end of the mount's process", cmd.Wait())
}

// TestForceOfStoppedDaemonWithCopy: where the process that serves the copies is stopped, they are
// found by where they are.
func TestForceOfStoppedDaemonWithCopy(t *testing.T) {
	cmd, dir, _ := foreground(t, makeStore(t))
	m, err := ourMountAt(dir)
	noError(t, "find the mount", err)
	kernel := connectionOf(m)
	kernel.close()
	inCopy(t, dir, "true")
	zarrfs(t, "umount", "--timeout", "10ms", dir)
	noError(t, "stop", cmd.Process.Signal(syscall.SIGSTOP))
	t.Cleanup(func() { cmd.Process.Signal(syscall.SIGCONT) })
	umount := ourProgram(t, "umount", "--force", dir)
	umount.Env = append(umount.Env, patience+"="+stoppedPatience)
	out, _ := umount.CombinedOutput()
	goOn := fmt.Sprintf("kill -CONT %d", cmd.Process.Pid)
	if umount.ProcessState.ExitCode() != exitMount || !strings.Contains(string(out), goOn) {
		t.Errorf("umount --force: %v: %s", umount.ProcessState, out)
	}
	if cutOff := strings.Contains(string(out), "is unmounted"); cutOff != (kernel.abort != nil) {
		t.Errorf("cut off: %t: %s", cutOff, out)
	}
}

// TestLazyUmountOfCopiedMount: umount --lazy does not wait for copies.
func TestLazyUmountOfCopiedMount(t *testing.T) {
	_, dir, _ := foreground(t, makeStore(t))
	inCopy(t, dir, "true")
	if code, out := zarrfs(t, "umount", "--lazy", "--timeout", "10m", dir); code != 0 {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// TestInterruptedUmount: Ctrl-C ends an umount that waits for copies. They go on, and the mount's
// process as long as they do.
func TestInterruptedUmount(t *testing.T) {
	// Tests that a shell has started in the background ignore SIGINT, and so would umount.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, os.Interrupt)
	defer signal.Stop(caught)
	cmd, dir, said := foreground(t, makeStore(t))
	other := inCopy(t, dir, "true")
	umount := ourProgram(t, "umount", "--timeout", "10m", dir)
	noError(t, "umount", umount.Start())
	said("copies of the mount in other mount namespaces")
	noError(t, "Ctrl-C", umount.Process.Signal(os.Interrupt))
	umount.Wait()
	if status := umount.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGINT {
		t.Errorf("umount ended by %v", umount.ProcessState)
	}
	inside := fmt.Sprintf("/proc/%d/root%s/a.json", other.Process.Pid, dir)
	if _, err := os.ReadFile(inside); err != nil {
		t.Errorf("the copy: %v", err)
	}
	noError(t, "kill", other.Process.Kill())
	noError(t, "the end of the mount's process", cmd.Wait())
}

// TestSignalWithCopiedMount: after SIGTERM programs have a while to finish with copies of the
// mount. Then the mount's process stores what they have written, and ends. Another mount that has
// the folder by then stays.
func TestSignalWithCopiedMount(t *testing.T) {
	store := writableStore(t)
	cmd, dir, said := foreground(t, store, detached+"=3s")
	other := inCopy(t, dir, "exec 3<>"+dir+"/rows.raw; printf 'in the copy' >&3")
	noError(t, "signal", cmd.Process.Signal(syscall.SIGTERM))
	said(fmt.Sprintf("sleep (pid %d) at %s", other.Process.Pid, dir))
	if code, out := zarrfs(t, "mount", makeStore(t), dir); code != 0 {
		t.Fatalf("mount at the same folder: %s", out)
	}
	said("they now get errors")
	noError(t, "the end of the mount's process", cmd.Wait())
	check(t, "stored", stored(t, store, "rows.raw")[:11], []byte("in the copy"))
	if _, err := os.ReadFile(filepath.Join(dir, "ocean/b.json")); err != nil {
		t.Errorf("the other mount: %v", err)
	}
}

// TestBoundMount: a bind mount of a mount is a copy, too.
func TestBoundMount(t *testing.T) {
	_, dir, _ := foreground(t, makeStore(t))
	other := t.TempDir()
	if err := syscall.Mount(dir, other, "", syscall.MS_BIND, ""); err != nil {
		t.Skipf("SKIPPED: bind mounts, which root can make: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(other, syscall.MNT_DETACH) })
	if code, out := zarrfs(t, "umount", "--timeout", "10ms", dir); code != exitBusy ||
		!strings.Contains(out, "the mount at "+other) {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// heldMounts are the ways in which a mount is kept without a program. Each takes the folder of the
// mount and an empty one, and returns what is named.
var heldMounts = map[string]func(t *testing.T, dir, other string) (holder string){
	"by an overlay": func(t *testing.T, dir, other string) string {
		layers := "lowerdir=" + dir
		for _, name := range []string{"lower", "over"} {
			noError(t, "mkdir", os.Mkdir(filepath.Join(other, name), 0o755))
		}
		layers += ":" + filepath.Join(other, "lower")
		over := filepath.Join(other, "over")
		if err := syscall.Mount("none", over, "overlay", 0, layers); err != nil {
			t.Skipf("SKIPPED: overlays, which root can make: %v", err)
		}
		t.Cleanup(func() { syscall.Unmount(over, syscall.MNT_DETACH) })
		return "the overlay at " + over
	},
	"by the file of a namespace": func(t *testing.T, dir, other string) string {
		if err := syscall.Mount(other, other, "", syscall.MS_BIND, ""); err != nil {
			t.Skipf("SKIPPED: namespaces of files, which root can make: %v", err)
		}
		t.Cleanup(func() { syscall.Unmount(other, syscall.MNT_DETACH) })
		noError(t, "private", syscall.Mount("", other, "", syscall.MS_PRIVATE, ""))
		file := filepath.Join(other, "file")
		noError(t, "file", os.WriteFile(file, nil, 0o600))
		others := `awk -v own="$0" '$3 == "fuse.zarrfs" && $2 != own { print $2 }' /proc/mounts |
			xargs -r umount -l`
		unshare := exec.Command("unshare", "--mount="+file, "sh", "-c", others, dir)
		if out, err := unshare.CombinedOutput(); err != nil {
			t.Skipf("SKIPPED: namespaces of files, which unshare can make: %v\n%s", err, out)
		}
		t.Cleanup(func() { syscall.Unmount(file, syscall.MNT_DETACH) })
		return "the mount namespace of " + file
	},
}

// TestHeldMount: an overlay or a file that keeps a mount is named, by umount and in the log.
// SIGTERM ends the process, as umount says.
func TestHeldMount(t *testing.T) {
	for name, hold := range heldMounts {
		t.Run(name, func(t *testing.T) {
			cmd, dir, said := foreground(t, writableStore(t))
			holder := hold(t, dir, t.TempDir())
			code, out := zarrfs(t, "umount", "--timeout", "1500ms", dir)
			kill := fmt.Sprintf("kill %d", cmd.Process.Pid)
			if code != exitBusy || strings.Count(out, holder) != 2 || !strings.Contains(out, kill) {
				t.Errorf("umount: exit code %d: %s", code, out)
			}
			said(holder)
			for range 2 {
				noError(t, "signal", cmd.Process.Signal(syscall.SIGTERM))
				time.Sleep(unmountPause)
			}
			noError(t, "the process", cmd.Wait())
		})
	}
}

// TestCopyOfOtherUser: root has a copy of a mount, whose user may not see that. umount says so, and
// that root can find it, as is the case.
func TestCopyOfOtherUser(t *testing.T) {
	needFuse(t)
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: mounts of another user, which root can make")
	}
	work := t.TempDir()
	allowOthers(t, work)
	noError(t, "a store", os.Rename(makeStore(t), filepath.Join(work, "s.zarr")))
	noError(t, "mkdir", os.Mkdir(filepath.Join(work, "theirs"), 0o777))
	makeScripts(t, work)
	out := shell(t, work, `machine '
		nobody zarrfs mount --read-only s.zarr theirs || exit
		awk "/fuse.zarrfs/ && !/theirs/ { print \$2 }" /proc/mounts | xargs -r umount -l
		unshare -m sleep 60 & sleep 1
		setpriv --reuid=65534 --regid=65534 --clear-groups zarrfs umount --timeout 1s theirs
		echo exit code $?; zarrfs umount theirs; echo exit code $?; kill $!'`)
	out = strings.ReplaceAll(out, work, "WORK")
	for _, text := range []string{"a program of another user, whose mounts you may not see " +
		"(`sudo zarrfs umount WORK/theirs` names it)",
		"go on: sleep (pid "} {
		if !strings.Contains(out, text) || strings.Count(out, "exit code 5") != 2 {
			t.Errorf("expected %q, and twice the exit code 5, found\n%s", text, out)
		}
	}
}

func TestMayBeIn(t *testing.T) {
	for _, tc := range []struct {
		path string
		may  bool
	}{
		{"/data/mnt", true}, {"/data/mnt/group", true},
		{"mnt", true}, {"mnt/group", true}, {"../data/mnt", true},
		{"/data/mnt2", false}, {"/data", false}, {"/", false},
		{".", false}, {"l/ABC", false}, {"nt", false},
	} {
		if may := mayBeIn("/data/mnt", tc.path); may != tc.may {
			t.Errorf("%s: %v", tc.path, may)
		}
	}
}

// TestHeldMountIsForced: umount --force ends the process of such a mount, with the exit code 0.
func TestHeldMountIsForced(t *testing.T) {
	for name, hold := range heldMounts {
		t.Run(name, func(t *testing.T) {
			cmd, dir, _ := foreground(t, writableStore(t))
			hold(t, dir, t.TempDir())
			f := openFile(t, filepath.Join(dir, "rows.raw"), os.O_RDWR)
			_, err := f.Write([]byte("stored"))
			noError(t, "write", err)
			noError(t, "close", f.Close())
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			if code, out := zarrfs(t, "umount", "--force", "--timeout", "1500ms", dir); code != 0 {
				t.Errorf("umount --force: exit code %d: %s", code, out)
			}
			noError(t, "the process", <-ended)
		})
	}
}

// TestSecondSignal: a second signal ends the process of a mount that programs use, and does not say
// that anything is lost where all is stored.
func TestSecondSignal(t *testing.T) {
	cmd, dir, said := foreground(t, writableStore(t))
	f := openFile(t, filepath.Join(dir, "rows.raw"), os.O_RDWR)
	_, err := f.Write([]byte("stored"))
	noError(t, "write", err)
	noError(t, "fsync", f.Sync())
	for _, text := range []string{"msg=unmounting", "all that was written is stored"} {
		noError(t, "signal", cmd.Process.Signal(syscall.SIGTERM))
		said(text)
	}
	noError(t, "the process", cmd.Wait())
	if err := f.Close(); err != nil && !errors.Is(err, syscall.ENOTCONN) &&
		!errors.Is(err, syscall.ECONNABORTED) {
		t.Errorf("close: %v", err)
	}
	log := bytesOf(t, cmd.Args[4])
	if bytes.Contains(log, []byte("not all")) || bytes.Contains(log, []byte("level=ERROR")) {
		t.Errorf("the log: %s", log)
	}
}

// TestEndStoresMappings: a mount that ends while a program has a file mapped stores what the
// program has written there. If it cannot, it does not say that all is stored.
func TestEndStoresMappings(t *testing.T) {
	for _, tc := range []struct {
		name    string
		signals []string // what the log says after each
		broken  bool     // the store takes nothing
	}{
		{"a second signal", []string{"still in use", "all that was written is stored"}, false},
		{"no time left", []string{"all that was written is stored"}, false},
		{"a store that takes nothing", []string{"unmounted, but not all is stored"}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			store := writableStore(t)
			limit := time.Second
			if len(tc.signals) > 1 {
				limit = time.Minute
			}
			cmd, dir, said := foreground(t, store, detached+"="+limit.String())
			f := openFile(t, filepath.Join(dir, "rows.raw"), os.O_RDWR)
			mapped, err := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE,
				unix.MAP_SHARED)
			noError(t, "mmap", err)
			defer unix.Munmap(mapped)
			copy(mapped, "in a mapping")
			if tc.broken {
				chunks := filepath.Join(store, "rows", "c")
				noError(t, "remove the chunks", os.RemoveAll(chunks))
				noError(t, "a file there", os.WriteFile(chunks, nil, 0o600))
			}
			for _, text := range tc.signals {
				noError(t, "signal", cmd.Process.Signal(syscall.SIGTERM))
				said(text)
			}
			if err := cmd.Wait(); (err != nil) != tc.broken {
				t.Errorf("the process: %v", err)
			}
			if tc.broken {
				return
			}
			b := stored(t, store, "rows.raw")
			if !bytes.HasPrefix(b, []byte("in a mapping")) {
				t.Errorf("the store has %q", b[:12])
			}
		})
	}
}
