package integration

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestEditedViewIsKept copies an array out of the mount, edits one of its files in the copy, and
// copies all of them back by one program. The edit is there. Where an older file comes after it,
// the program fails, and the log says which file counts.
func TestEditedViewIsKept(t *testing.T) {
	const tar = `tar -c -C b a.json a.npy a.raw | tar -x -C m`
	formats(t, func(t *testing.T, format string) {
		for _, tc := range []struct {
			name, edited, restore string
			fails                 bool
		}{
			{"cp", "npy", `cp b/a.json b/a.npy b/a.raw m/`, true},
			{"cp, raw edited", "raw", `cp b/a.json b/a.npy b/a.raw m/`, false},
			{"cp, raw first", "raw", `cp b/a.raw b/a.npy m/`, true},
			{"cp, none edited", "", `cp b/a.json b/a.npy b/a.raw m/`, false},
			{"cp --sparse", "npy", `cp --sparse=always b/a.npy b/a.raw m/`, true},
			{"cp --sparse, none edited", "", `cp --sparse=always b/a.npy b/a.raw m/`, false},
			{"cp to a new array", "npy", `rm m/a.*; cp b/a.json b/a.npy b/a.raw m/`, true},
			{"cp without a document", "npy", `rm m/a.*; cp b/a.npy b/a.raw m/`, true},
			{"cp twice", "npy", `cp b/a.npy m/; cp -r m/. b/; cp b/a.* m/`, false},
			{"mv", "npy", `mv b/a.json b/a.npy b/a.raw m/`, true},
			{"mv, raw edited", "raw", `mv b/a.json b/a.npy b/a.raw m/`, false},
			{"tar", "npy", tar, true},
			{"tar, raw edited", "raw", tar, false},
			{"tar, none edited", "", tar, false},
			{"rsync", "npy", `rsync -rI b/ m/`, true},
			{"rsync, raw edited", "raw", `rsync -rI b/ m/`, false},
			{"rsync, none edited", "", `rsync -rI b/ m/`, false},
			{"rows", "rows", `cp b/a.json b/a.npy b/a.raw m/`, true},
		} {
			for _, order := range []string{"C", "F"} {
				t.Run(tc.name+" "+order, func(t *testing.T) {
					dir := copiedOut(t, format, order)
					inPython(t, filepath.Join(dir, "b"), edits[tc.edited])
					cmd := exec.Command("sh", "-c", tc.restore)
					cmd.Dir = dir
					if out, err := cmd.CombinedOutput(); (err != nil) != tc.fails {
						t.Errorf("%s: %v\n%s", tc.restore, err, out)
					}
					inPython(t, filepath.Join(dir, "m"), `v = np.load("a.npy")
want = np.arange(12.).reshape(4, 3)`+wanted[tc.edited]+`
assert np.array_equal(v, want), v
assert open("a.raw", "rb").read() == want.tobytes()`)
					log := run(t, zarrfs(t), "errors", filepath.Join(dir, "m"))
					if strings.Contains(log, " differs from a.") != tc.fails {
						t.Errorf("zarrfs errors: %s", log)
					}
				})
			}
		}
	})
}

// edits are Python scripts that edit a file of the copy.
var edits = map[string]string{
	"":     ``,
	"npy":  `v = np.load("a.npy"); v[1] += 100; np.save("a.npy", v)`,
	"raw":  `v = np.fromfile("a.raw"); v[3:6] += 100; v.tofile("a.raw")`,
	"rows": `v = np.load("a.npy"); np.save("a.npy", np.append(v, v[:1] + 7, axis=0))`,
}

// wanted are what the edits make of an array.
var wanted = map[string]string{
	"":     ``,
	"npy":  `; want[1] += 100`,
	"raw":  `; want[1] += 100`,
	"rows": `; want = np.append(want, want[:1] + 7, axis=0)`,
}

// copiedOut mounts a store with an array on m, and copies it to b.
func copiedOut(t *testing.T, format, order string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	run(t, zarrfs(t), "create", filepath.Join(dir, "s"), "--group", "--format", format)
	mnt := mount(t, filepath.Join(dir, "s"))
	shell(t, dir, "ln -s "+mnt+" m; mkdir b")
	inPython(t, mnt, `np.save("a.npy", np.array(np.arange(12.).reshape(4, 3), order="`+order+`"))`)
	shell(t, dir, "cp m/a.* b/")
	return dir
}
