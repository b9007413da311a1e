package fs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/fs/attach"
)

// TestNoMountpoint: a folder that cannot be there is named.
func TestNoMountpoint(t *testing.T) {
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	file.Close()
	if _, err := New(testFilesystem(t, testObjects()).h, file.Name()+"/x", nil); !errors.Is(err,
		unix.ENOTDIR) {
		t.Errorf("a folder that cannot be there: %v", err)
	}
}

// TestRelativeMountpoint: a mount at a relative path ends by it too when the program has gone to
// another folder. Without the name of a store it shows that of the program.
func TestRelativeMountpoint(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(filepath.Dir(dir))
	m, err := New(testFilesystem(t, testObjects()).h, filepath.Base(dir), nil)
	if errors.Is(err, os.ErrPermission) || errors.Is(err, os.ErrNotExist) ||
		errors.Is(err, attach.ErrNoFusermount) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil || !strings.Contains(string(mounts), "zarrfs "+dir+" fuse.zarrfs ") {
		t.Errorf("no mount of zarrfs at %s in\n%s (%v)", dir, mounts, err)
	}
	t.Chdir("/")
	if err := unmounted(m); err != nil {
		t.Fatal(err)
	}
	if err := m.Wait(); err != nil {
		t.Error(err)
	}
}
