package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCopyOntoItselfBetweenMounts copies and moves arrays of a store from one mount to another in
// which they are the same arrays. To the kernel the mounts are two devices, so a program that moves
// would remove what it has just copied onto itself.
func TestCopyOntoItselfBetweenMounts(t *testing.T) {
	for _, format := range []string{"2", "3"} {
		for _, tc := range []struct{ flags, group, script string }{
			{"", "", "mv m/b.* m2/"},
			{"", "", "mv -t m2 m/b.npy m/b.raw m/b.json"},
			{"", "", "cp m/b.npy m2/"},
			{"", "", "cp -r m/g m2/"},
			{"", "", "rsync -a --remove-source-files m/g/ m2/g/ --exclude none"},
			{"", "", "dd if=m/b.npy of=m2/b.npy bs=64"},
			{"", "", "mv m/g/c.* m2/g/"},
			{"", "", "rsync -a --remove-source-files m/g/ m2/g/"},
			{"", "", "rsync -a --remove-source-files m/g m2/"},
			{"", "", "rsync -aI m/g/ m2/g/"},
			{"", "", "cd m/g && rsync -a --remove-source-files . ../../m2/g/"},
			{"", "", "cd m2/g && rsync -a --remove-source-files ../../m/g/ ."},
			{"", "/g", "mv m/g/c.* m2/"},
			{"", "/g", "rsync -a --remove-source-files m/g/ m2"},
			{"", "/g/c", "mv m/g/c.* m2/"},
			{"--views=npy", "", "mv m/b.npy m2/"},
			{"--views=npy", "", "mv m/b.npy m2/b.npy"},
			{"--views=npy", "", "cd m2 && mv ../m/b.npy ."},
			{"--views=npy", "", "install m/b.npy m2/b.npy"},
			{"--views=npy", "/g", "cp -r --remove-destination m/g/. m2"},
		} {
			name := fmt.Sprintf("format %s %s%s %s", format, tc.flags, tc.group, tc.script)
			t.Run(name, func(t *testing.T) {
				dir, before := twoMounts(t, format, tc.flags, tc.group)
				cmd := limited(t, "sh", "-c", tc.script)
				cmd.Dir = dir
				out, err := cmd.CombinedOutput()
				if err == nil || !strings.Contains(string(out), "busy") {
					t.Errorf("%v, expected a busy file\n%s", err, out)
				}
				sameTree(t, tree(t, filepath.Join(dir, "m")), before)
			})
		}
	}
}

// TestCopiesBetweenMounts copies and moves other arrays between two mounts of a store, and onto
// arrays that are there: nothing is refused.
func TestCopiesBetweenMounts(t *testing.T) {
	for _, format := range []string{"2", "3"} {
		for _, tc := range []struct{ group, script string }{
			{"", "mv m/b.* m2/g/ && test -e m2/g/b.npy && ! test -e m2/b.npy"},
			{"", "rsync -a --remove-source-files m/g/ m2/ && cat m2/c.npy && ! cat m2/g/c.npy"},
			{"", "cp m/b.npy m2/g/c.npy && cmp m/b.npy m2/g/c.npy"},
			{"", "cp m/b.npy m/g/c.npy && cmp m/b.npy m2/g/c.npy"},
			{"", "cp m/b.npy x.npy && mv x.npy m2/b.npy && test -e m2/b.npy"},
			{"", "cp m/b.npy x.npy && tee m/b.npy m2/b.npy < x.npy > y.npy && cmp x.npy m/b.npy"},
			{"", "mkdir x && mv m/b.* m2/g/c.* x/ && test $(ls x | wc -l) = 6"},
			{"", "mkdir m2/new && cp -r m/g m2/new/ && cmp m/g/c.npy m2/new/g/c.npy"},
			{"/g", "mv m/b.* m2/ && test -e m/g/b.npy && ! test -e m/b.npy"},
			{"/g", "rsync -a --remove-source-files m/g m2/ && cat m/g/g/c.npy && ! cat m2/c.npy"},
		} {
			t.Run(fmt.Sprintf("format %s %s %s", format, tc.group, tc.script), func(t *testing.T) {
				dir, _ := twoMounts(t, format, "", tc.group)
				cmd := limited(t, "sh", "-c", tc.script)
				cmd.Dir = dir
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
	}
}

// twoMounts returns a folder where a store is mounted at m and a node of it at m2. It also returns
// what m shows. The store has an array b and one c in the group g.
func twoMounts(t *testing.T, format, flags, node string) (dir string, before map[string]string) {
	t.Helper()
	dir = t.TempDir()
	store := filepath.Join(dir, "s.zarr")
	for _, args := range [][]string{
		{"create", store, "--group", "--format", format},
		{"create", store, "g", "--group"},
		{"create", store, "b", "--shape", "100", "--dtype", "int16", "--chunks", "30"},
		{"create", store, "g/c", "--shape", "40,5", "--dtype", "float64", "--chunks", "7,5"},
	} {
		if out, err := command(zarrfs(t), args...); err != nil {
			t.Fatalf("zarrfs %q: %v\n%s", args, err, out)
		}
	}
	for name, from := range map[string]string{"m": store, "m2": store + node} {
		at := filepath.Join(dir, name)
		if err := os.Mkdir(at, 0o777); err != nil {
			t.Fatal(err)
		}
		args := append([]string{"mount"}, strings.Fields(flags)...)
		if out, err := command(zarrfs(t), append(args, from, at)...); err != nil {
			t.Fatalf("zarrfs mount %s: %v\n%s", from, err, out)
		}
		t.Cleanup(func() { unmount(t, at) })
		if name == "m" {
			for _, file := range []string{"b.npy", "g/c.npy"} {
				fillData(t, filepath.Join(at, file))
			}
		}
	}
	return dir, tree(t, filepath.Join(dir, "m"))
}

// fillData writes other bytes over the data of a .npy file.
func fillData(t *testing.T, path string) {
	t.Helper()
	b := read(t, path)
	for i := 128; i < len(b); i++ {
		b[i] = byte(i*7 + 1)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(b[128:], 128); err != nil {
		t.Fatal(err)
	}
}
