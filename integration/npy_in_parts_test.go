package integration

import (
	"path/filepath"
	"strings"
	"testing"
)

// npyParts write $SRC/x.npy in parts, as two programs do. The first writes only the header.
var npyParts = []string{
	`cat $SRC/header > n.npy; cat $SRC/rows >> n.npy`,
	`cat $SRC/header > a.npy; cat $SRC/rows >> a.npy`,
	`cat $SRC/header > n.npy; ! head -c 30 $SRC/rows >> n.npy; tail -c +31 $SRC/rows >> n.npy`,
}

// TestNpyInPartsByPrograms: one program writes the header of a .npy, and another appends to the
// file. The rows go behind the header, and the array has all of the file.
func TestNpyInPartsByPrograms(t *testing.T) {
	for _, script := range npyParts {
		t.Run(script, func(t *testing.T) { checkNpyParts(t, script) })
	}
}

func checkNpyParts(t *testing.T, script string) {
	store, mnt, src := filepath.Join(t.TempDir(), "s.zarr"), t.TempDir(), t.TempDir()
	run(t, zarrfs(t), "create", store, "--group")
	run(t, zarrfs(t), "create", store, "a", "--shape", "5,3", "--dtype", "int16")
	run(t, zarrfs(t), "create", store, "x", "--shape", "5,2", "--dtype", "int32")
	run(t, zarrfs(t), "mount", store, mnt)
	t.Cleanup(func() { run(t, zarrfs(t), "umount", mnt) })
	t.Setenv("SRC", src)
	shell(t, mnt, `head -c 40 /dev/urandom > $SRC/rows
		head -c 128 x.npy > $SRC/header; rm x.*
		cat $SRC/header $SRC/rows > $SRC/x.npy`)
	const compare = "\nif [ -e n.npy ]; then cmp $SRC/x.npy n.npy; else cmp $SRC/x.npy a.npy; fi"
	cmd := limited(t, "sh", "-ec", script+compare)
	cmd.Dir = mnt
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestRsyncAfterAKilledCopy: a .npy whose copy was killed has its full size. So rsync takes it for
// whole where it compares sizes alone. The errors of the mount name the file. A copy completes it,
// and so does a program that appends the rest.
func TestRsyncAfterAKilledCopy(t *testing.T) {
	need(t, "rsync")
	store, mnt, src := filepath.Join(t.TempDir(), "s.zarr"), t.TempDir(), t.TempDir()
	run(t, zarrfs(t), "create", store, "--group")
	run(t, zarrfs(t), "create", store, "x", "--shape", "1000,2000", "--dtype", "uint8")
	run(t, zarrfs(t), "mount", store, mnt)
	t.Cleanup(func() { run(t, zarrfs(t), "umount", mnt) })
	t.Setenv("SRC", src)
	shell(t, mnt, `(head -c 128 x.npy; head -c 2000000 /dev/urandom) > $SRC/a.npy
		touch -d '1 hour ago' $SRC/a.npy; rm x.*; mkfifo $SRC/pipe`)
	for _, again := range []string{
		`cp $SRC/a.npy a.npy`, `rsync $SRC/a.npy a.npy`, `rsync --inplace $SRC/a.npy a.npy`,
		`touch -r a.npy $SRC/a.npy; rsync -c $SRC/a.npy a.npy`,
		`tail -c +1000001 $SRC/a.npy >> a.npy`,
	} {
		shell(t, mnt, `cat $SRC/pipe > a.npy & copy=$!
			exec 3> $SRC/pipe; head -c 1000000 $SRC/a.npy >&3
			until [ $(stat -c %s a.npy) = 1000000 ]; do sleep 0.1; done
			{ kill -9 $copy; exec 3>&-; wait $copy; } 2> /dev/null || true
			until [ $(stat -c %s a.npy) = 2000128 ]; do sleep 0.1; done
			for how in --append --append-verify --size-only; do
				rsync $how $SRC/a.npy a.npy
				cmp -n 1000000 $SRC/a.npy a.npy
			done
			tail -c 1000128 a.npy | cmp - /dev/zero -n 1000128`)
		if out := run(t, zarrfs(t), "errors", mnt); !strings.Contains(out, "copy it again") {
			t.Errorf("zarrfs errors prints %s", out)
		}
		shell(t, mnt, again+`; cmp $SRC/a.npy a.npy; rm a.*`)
	}
}
