package mounttest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

var program = Built()

// TestWatchIsNamed: where a test fails because the time was up, its failure says so. Otherwise it
// looks as if the daemon had ended for no reason.
func TestWatchIsNamed(t *testing.T) {
	NeedFuse(t)
	state, dir := t.TempDir(), t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	store := filepath.Join(t.TempDir(), "s.zarr")
	for _, args := range [][]string{{"create", store, "--group"}, {"mount", store, dir}} {
		if code, out := program.Run(t, args...); code != 0 {
			t.Fatalf("zarrfs %s: exit code %d\n%s", args, code, out)
		}
	}
	defer timeIsUp.Store(false)
	if timeIsUp.Load() {
		t.Fatal("the time is up already")
	}
	endDaemons(state)
	err := program.tryUnmount(t, dir)
	if err == nil || !strings.Contains(err.Error(), "ended before it could say") ||
		!strings.Contains(err.Error(), "-timeout is nearly up") {
		t.Errorf("umount after the end of the daemon: %v", err)
	}
}

// TestMounted: a folder is mounted at until its mount ends, also while the daemon is stopped.
func TestMounted(t *testing.T) {
	store := filepath.Join(t.TempDir(), "s.zarr")
	if code, out := program.Run(t, "create", store, "--group"); code != 0 {
		t.Fatalf("zarrfs create: exit code %d\n%s", code, out)
	}
	dir := program.Mount(t, store)
	if !IsMounted(dir) {
		t.Error("a mount is not seen")
	}
	daemon := daemons(os.Getenv("XDG_STATE_HOME"))[0]
	stop := syscall.Kill(daemon, syscall.SIGSTOP)
	seen := IsMounted(dir)
	if err := errors.Join(stop, syscall.Kill(daemon, syscall.SIGCONT)); err != nil || !seen {
		t.Errorf("a mount is seen while its daemon is stopped: %t, %v", seen, err)
	}
	if IsMounted(filepath.Join(dir, ".zarrfs")) || IsMounted(filepath.Join(dir, "nothing")) {
		t.Error("what is in a mount counts as one")
	}
	program.Unmount(t, dir)
	if IsMounted(dir) {
		t.Error("a mount is seen that has ended")
	}
}
