package attach

import (
	"errors"
	"os"
	"strings"
	"testing"

	gofuse "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// options are those of a mount of a store with a strange name.
func options(source string) fuse.MountOptions {
	return fuse.MountOptions{Name: "zarrfs", FsName: source,
		Options: []string{"default_permissions"}}
}

// TestAttach: mount(2) and fusermount3 make the same mount, whatever the store is called.
func TestAttach(t *testing.T) {
	const source = `/data/a,b\c d`
	o := options(source)
	for name, options := range map[string]*fuse.MountOptions{"mount": direct(o, true),
		"fusermount3": indirect(o, true)} {
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
			if !strings.Contains(string(mounts), want) ||
				!strings.Contains(string(mounts), "default_permissions") {
				t.Errorf("expected %s, and default_permissions, in\n%s", want, mounts)
			}
			// It tries five times: another program may look at the mount.
			if err := server.Unmount(); err != nil {
				t.Fatal(err)
			}
			server.Wait()
		})
	}
}
