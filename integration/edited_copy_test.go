package integration

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestEditedViewIsKept copies an array out of the mount, edits one of its files in the copy, and
// copies all of them back by one program. The edit is kept. Where an older file comes after it, the
// program fails, and the log says which file counts.
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
					if strings.Contains(log, " has other data than a.") != tc.fails {
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

// TestEditedStringsAreKept is TestEditedViewIsKept for an array whose elements have no fixed size.
func TestEditedStringsAreKept(t *testing.T) {
	const tar = `tar -c -C b s.json s.jsonl s.npy | tar -x -C m`
	const words = `"one" "two" "three" "four"`
	formats(t, func(t *testing.T, format string) {
		for _, tc := range []struct {
			name, elements, edit, restore string
			fails                         bool
			want                          string
		}{
			{"cp", words, "jsonl", `cp b/s.json b/s.jsonl b/s.npy m/`, true, ""},
			{"cp, npy edited", words, "npy", `cp b/s.json b/s.jsonl b/s.npy m/`, false, ""},
			{"cp, npy first", words, "npy", `cp b/s.npy b/s.jsonl b/s.json m/`, true, ""},
			{"cp, npy first, jsonl edited", words, "jsonl", `cp b/s.npy b/s.jsonl m/`, false, ""},
			{"cp, none edited", words, "", `cp b/s.json b/s.jsonl b/s.npy m/`, false, words},
			{"cp to a new array", words, "jsonl", `rm m/s.*; cp b/s.* m/`, true, ""},
			{"cp, more rows", words, "rows", `cp b/s.npy b/s.jsonl m/`, true, words + ` "one"`},
			{"cp to an empty array", "", "one", `cp b/s.npy b/s.jsonl m/`, true, `"x"`},
			{"cp of no rows", words, "none", `cp b/s.jsonl b/s.npy m/`, true, ""},
			{"cp of wide text", words, "wide", `cp b/s.jsonl b/s.npy m/`, true,
				`"` + strings.Repeat("x", 1<<17) + `"`},
			{"mv", words, "jsonl", `mv b/s.json b/s.jsonl b/s.npy m/`, true, ""},
			{"mv, npy edited", words, "npy", `mv b/s.json b/s.jsonl b/s.npy m/`, false, ""},
			{"tar", words, "jsonl", tar, true, ""},
			{"tar, npy edited", words, "npy", tar, false, ""},
			{"tar, none edited", words, "", tar, false, words},
			{"rsync", words, "jsonl", `rsync -rI b/ m/`, true, ""},
			{"rsync, npy edited", words, "npy", `rsync -rI b/ m/`, false, ""},
			{"rsync, none edited", words, "", `rsync -rI b/ m/`, false, words},
			{"cp twice", words, "jsonl", `cp b/s.jsonl m/; cp m/s.* b/; cp b/s.* m/`, false, ""},
		} {
			t.Run(tc.name, func(t *testing.T) {
				dir := stringsCopiedOut(t, format, tc.elements)
				inPython(t, filepath.Join(dir, "b"), stringEdits[tc.edit])
				cmd := exec.Command("sh", "-c", tc.restore)
				cmd.Dir = dir
				if out, err := cmd.CombinedOutput(); (err != nil) != tc.fails {
					t.Errorf("%s: %v\n%s", tc.restore, err, out)
				}
				want := tc.want
				if want == "" && tc.edit != "none" {
					want = `"one" "TWO" "three" "four"`
				}
				found := string(read(t, filepath.Join(dir, "m/s.jsonl")))
				if got := strings.Join(strings.Fields(found), " "); got != want {
					t.Errorf("found %.100s, expected %.100s", got, want)
				}
				log := run(t, zarrfs(t), "errors", filepath.Join(dir, "m"))
				if strings.Contains(log, " has other data than s.") != tc.fails {
					t.Errorf("zarrfs errors: %.1000s", log)
				}
			})
		}
	})
}

// stringEdits are Python scripts that edit a file of the copy.
var stringEdits = map[string]string{
	"":      ``,
	"jsonl": `t = open("s.jsonl").read(); open("s.jsonl", "w").write(t.replace("two", "TWO"))`,
	"npy":   `v = np.load("s.npy"); v[1] = "TWO"; np.save("s.npy", v)`,
	"rows":  `v = np.load("s.npy"); np.save("s.npy", np.append(v, v[:1]))`,
	"one":   `np.save("s.npy", np.array(["x"]))`,
	"none":  `open("s.jsonl", "w")`,
	"wide":  `open("s.jsonl", "w").write('"' + "x" * (1 << 17) + '"\n')`,
}

// stringsCopiedOut mounts a store with an array of strings on m, and copies it to b.
func stringsCopiedOut(t *testing.T, format, elements string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	inPython(t, dir, `import zarr
v = [`+strings.ReplaceAll(elements, " ", ",")+`]
g = zarr.open_group("s", mode="w", zarr_format=`+format+`)
g.create_array("s", shape=(len(v),), chunks=(2,), dtype=str)[:] = np.array(v, object)`)
	mnt := mount(t, filepath.Join(dir, "s"))
	shell(t, dir, "ln -s "+mnt+" m; mkdir b; cp m/s.* b/")
	return dir
}
