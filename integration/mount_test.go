package integration

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// patience bounds every command of a test: a hanging mount must fail, not hang the run.
const patience = 5 * time.Minute

// built is the folder of the binary that buildOnce built, if it did.
var built string

var buildOnce = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("ZARRFS_BINARY"); path != "" {
		return filepath.Abs(path)
	}
	dir, err := os.MkdirTemp("", "zarrfs-bin-")
	if err != nil {
		return "", err
	}
	built = dir
	path := filepath.Join(dir, "zarrfs")
	args, cgo := []string{"build", "-o", path}, "CGO_ENABLED=0" // as make build has it
	if raceDetector {
		args, cgo = append(args, "-race"), "CGO_ENABLED=1"
	}
	cmd := exec.Command("go", append(args, "github.com/zarrfs/zarrfs/cmd/zarrfs")...)
	cmd.Env = append(os.Environ(), cgo)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

// TestMain removes the binary that the tests built. Under the race detector it fails if a daemon
// has met a race, which one in the background can tell nobody. And it lets no program wait a second
// at its exit, as the detector's default is.
func TestMain(m *testing.M) {
	if os.Getenv(filtered) != "" {
		panic(becomeFiltered())
	}
	if dir := os.Getenv(mapping); dir != "" {
		panic(writeThroughMapping(dir))
	}
	reports := raceReports{}
	if raceDetector {
		reports.begin()
	}
	state, err := os.MkdirTemp("", "zarrfs-state") // where mounts keep a log, if no other is asked for
	if err != nil {
		panic(err)
	}
	os.Setenv("XDG_STATE_HOME", state)
	watch(state)
	code := m.Run()
	races.printIfAsked()
	os.RemoveAll(state)
	if built != "" {
		os.RemoveAll(built)
	}
	if raceDetector && reports.end(os.Stderr) > 0 {
		code = 1
	}
	os.Exit(code)
}

// zarrfs returns the path of the binary under test: $ZARRFS_BINARY, or one built once for all
// tests.
func zarrfs(t *testing.T) string {
	t.Helper()
	if _, err := os.Stat("/dev/fuse"); err != nil {
		t.Skip("SKIPPED: no /dev/fuse on this machine: ", err)
	}
	path, err := buildOnce()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// mount mounts the store on a fresh directory until the test ends, and returns that directory.
func mount(t *testing.T, store string, flags ...string) string {
	t.Helper()
	bin, dir := zarrfs(t), t.TempDir()
	args := append(append([]string{"mount"}, flags...), store, dir)
	if out, err := command(bin, args...); err != nil {
		t.Fatalf("zarrfs mount %s: %v\n%s", store, err, out)
	}
	t.Cleanup(func() { unmount(t, bin, dir) })
	return dir
}

// unmount ends the mount, by force if the daemon does not.
func unmount(t *testing.T, bin, dir string) {
	err := tryUnmount(bin, dir)
	if err == nil {
		return
	}
	t.Error(err)
	if out, err := command("fusermount3", "-u", "-z", dir); err != nil {
		t.Logf("fusermount3 -u -z: %v\n%s", err, out)
	}
}

// tryUnmount ends the mount, or says why it cannot.
func tryUnmount(bin, dir string) error {
	out, err := command(bin, "umount", dir)
	if err != nil {
		err = fmt.Errorf("zarrfs umount: %w\n%s%s", err, out, whyGone())
	}
	return err
}

// limited prepares a program that is killed at the end of patience, or of the test.
func limited(t *testing.T, name string, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = time.Minute // for what it has started, and has its output
	return cmd
}

// command runs a program to its end and returns all that it printed.
func command(name string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = time.Minute // for what it has started, and has its output
	return cmd.CombinedOutput()
}
