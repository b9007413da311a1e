package attach

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	gofuse "github.com/hanwen/go-fuse/v2/fs"
	"golang.org/x/sys/unix"
)

// fakeHelper is set where the test binary stands for fusermount3: to the real one.
const fakeHelper = "ZARRFS_TEST_FUSERMOUNT"

// TestDeadMountGoes: fusermount3 mounts, and the kernel's first request cannot be read. Mounting
// fails, and the dead mount does not stay behind.
func TestDeadMountGoes(t *testing.T) {
	if helper := os.Getenv(fakeHelper); helper != "" {
		mountDead(t, helper)
		return
	}
	helper, err := FusermountPath()
	if err != nil {
		t.Skip("SKIPPED: ", err)
	}
	bin, dir := t.TempDir(), t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\n[ \"$1\" != -u ] || exec %[1]s \"$@\"\n"+
		"%[2]s=%[1]s exec %[3]s -test.run='^TestDeadMountGoes$' -- \"$@\"\n", helper, fakeHelper,
		os.Args[0])
	if err := os.WriteFile(filepath.Join(bin, "fusermount3"), []byte(script), 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	defer unix.Unmount(dir, unix.MNT_DETACH)
	if _, err := byHelper(dir, gofuse.NewNodeFS(&gofuse.Inode{}, nil), options("dead"),
		false); err == nil {
		t.Fatal("a mount whose first request cannot be read succeeds")
	} else if !strings.Contains(err.Error(), "init") {
		t.Skip("SKIPPED: nothing can be mounted here: ", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "x"), nil, 0o666); err != nil {
		t.Errorf("the folder is not free: %v", err)
	}
}

// mountDead has the real helper mount, and hands over another file than the kernel's end of the
// mount, which ends with this process.
func mountDead(t *testing.T, helper string) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, args, _ := strings.Cut(strings.Join(os.Args, "\x00"), "\x00--\x00")
	cmd := exec.Command(helper, strings.Split(args, "\x00")...)
	cmd.Env = append(os.Environ(), "_FUSE_COMMFD=3")
	cmd.ExtraFiles = []*os.File{os.NewFile(uintptr(pair[1]), "helper's end")}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	comm, err := strconv.Atoi(os.Getenv("_FUSE_COMMFD"))
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Sendmsg(comm, []byte{0}, unix.UnixRights(int(null.Fd())), nil, 0); err != nil {
		t.Fatal(err)
	}
}
