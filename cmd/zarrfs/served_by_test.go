package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	gofuse "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// forgedRoot is the root of a mount that is made to look like one of ours, and never ends a sync.
type forgedRoot struct {
	gofuse.Inode
	status []byte
	end    chan struct{}
}

var (
	_ = (gofuse.NodeOnAdder)((*forgedRoot)(nil))
	_ = (gofuse.NodeFsyncer)((*forgedRoot)(nil))
)

// OnAdd makes .zarrfs/status.json.
func (r *forgedRoot) OnAdd(ctx context.Context) {
	folder := r.NewPersistentInode(ctx, &gofuse.Inode{}, gofuse.StableAttr{Mode: syscall.S_IFDIR})
	r.AddChild(".zarrfs", folder, false)
	file := &gofuse.MemRegularFile{Data: r.status, Attr: fuse.Attr{Mode: 0o444}}
	folder.AddChild("status.json", r.NewPersistentInode(ctx, file, gofuse.StableAttr{}), false)
}

// Fsync waits for the end of the test.
func (r *forgedRoot) Fsync(context.Context, gofuse.FileHandle, uint32) syscall.Errno {
	<-r.end
	return 0
}

// forge mounts such a root for a user, with a state that names a process.
func forge(t *testing.T, owner, pid int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	device, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	noError(t, "open /dev/fuse", err)
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=%d,group_id=%d,allow_other", device, owner,
		owner)
	noError(t, "mount", unix.Mount("forged", dir, ourKind, 0, options))
	root := &forgedRoot{status: fmt.Appendf(nil, `{"pid": %d}`, pid), end: make(chan struct{})}
	server, err := fuse.NewServer(gofuse.NewNodeFS(root, &gofuse.Options{}),
		fmt.Sprintf("/dev/fd/%d", device), &fuse.MountOptions{})
	noError(t, "serve", err)
	go server.Serve()
	t.Cleanup(func() {
		close(root.end)
		unix.Unmount(dir, unix.MNT_DETACH)
		server.Wait()
	})
	return dir
}

// TestForgedMountAimsAtNobody: a user may serve a mount that names another process, but cannot
// have root end it by umount.
func TestForgedMountAimsAtNobody(t *testing.T) {
	needFuse(t)
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: forged mounts: only root can be misled by them")
	}
	const user = 65534
	for _, tc := range []struct {
		owner, victim int
		what          string
	}{{user, 0, "a process of root"}, {user, user, "a process of the same user"},
		{0, 0, "a process of root, by root"}} {
		victim := exec.Command("sleep", "600")
		victim.SysProcAttr =
			&syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(tc.victim),
				Gid: uint32(tc.victim)}}
		noError(t, "start", victim.Start())
		dir := forge(t, tc.owner, victim.Process.Pid)
		code, out := zarrfs(t, "umount", "--force", "--timeout", "1s", dir)
		if code != exitMount || !strings.Contains(out, "sent no signal") {
			t.Errorf("%s: exit code %d: %s", tc.what, code, out)
		}
		if _, mounted := mountAt(dir); mounted {
			t.Errorf("%s: the mount is still there", tc.what)
		}
		if syscall.Kill(victim.Process.Pid, 0) != nil || !sleeps(victim.Process.Pid) {
			t.Errorf("%s was ended", tc.what)
		}
		victim.Process.Kill()
		victim.Wait()
	}
}

// sleeps reports whether a process is neither ended nor about to be.
func sleeps(pid int) bool {
	state, _ := os.ReadFile(filepath.Join("/proc", fmt.Sprint(pid), "stat"))
	_, after, _ := strings.Cut(string(state), ") ")
	return strings.HasPrefix(after, "S")
}

// TestIsServedBy: of our own mounts, the process that their state names serves them, and no other
// does.
func TestIsServedBy(t *testing.T) {
	first, second := mounted(t, writableStore(t)), mounted(t, writableStore(t))
	for _, tc := range []struct {
		dir  string
		pid  int
		want bool
	}{{first, servingPid(first), true}, {second, servingPid(second), true},
		{first, os.Getpid(), false}, {first, 1, false}, {first, 0, false}} {
		m, err := ourMountAt(tc.dir)
		noError(t, "find the mount", err)
		if got := m.isServedBy(tc.pid); got != tc.want {
			t.Errorf("process %d: %t, want %t", tc.pid, got, tc.want)
		}
	}
	m, _ := ourMountAt(first)
	if other := servingPid(second); m.isServedBy(other) && showsConnections(other) {
		t.Errorf("process %d, which serves %s, is said to serve %s", other, second, first)
	}
}

// showsConnections reports whether the kernel says which mount a device belongs to.
func showsConnections(pid int) bool {
	return slices.ContainsFunc(connectionsOf(pid), func(connection string) bool {
		return connection != ""
	})
}
