package integration

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/fs/view"
)

// derivedScript is what people do with listed files of derived views. Each command must leave the
// array as it is, or remove all of it.
const derivedScript = `
set -eu
cd "$1" # a mount that lists .nrrd; $2 is another one, $3 an ordinary folder
same() { # same FOLDER: it has both files of the array
	cmp "$3/a.npy" "$1/a.npy"
	cmp "$3/a.nrrd" "$1/a.nrrd"
}
mkdir g
cp "$3/a.npy" g/
test "$(ls g | tr '\n' ' ')" = 'a.json a.npy a.nrrd a.raw zarr.json '
cp g/a.nrrd "$3/a.nrrd"
rm g/a.nrrd
same g . "$3"
mv g/a.nrrd "$3/moved.nrrd"
cmp "$3/moved.nrrd" "$3/a.nrrd"
rsync -a --remove-source-files g/a.nrrd "$3/taken.nrrd"
cmp "$3/taken.nrrd" "$3/a.nrrd"
if mv g/a.nrrd g/b.nrrd 2>"$3/why"; then exit 1; fi
grep -q 'not permitted' "$3/why"
if cp "$3/a.npy" g/a.nrrd 2>"$3/why"; then exit 1; fi
grep -q 'not permitted' "$3/why"
same g . "$3"
mkdir h
mv g/a.* h/
same h . "$3"
test ! -e g/a.nrrd
cp -r h "$2/copied"
same "$2/copied" . "$3"
rsync -a h/ "$2/synced"
same "$2/synced" . "$3"
tar -cf - h | tar -xf - -C "$2"
same "$2/h" . "$3"
cp "$3/a.nrrd" h/new.nrrd
cmp h/new.nrrd "$3/a.nrrd"
test ! -e h/new.npy
cp "$3/a.npy" h/new.npy
rm h/new.nrrd h/new.npy h/new.raw h/new.json
rm h/a.*
test "$(ls h)" = zarr.json
test ! -e h/a.nrrd
rm -r h "$2/copied" "$2/synced" "$2/h" g
test "$(ls "$2")" = zarr.json
test "$(ls .)" = zarr.json
`

// TestDerivedFilesAreCopiedAndRemoved: cp, mv, rm, rsync and tar do to listed files of derived
// views what they do to copies of an array. The array exists as long as its own files do.
func TestDerivedFilesAreCopiedAndRemoved(t *testing.T) {
	made := t.TempDir()
	for _, name := range []string{"one", "other"} {
		run(t, zarrfs(t), "create", filepath.Join(made, name+".zarr"), "--group")
	}
	views := []string{"--views", "json,npy,raw,nrrd"}
	one := mount(t, filepath.Join(made, "one.zarr"), views...)
	other := mount(t, filepath.Join(made, "other.zarr"), views...)
	data := "\x93NUMPY\x01\x00v\x00{'descr': '<i2', 'fortran_order': False, 'shape': (4, 6), }"
	data += strings.Repeat(" ", 127-len(data)) + "\n" + strings.Repeat("abcdef", 8)
	if err := os.WriteFile(filepath.Join(made, "a.npy"), []byte(data), 0o666); err != nil {
		t.Fatal(err)
	}
	run(t, "sh", "-xc", derivedScript, "sh", one, other, made)
}

// copiedFirstScript copies derived files before there is the array that they show.
const copiedFirstScript = `
set -eu
cd "$1" # $2 is a .npy file
mkdir one three
cp "$2" one/a.npy
rsync -r one/ two/
mkdir five
cp one/a.h5 one/a.json one/a.npy five/ # in this order
echo mine >three/a.h5
cp one/a.json one/a.npy three/
for dir in one two five; do
	printf xx | dd of=$dir/a.raw bs=1 seek=6 conv=notrunc status=none
done
for dir in two five; do
	cmp one/a.h5 $dir/a.h5
	cmp one/a.nii $dir/a.nii
done
test "$(cat three/a.h5)" = mine
`

// TestDerivedFilesAreCopiedFirst: a program that copies a tree may write a.h5 before a.json. After
// the array was made, a.h5 is the view of the array. An ordinary file with other bytes stays.
func TestDerivedFilesAreCopiedFirst(t *testing.T) {
	made := t.TempDir()
	run(t, zarrfs(t), "create", filepath.Join(made, "one.zarr"), "--group")
	data := "\x93NUMPY\x01\x00v\x00{'descr': '<i2', 'fortran_order': False, 'shape': (4, 6), }"
	data += strings.Repeat(" ", 127-len(data)) + "\n" + strings.Repeat("abcdef", 8)
	if err := os.WriteFile(filepath.Join(made, "a.npy"), []byte(data), 0o666); err != nil {
		t.Fatal(err)
	}
	dir := mount(t, filepath.Join(made, "one.zarr"), "--views", "json,npy,raw,nii,h5")
	run(t, "sh", "-xc", copiedFirstScript, "sh", dir, filepath.Join(made, "a.npy"))
}

// headerFilesScript runs in a group with an array b, where files like b.nhdr are not listed. $1 is
// the same group of a mount where they are, and $2 an ordinary folder.
const headerFilesScript = `
set -eu
cp "$1/b.nhdr" "$2/"
test ! -e b.nhdr
echo mine >b.nhdr
test "$(cat b.nhdr)" = mine
mv b.nhdr c.nhdr
cat c.nhdr >b.nhdr
rm b.nhdr c.nhdr
test ! -e b.nhdr
mkdir copy
cp "$1"/b.* copy/
cmp b.raw copy/b.raw
cmp "$2/b.nhdr" copy/b.nhdr # an ordinary file
rm -r copy
test -s b.raw
`

// TestHeaderFilesAreThereIfListed: b.nhdr is there only if --views names it. Otherwise the name is
// that of an ordinary file, also of one that was copied from a mount with such files.
func TestHeaderFilesAreThereIfListed(t *testing.T) {
	store := treeStore(t)
	listing := mount(t, store, "--views", "json,npy,raw,nhdr")
	cmd := exec.Command("sh", "-xc", headerFilesScript, "sh", filepath.Join(listing, "g"),
		t.TempDir())
	cmd.Dir = filepath.Join(mount(t, store), "g")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestViewsAreExported: `zarrfs cat --view` writes each file of an array as the mount shows it, and
// refuses those that an array does not have.
func TestViewsAreExported(t *testing.T) {
	store := treeStore(t)
	for name, args := range map[string]string{
		"g/plane": "--shape 6,8 --dtype >f4", "g/stack": "--shape 3,5,7 --dtype <u2",
		"g/mask": "--shape 4,5,6 --dtype bool", "g/z": "--shape 4,5 --dtype complex64",
	} {
		run(t, zarrfs(t), append([]string{"create", store, name}, strings.Fields(args)...)...)
	}
	dir := mount(t, store, "--views", "json,npy,raw,nhdr")
	count := 0
	for _, name := range []string{"b", "plane", "stack", "mask", "z", "sub/w"} {
		for _, v := range view.Names() {
			out, err := exec.Command(zarrfs(t), "cat", "--view", v, store, "g/"+name).Output()
			shown, missing := os.ReadFile(filepath.Join(dir, "g", name+"."+v))
			if (err == nil) != (missing == nil) || !bytes.Equal(out, shown) {
				t.Errorf("%s.%s: %d bytes are exported, %v; the mount shows %d, %v", name, v,
					len(out), err, len(shown), missing)
			}
			if missing == nil {
				count++
			}
		}
	}
	if count < 70 {
		t.Errorf("%d files", count)
	}
}
