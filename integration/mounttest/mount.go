package mounttest

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

// Mount mounts a store on a fresh folder, and returns that folder. The mount ends with the test, if
// the test has not unmounted it by then.
func (p *Program) Mount(t *testing.T, store string, flags ...string) (dir string) {
	t.Helper()
	NeedFuse(t)
	dir = t.TempDir()
	t.Cleanup(func() {
		if IsMounted(dir) {
			p.Unmount(t, dir)
		}
	})
	args := append(append([]string{"mount"}, flags...), store, dir)
	if code, out := p.Run(t, args...); code != 0 {
		t.Fatalf("zarrfs mount %s: exit code %d\n%s", store, code, out)
	}
	return dir
}

// Unmount ends a mount, by force if its daemon does not. The test fails if `zarrfs umount` does.
func (p *Program) Unmount(t *testing.T, dir string) {
	t.Helper()
	err := p.tryUnmount(t, dir)
	if err == nil {
		return
	}
	t.Error(err)
	if !IsMounted(dir) {
		return
	}
	if out, err := Output("fusermount3", "-u", "-z", dir); err != nil {
		t.Logf("fusermount3 -u -z: %v\n%s", err, out)
	}
}

// tryUnmount ends a mount, or says why it cannot.
func (p *Program) tryUnmount(t *testing.T, dir string) error {
	t.Helper()
	if code, out := p.Run(t, "umount", dir); code != 0 {
		return fmt.Errorf("zarrfs umount: exit code %d\n%s%s", code, out, whyGone())
	}
	return nil
}

// IsMounted reports whether something is mounted at a folder. It does not wait for the daemon,
// which may hang.
func IsMounted(dir string) bool {
	var s unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, dir, unix.AT_STATX_DONT_SYNC, 0, &s)
	return err == nil && s.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0
}
