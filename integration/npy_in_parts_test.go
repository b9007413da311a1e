package integration

import (
	"path/filepath"
	"testing"
)

// npyParts write $SRC/x.npy in parts, as two programs do. The first writes the header alone.
var npyParts = []string{
	`cat $SRC/header > n.npy; cat $SRC/rows >> n.npy`,
	`cat $SRC/header > a.npy; cat $SRC/rows >> a.npy`,
	`cat $SRC/header > n.npy; ! head -c 30 $SRC/rows >> n.npy; tail -c +31 $SRC/rows >> n.npy`,
}

// TestNpyInPartsByPrograms: programs that append to a .npy whose header was written go on behind
// the header, and the array has all of the file.
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
