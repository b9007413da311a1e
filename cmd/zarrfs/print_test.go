package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestErrorsOnLines: an error has a line for each error that is joined in it. No text of a store
// begins one.
func TestErrorsOnLines(t *testing.T) {
	hostile := errors.New("member \"x\nzarrfs: all is well\"")
	for _, tc := range []struct {
		err  error
		want string
	}{
		{hostile, `member "x\nzarrfs: all is well"`},
		{storeErr(fmt.Errorf("a:\n%w", hostile)), `a:\nmember "x\nzarrfs: all is well"`},
		{storeErr(fmt.Errorf("s: %w", errors.Join(errors.New("nothing was changed:"), hostile))),
			"s: nothing was changed:\n" + `member "x\nzarrfs: all is well"`},
		{errors.Join(errors.Join(errors.New("a"), hostile), errors.New("b")),
			"a\n" + `member "x\nzarrfs: all is well"` + "\nb"},
		{mountErr(inLines("stays mounted\n  \"file\"")), "stays mounted\n  \"file\""},
	} {
		if got := onLines(tc.err); got != tc.want {
			t.Errorf("%q, expected %q", got, tc.want)
		}
	}
}

// TestFolderThatForgesLines: the name of a mount's folder begins no line of what umount says. That
// holds where the command line does not have it, and the mount is gone by then. It also holds for
// the name of a store that is gone.
func TestFolderThatForgesLines(t *testing.T) {
	needFuse(t)
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: --all without the mounts of others, which root can have")
	}
	const forged = "zarrfs: all is stored"
	work := t.TempDir()
	makeScripts(t, work)
	for _, name := range []string{"m", "s.zarr"} {
		noError(t, "mkdir", os.Mkdir(filepath.Join(work, name+"\n"+forged), 0o755))
	}
	noError(t, "link", os.Symlink("m\n"+forged, filepath.Join(work, "link")))
	t.Setenv("forged", "\n"+forged)
	const begin = `machine '
		awk "/fuse.zarrfs/ { print \$2 }" /proc/mounts | xargs -r umount -l
		rm -rf "s.zarr$forged"; zarrfs create "s.zarr$forged" a --shape 64 --dtype u1
		zarrfs mount "s.zarr$forged" "m$forged"; cd "m$forged"; `
	const kill = `kill -9 $(server .); sleep 0.3; `
	for _, tc := range []struct{ script, says string }{
		{kill + "cd ..; zarrfs umount --all", "ended before it could say"},
		{kill + "zarrfs umount .", "ended before it could say"},
		{kill + "cd ..; zarrfs umount link", "ended before it could say"},
		{`exec 3<> a.raw; cd ..; rm -r "s.zarr$forged"; printf x >&3; zarrfs umount link
			exec 3>&-; zarrfs umount --force link`, "was removed, so what was written"},
	} {
		out := shell(t, work, begin+tc.script+"'")
		if !strings.Contains(out, tc.says) {
			t.Errorf("%s: expected %q, found\n%s", tc.script, tc.says, out)
		}
		for line := range strings.Lines(out) {
			if strings.HasPrefix(line, forged) {
				t.Errorf("%s: a forged line:\n%s", tc.script, out)
				break
			}
		}
	}
}
