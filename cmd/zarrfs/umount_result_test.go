package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestRescuedNoFile: the scratch folder takes no file at all, not even an empty one. umount --force
// still says what is lost. It has that from the program that served the mount.
func TestRescuedNoFile(t *testing.T) {
	scratch := smallDisk(t)
	dir, _ := unstoredMount(t, smallDisk(t), scratch)
	noError(t, "few files", unix.Mount("tmpfs", scratch, "tmpfs", unix.MS_REMOUNT, "nr_inodes=60"))
	var err error
	for i := 0; err == nil && i < 100; i++ {
		err = os.WriteFile(filepath.Join(scratch, fmt.Sprint(i)), nil, 0o600)
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("files can be created in the folder: %v", err)
	}
	code, out := zarrfs(t, "umount", "--force", dir)
	if code != exitMount || !strings.Contains(out, "the rest is lost") {
		t.Errorf("umount --force: exit code %d: %s", code, out)
	}
}

// TestVerdict: umount has it from the program that serves a mount, after that has ended. It fails
// if that was killed, or does not say.
func TestVerdict(t *testing.T) {
	full := errors.New("no space left on device")
	for _, tc := range []struct {
		name     string
		says     *verdict // nil: nothing
		unstored error
		want     string // in the error; empty: there is none
	}{
		{"all stored", &verdict{Stored: true}, nil, ""},
		{"stored at last", &verdict{Stored: true}, full, ""},
		{"kept", &verdict{Kept: []string{"/s/x.unsaved"}}, full, `zarrfs restore "/s/x.unsaved"`},
		{"lost", &verdict{Lost: "rescue a"}, full, "the rest is lost: rescue a"},
		{"failed at the end", &verdict{Why: "disk removed"}, nil, "unmounted, but disk removed"},
		{"killed", nil, nil, "ended before it could say"},
		{"killed with unstored bytes", nil, full, "no space left on device, and the program"},
	} {
		file := newVerdict()
		u := &unmounting{verdict: verdictFile(os.Getpid()), named: 77}
		if u.verdict == nil {
			t.Fatal("the file is not found")
		}
		if tc.says != nil {
			verdict{Why: strings.Repeat("an earlier one, which is longer", 10)}.say(file)
			tc.says.say(file)
		}
		err := u.howEnded(tc.unstored)
		if (err == nil) != (tc.want == "") || err != nil &&
			!strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: found %v, expected %q", tc.name, err, tc.want)
		}
		u.verdict.Close()
		file.Close()
	}
	gone := filepath.Join(t.TempDir(), "restored")
	if sayKept([]string{gone}) || !sayKept([]string{os.Args[0]}) {
		t.Error("sayKept reports whether any of the files exists")
	}
	err := (&unmounting{named: 77}).howEnded(full) // of a program that this user may not look into
	if codeOf(err) != exitMount || !strings.Contains(err.Error(), "zarrfs-unsaved-77-*") {
		t.Errorf("without a file: %v", err)
	}
}

// TestVerdictIsNotAProgram: the file in memory can never be made executable, which a kernel may
// demand of all such files by vm.memfd_noexec. Kernels before Linux 6.3 do not know it.
func TestVerdictIsNotAProgram(t *testing.T) {
	file := newVerdict()
	if file == nil {
		t.Fatal("no file")
	}
	defer file.Close()
	seals, err := unix.FcntlInt(file.Fd(), unix.F_GET_SEALS, 0)
	noError(t, "seals", err)
	other, err := unix.MemfdCreate("test", unix.MFD_CLOEXEC|unix.MFD_NOEXEC_SEAL)
	if known := err == nil; known != (seals&unix.F_SEAL_EXEC != 0) {
		t.Errorf("the kernel knows of the seal: %v (%v), the file has the seals %x", known, err,
			seals)
	}
	unix.Close(other)
	verdict{Stored: true}.say(file)
	if v, said := readVerdict(file); !said || !v.Stored {
		t.Errorf("it says %+v, %v", v, said)
	}
}
