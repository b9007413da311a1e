package integration

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestGroupFilesAreCopiedAlong: a tree whose mount lists files of groups is copied out and in by
// plain programs. Copies of such files never become arrays, whatever came first, and a second copy
// over the first changes nothing.
func TestGroupFilesAreCopiedAlong(t *testing.T) {
	listing := []string{"--views", "json,npy,raw,nc,h5"}
	s := groupStores(t, "climate")[1]
	from, out := mount(t, s.store, listing...), filepath.Join(t.TempDir(), "out")
	run := func(words ...string) {
		t.Helper()
		if said, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", words, err, said)
		}
	}
	run("cp", "-r", from, out)
	for _, name := range []string{"forecast.nc", "t2m.h5"} {
		copied, err := os.ReadFile(filepath.Join(out, name))
		shown, err2 := os.ReadFile(filepath.Join(from, name))
		if err != nil || err2 != nil || !bytes.Equal(copied, shown) {
			t.Errorf("%s copied out: %d bytes, %v, %v", name, len(copied), err, err2)
		}
	}
	for _, source := range []string{from, out} {
		into := filepath.Join(t.TempDir(), "into.zarr")
		if said, err := command(zarrfs(t), "create", into, "--group"); err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		dir := mount(t, into, listing...)
		for range 2 {
			run("cp", "-r", source+"/.", dir)
			must(t, os.Remove(filepath.Join(dir, "climate3.nc"))) // of a store of another name
			must(t, os.Remove(filepath.Join(dir, "climate3.h5")))
			said, err := command(zarrfs(t), "status", "--json", dir)
			if err != nil || strings.Contains(string(said), ".nc") ||
				strings.Contains(string(said), ".h5") {
				t.Errorf("kept beside the arrays: %v\n%s", err, said)
			}
		}
		for _, name := range []string{"t2m.raw", "name.npy", "forecast/wind.raw", "forecast.h5"} {
			got, err := os.ReadFile(filepath.Join(dir, name))
			want, err2 := os.ReadFile(filepath.Join(from, name))
			if err != nil || err2 != nil || !bytes.Equal(got, want) {
				t.Errorf("%s copied in: %d bytes, %v, %v", name, len(got), err, err2)
			}
		}
	}
}

// TestOtherFileOverGroupFile: another file that is copied over the file of a group changes no
// array, and cp fails.
func TestOtherFileOverGroupFile(t *testing.T) {
	dir := createdArrays(t, "u", "v")
	other := filepath.Join(t.TempDir(), "other.nc")
	must(t, os.WriteFile(other, bytes.Repeat([]byte("other"), 5000), 0o666))
	said, err := exec.Command("cp", other, filepath.Join(dir, "g.nc")).CombinedOutput()
	if err == nil || !strings.Contains(string(said), "not permitted") {
		t.Errorf("cp: %v: %s", err, said)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "g", "u.raw"))
	if err != nil || !bytes.Equal(raw, bytes.Repeat([]byte{1}, 2000)) {
		t.Errorf("the array: %v", err)
	}
}

// TestGroupFilesAreReplaced: a program may move a file onto that of a group, or remove the old one
// first. The elements of the group are replaced. Another structure is refused, and nothing changes.
func TestGroupFilesAreReplaced(t *testing.T) {
	dir := createdArrays(t, "u", "v")
	shown, err := os.ReadFile(filepath.Join(dir, "g.nc"))
	must(t, err)
	before := bytes.Repeat([]byte{1}, 2000)
	for i, way := range []string{
		"mv new/g.nc $M/g.nc",
		"install new/g.nc $M/g.nc",
		"cp --remove-destination new/g.nc $M/g.nc",
		"tar -C new -cf x.tar g.nc && tar -C $M -xf x.tar",
	} {
		after := bytes.Repeat([]byte{byte(7 + i)}, 2000)
		edited := bytes.ReplaceAll(shown, bytes.Repeat([]byte{1}, 2000), after)
		other := bytes.Clone(edited)
		other[len(other)/2000] ^= 0xff // the array's bytes are behind the structure
		for _, c := range []struct {
			name    string
			content []byte
			ok      bool
			want    []byte
		}{
			{"another structure", other, false, before},
			{"the same structure", edited, true, after},
		} {
			from := t.TempDir()
			must(t, os.Mkdir(filepath.Join(from, "new"), 0o777))
			must(t, os.WriteFile(filepath.Join(from, "new", "g.nc"), c.content, 0o666))
			cmd := exec.Command("sh", "-c", way)
			cmd.Dir, cmd.Env = from, append(os.Environ(), "M="+dir)
			said, err := cmd.CombinedOutput()
			refused := err != nil && strings.Contains(string(said), "not permitted")
			if (err == nil) != c.ok || refused == c.ok {
				t.Errorf("%s, %s: %v: %s", way, c.name, err, said)
			}
			raw, err := os.ReadFile(filepath.Join(dir, "g", "u.raw"))
			if err != nil || !bytes.Equal(raw, c.want) {
				t.Errorf("%s, %s: the array begins with %v: %v", way, c.name, raw[:8], err)
			}
			if kept, err := command(zarrfs(t), "status", "--json", dir); err != nil ||
				strings.Contains(string(kept), "g.nc") {
				t.Errorf("%s, %s: kept beside the array: %v\n%s", way, c.name, err, kept)
			}
		}
		before = after
	}
}
