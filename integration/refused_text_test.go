package integration

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// refusedTexts writes .json files that describe no array, by several programs. Some of the programs
// check neither the error of a write nor the error of a close. Some files are then corrected or
// removed.
const refusedTexts = `exec 2>/dev/null
	printf '{"a":' > half.json
	! echo '{"a": 1}' > group.json
	! cp "$SRC/list.json" g/list.json
	mkdir tar zip
	bsdtar -C "$SRC" -cf "$SRC/t.tar" list.json; ! bsdtar -C tar -xf "$SRC/t.tar"
	(cd "$SRC" && zip -q t.zip list.json); ! unzip -qd zip "$SRC/t.zip" </dev/null
	python3 -c 'import json; json.dump({"a": [1, 2]}, open("dump.json", "w"))'
	perl -e 'open F, ">perl.json"; print F "{\"p\":0}"; close F'
	printf '{' > twice.json; printf '{"later":' > twice.json
	printf '{' > mended.json; cp a.json mended.json
	printf '{' > renamed.json; cp a.json .renamed.json.Xy7z12; mv .renamed.json.Xy7z12 renamed.json
	exec 3> removed.json; printf '{' >&3; rm removed.json; exec 3>&-
	: > empty.json`

// keptTexts are what is then kept, by paths in the mount.
var keptTexts = map[string]string{
	"half.json": `{"a":`, "group.json": "{\"a\": 1}\n", "dump.json": `{"a": [1, 2]}`,
	"g/list.json": "[1]\n", "tar/list.json": "[1]\n", "zip/list.json": "[1]\n",
	"perl.json": `{"p":0}`, "twice.json": `{"later":`,
}

// TestRefusedTextsAreKept: a new document that was refused is not shown, and its text is kept when
// the mount ends.
func TestRefusedTextsAreKept(t *testing.T) {
	src := t.TempDir()
	t.Setenv("SRC", src)
	if err := os.WriteFile(filepath.Join(src, "list.json"), []byte("[1]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	need(t, "python3", "perl", "bsdtar", "zip", "unzip")
	for _, format := range []string{"2", "3"} {
		t.Run("format "+format, func(t *testing.T) { checkRefusedTexts(t, format) })
	}
}

func checkRefusedTexts(t *testing.T, format string) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	d := started(t, libraryStore(t, format))
	shell(t, d.dir, refusedTexts)
	for name := range keptTexts {
		if _, err := os.Lstat(d.path(name)); !os.IsNotExist(err) {
			t.Errorf("%s is in the mount: %v", name, err)
		}
	}
	said := run(t, d.bin, "umount", d.dir)
	if err := d.wait(); err != nil {
		t.Fatal(err)
	}
	d.process = nil
	folders, _ := filepath.Glob(filepath.Join(state, "zarrfs/other-files/s-*"))
	if len(folders) != 1 {
		t.Fatalf("%d folders are kept; umount said\n%s", len(folders), said)
	}
	got := tree(t, folders[0])
	delete(got, "zarrfs-note.json")
	sameTree(t, got, keptTexts)
	for name := range keptTexts {
		if !strings.Contains(said, `"`+name+`"`) {
			t.Errorf("umount does not name %s:\n%s", name, said)
		}
	}
	if text := d.logged(); !strings.Contains(text, folders[0]) {
		t.Errorf("the log does not name %s:\n%s", folders[0], text)
	}
}

// TestRefusedTextsOutliveAKill kills the mount's process after such a text was closed.
func TestRefusedTextsOutliveAKill(t *testing.T) {
	scratch := t.TempDir()
	d := started(t, libraryStore(t, "3"), "--scratch-dir", scratch)
	shell(t, d.dir, `printf '{"a":' > g/half.json; printf '{' > mended.json; cp a.json mended.json`)
	syscall.Kill(d.process.Process.Pid, syscall.SIGKILL)
	d.wait()
	d.process = nil
	said := d.unmountKilled(t)
	kept, _ := filepath.Glob(filepath.Join(scratch, "zarrfs-other-files-*/*.json"))
	kept = without(kept, "zarrfs-note.json")
	if len(kept) != 1 || string(read(t, kept[0])) != `{"a":` {
		t.Errorf("the scratch folder has %q; umount says\n%s", kept, said)
	}
}

// without returns the paths that do not end in name.
func without(paths []string, name string) (others []string) {
	for _, path := range paths {
		if filepath.Base(path) != name {
			others = append(others, path)
		}
	}
	return others
}
