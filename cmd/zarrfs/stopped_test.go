package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	// stoppedPatience is how long an umount of these tests waits for an answer.
	stoppedPatience = "300ms"
	// umountMost is how long such an umount may take on a busy machine. It may wait for four
	// answers.
	umountMost = 20 * time.Second
)

// TestUmountOfDaemonStoppedAnywhere stops the process of a mount at moments anywhere in an umount.
// Umount ends all the same, and says what is the matter and what to do. Nothing is lost: once the
// process goes on, the mount can be unmounted, or has been.
func TestUmountOfDaemonStoppedAnywhere(t *testing.T) {
	needFuse(t)
	const rounds, atOnce = 60, 3
	var all sync.WaitGroup
	turns := make(chan struct{}, atOnce)
	for range rounds {
		all.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			stopWhileUmount(t, time.Duration(rand.Int64N(int64(30*time.Millisecond))))
		})
	}
	all.Wait()
}

// stopWhileUmount is one round of that test.
func stopWhileUmount(t *testing.T, moment time.Duration) {
	dir := t.TempDir()
	if code, out := zarrfs(t, "mount", writableStore(t), dir); code != 0 {
		t.Errorf("mount: %s", out)
		return
	}
	pid := servingPid(dir)
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("kept"), 0o666); err != nil {
		t.Error(err)
	}
	kept := stateFrom(dir).OtherFiles.Folder
	code, said, hung := umountWhile(t, dir, func() {
		time.Sleep(moment)
		syscall.Kill(pid, syscall.SIGSTOP)
	}, func() { syscall.Kill(pid, syscall.SIGCONT) })
	if hung {
		t.Errorf("stopped after %s: umount hung: %s", moment, said)
	}
	cause, cure := fmt.Sprintf("process %d, which serve", pid), fmt.Sprintf("kill -CONT %d", pid)
	named := strings.Contains(said, cause) && strings.Contains(said, cure)
	// before the signal came, on a busy machine
	early := strings.Contains(said, "does not answer; wait and try again")
	if code != 0 && (code != exitMount && code != exitBusy || !named && !early) {
		t.Errorf("stopped after %s: exit code %d: %s", moment, code, said)
	}
	if _, stillMounted := mountAt(dir); stillMounted {
		if code, out := zarrfs(t, "umount", dir); code != 0 {
			t.Errorf("umount once it goes on: exit code %d: %s", code, out)
		}
	}
	if err := awaitEnd(pid, time.Minute); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(filepath.Join(kept, "notes.txt")); string(text) != "kept" {
		t.Errorf("stopped after %s: a file that is not an array is not kept: %q, %v", moment, text,
			err)
	}
}

// umountWhile runs umount and meanwhile disturbs it. If it hangs, that is taken back. The
// disturbance is taken back at the end as well.
func umountWhile(
	t *testing.T, dir string, disturb, takeBack func(),
) (code int, said string, hung bool) {
	var out strings.Builder
	umount := ourProgram(t, "umount", dir)
	umount.Env = append(umount.Env, patience+"="+stoppedPatience)
	umount.Stderr = &out
	if err := umount.Start(); err != nil {
		t.Error(err)
		return
	}
	disturb()
	late := time.AfterFunc(umountMost, takeBack)
	umount.Wait()
	hung = !late.Stop()
	takeBack()
	return umount.ProcessState.ExitCode(), out.String(), hung
}

// TestVerbsBesideStoppedDaemon: what is asked of a folder in a mount whose process is stopped, or
// from within it, does not hang.
func TestVerbsBesideStoppedDaemon(t *testing.T) {
	daemon, dir, _ := foreground(t, makeStore(t))
	pid := daemon.Process.Pid
	link := filepath.Join(t.TempDir(), "link")
	noError(t, "link", os.Symlink(dir, link))
	goOn := fmt.Sprintf("Continue it with `kill -CONT %d`", pid)
	for _, tc := range []struct {
		in, command string
		code        int
		text        string
	}{
		{"/", "umount " + dir + "/ocean", exitMount, "lies in the one at " + dir},
		{"/", "umount " + link + "/ocean", exitMount, "lies in the one at " + dir},
		{"/", "umount " + link, exitMount, goOn},
		{dir, "umount .", exitMount, goOn},
		{"/", "errors " + dir, exitMount, goOn},
		{dir, "status .", exitOK, "does not answer"},
	} {
		// The kernel forgets within a second what it was told of the folder.
		cmd := ourProgram(t, "-c", fmt.Sprintf("cd %s; kill -STOP %d; sleep 1.1; exec %s %s", tc.in,
			pid, os.Args[0], tc.command))
		cmd.Path, cmd.Env = "/bin/sh", append(cmd.Env, patience+"="+stoppedPatience)
		late := time.AfterFunc(umountMost, func() { syscall.Kill(pid, syscall.SIGCONT) })
		out, _ := cmd.CombinedOutput()
		if !late.Stop() {
			t.Errorf("zarrfs %s: hung", tc.command)
		}
		syscall.Kill(pid, syscall.SIGCONT)
		if code := cmd.ProcessState.ExitCode(); code != tc.code ||
			!strings.Contains(string(out), tc.text) {
			t.Errorf("zarrfs %s: exit code %d: %s", tc.command, code, out)
		}
	}
}
