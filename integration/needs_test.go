package integration

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// need skips a test aloud where a program is missing, because not every machine has it.
func need(t *testing.T, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("SKIPPED: ", err)
		}
	}
}

// count is a number that the environment may set, for the long mode of a test.
func count(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

// numberOf is count for a seed, or for a number that must not be mistyped: other texts are errors.
func numberOf(t *testing.T, variable string, usual uint64) uint64 {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return usual
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// run runs a program that must succeed.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := command(name, args...)
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// tmpfs mounts a file system of that size in memory until the test ends.
func tmpfs(t *testing.T, size string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "disk")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		cannot(t, "tmpfs cannot be mounted here: "+err.Error())
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

// overlay mounts an overlay file system over the folder lower, as containers do, until the test
// ends.
func overlay(t *testing.T, lower string) (dir string) {
	t.Helper()
	disk := tmpfs(t, "64m")
	upper, work := filepath.Join(disk, "upper"), filepath.Join(disk, "work")
	for _, name := range []string{"upper", "work", "merged"} {
		if err := os.Mkdir(filepath.Join(disk, name), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	options := "lowerdir=" + lower + ",upperdir=" + upper + ",workdir=" + work
	dir = filepath.Join(disk, "merged")
	if err := unix.Mount("overlay", dir, "overlay", 0, options); err != nil {
		cannot(t, "an overlay cannot be mounted here: "+err.Error())
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

// loopDisk is an ext4 file system in a file.
type loopDisk struct{ image, dir string }

// newLoopDisk makes one, which is mounted until the test ends.
func newLoopDisk(t *testing.T, size int64) *loopDisk {
	t.Helper()
	base := t.TempDir()
	l := &loopDisk{filepath.Join(base, "image"), filepath.Join(base, "disk")}
	f, err := os.Create(l.image)
	if err == nil {
		err = f.Truncate(size)
		f.Close()
	}
	if err == nil {
		err = os.Mkdir(l.dir, 0o777)
	}
	if err != nil {
		t.Fatal(err)
	}
	run(t, "mkfs.ext4", "-q", "-F", l.image)
	if out, err := l.mount(); err != nil {
		cannot(t, fmt.Sprintf("a loop device cannot be mounted here: %v\n%s", err, out))
	}
	t.Cleanup(func() { command("umount", l.dir) })
	return l
}

func (l *loopDisk) mount() ([]byte, error) { return command("mount", "-o", "loop", l.image, l.dir) }

// unmount waits until the file system has ended. Programs with mounts of their own, which other
// tests start, may hold a copy of this one for a while. Mounted again before that, it would be the
// same file system, and a cut of the power would last.
func (l *loopDisk) unmount() ([]byte, error) {
	out, err := command("umount", l.dir)
	for end := time.Now().Add(time.Minute); err == nil; time.Sleep(10 * time.Millisecond) {
		out, err = command("losetup", "-j", l.image)
		if len(out) == 0 {
			return nil, err
		}
		if time.Now().After(end) {
			return out, errors.New("the disk is still mounted elsewhere")
		}
	}
	return out, err
}

// cutPower stops the file system as a power cut does: what it has not written is lost.
func (l *loopDisk) cutPower() error {
	const shutdown, noLogFlush = 0x8004587d, 2 // EXT4_IOC_SHUTDOWN
	f, err := os.Open(l.dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.IoctlSetPointerInt(int(f.Fd()), shutdown, noLogFlush)
}
