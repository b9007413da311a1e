package fs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gofuse "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// TestAttach: mount(2) and fusermount3 make the same mount, whatever the store is called.
func TestAttach(t *testing.T) {
	const source = `/data/a,b\c d`
	f := testFilesystem(t, testObjects())
	f.o.Source, f.o.ReadOnly = source, true
	for name, options := range map[string]*fuse.MountOptions{"mount": f.directOptions(), "fusermount3": f.helperOptions()} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if _, err := FusermountPath(); err != nil && !options.DirectMountStrict {
				t.Skip(err)
			}
			server, err := fuse.NewServer(gofuse.NewNodeFS(&gofuse.Inode{}, nil), dir, options)
			if errors.Is(err, os.ErrPermission) || errors.Is(err, os.ErrNotExist) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Unmount(dir, unix.MNT_DETACH)
			go server.Serve()
			if err := server.WaitMount(); err != nil {
				t.Error(err)
			}
			mounts, err := os.ReadFile("/proc/self/mounts")
			if err != nil {
				t.Fatal(err)
			}
			want := `/data/a,b\134c\040d ` + dir + " fuse.zarrfs ro,nosuid,nodev,relatime,user_id="
			if !strings.Contains(string(mounts), want) || !strings.Contains(string(mounts), "default_permissions") {
				t.Errorf("expected %s, and default_permissions, in\n%s", want, mounts)
			}
			if err := unix.Unmount(dir, 0); err != nil {
				t.Fatal(err)
			}
			server.Wait()
		})
	}
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	file.Close()
	if _, err := New(f.h, file.Name()+"/x", nil); !errors.Is(err, unix.ENOTDIR) {
		t.Errorf("a folder that cannot be there: %v", err)
	}
}

// TestRelativeMountpoint: a mount at a relative path ends by it too when the program has gone to another folder. Without the name of a
// store it shows that of the program.
func TestRelativeMountpoint(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(filepath.Dir(dir))
	m, err := New(testFilesystem(t, testObjects()).h, filepath.Base(dir), nil)
	if errors.Is(err, os.ErrPermission) || errors.Is(err, os.ErrNotExist) || errors.Is(err, ErrNoFusermount) {
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
	if err := m.Unmount(); err != nil {
		t.Fatal(err)
	}
	if err := m.Wait(); err != nil {
		t.Error(err)
	}
}
