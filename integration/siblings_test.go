package integration

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestSiblingsInTurn makes the views of one array through handles that are all open before there is
// an array: what each writes counts, whichever makes the array.
func TestSiblingsInTurn(t *testing.T) {
	mnt := mount(t, treeStore(t))
	put(t, mnt, "z.json", `{"zarr_format": 3, "node_type": "array", "shape": [],
		"data_type": "int32", "fill_value": 0,
		"codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
		"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": []}},
		"chunk_key_encoding": {"name": "default"}}`)
	put(t, mnt, "z.raw", "\x01\x02\x03\x04")
	for i, tc := range []struct{ name, of, steps string }{
		{"the document makes it, then the header comes", "g/b",
			"npy:open json:open json:all json:close npy:all npy:close"},
		{"the header makes it, then the document comes", "g/b",
			"json:open npy:open npy:all npy:close json:all json:close"},
		{"the document comes while bytes are on their way", "g/b",
			"raw:open raw:half json:open json:all json:close raw:rest raw:close"},
		{"the document comes before the bytes", "g/b",
			"raw:open json:open json:all json:close raw:half raw:rest raw:close"},
		{"the document comes behind the bytes", "g/b",
			"raw:open raw:all json:open json:all json:close raw:close"},
		{"all at once", "g/b", "npy:open raw:open json:open raw:half json:all json:close " +
			"npy:half raw:rest raw:close npy:rest npy:close"},
		{"no axes: the document comes before the bytes", "z",
			"raw:open json:open json:all json:close raw:all raw:close"},
		{"no axes: the document comes before the header", "z",
			"npy:open json:open json:all json:close npy:all npy:close"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			open, n := map[string]*os.File{}, fmt.Sprintf("n%d", i)
			for _, step := range strings.Fields(tc.steps) {
				view, do, _ := strings.Cut(step, ":")
				data, f := read(t, filepath.Join(mnt, tc.of+"."+view)), open[view]
				var err error
				switch do {
				case "open":
					open[view], err = os.OpenFile(filepath.Join(mnt, n+"."+view),
						os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
				case "all":
					_, err = f.Write(data)
				case "half":
					_, err = f.Write(data[:len(data)/2])
				case "rest":
					_, err = f.Write(data[len(data)/2:])
				case "close":
					err = f.Close()
				}
				if err != nil {
					t.Errorf("%s: %v", step, err)
				}
			}
			shell(t, mnt,
				"for v in json npy raw; do cmp "+tc.of+".$v "+n+".$v || exit 1; done; rm "+n+".*")
		})
	}
}

// TestMovedInAnyOrder moves the files of an array in from another file system, in each order in
// which a folder may have them. mv exits 0 and says nothing. The array has its chunks, which mv
// sets as an attribute before the document has come.
func TestMovedInAnyOrder(t *testing.T) {
	formats(t, func(t *testing.T, format string) {
		from := mount(t, linkedStore(t, format, nil))
		into := mount(t, emptyStore(t, format))
		for _, order := range []string{
			"json npy raw", "json raw npy", "npy json raw", "npy raw json", "raw json npy",
			"raw npy json",
		} {
			dir, name := t.TempDir(), strings.ReplaceAll(order, " ", "-")
			shell(t, dir, fmt.Sprintf("mkdir %s; for v in %s; do cp -a %s/run42/a.$v %[1]s/; "+
				"done; mv %[1]s %[4]s/", name, order, from, into))
			sameTree(t, tree(t, filepath.Join(into, name)), map[string]string{
				"a.json":    string(read(t, filepath.Join(from, "run42/a.json"))),
				"a.npy":     string(read(t, filepath.Join(from, "run42/a.npy"))),
				"a.raw":     string(read(t, filepath.Join(from, "run42/a.raw"))),
				"zarr.json": string(read(t, filepath.Join(into, "zarr.json"))),
			})
		}
	})
}

// TestDocumentWaitsForSiblings closes a document with other chunks than those of the array that a
// header has made. The .npy is still being written.
func TestDocumentWaitsForSiblings(t *testing.T) {
	mnt := mount(t, treeStore(t))
	create := func(view string) (*os.File, []byte) {
		f, err := os.OpenFile(filepath.Join(mnt, "n."+view),
			os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		return f, read(t, filepath.Join(mnt, "g/b."+view))
	}
	doc, text := create("json")
	npy, data := create("npy")
	if _, err := npy.Write(data[:len(data)/2]); err != nil {
		t.Fatal(err)
	}
	if _, err := doc.Write(text); err != nil {
		t.Fatal(err)
	}
	closed := make(chan error)
	go func() { closed <- doc.Close() }()
	if _, err := npy.Write(data[len(data)/2:]); err != nil {
		t.Error(err)
	}
	if err := npy.Close(); err != nil {
		t.Error(err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	shell(t, mnt, "for v in json npy raw; do cmp g/b.$v n.$v || exit 1; done")
}

// TestHeaderAfterStrings writes a .npy that was opened before a document made its array one of
// strings.
func TestHeaderAfterStrings(t *testing.T) {
	mnt := mount(t, treeStore(t))
	f, err := os.OpenFile(filepath.Join(mnt, "n.npy"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	put(t, mnt, "n.json", string(read(t, filepath.Join(mnt, "g/sub/w.json"))))
	_, err = f.Write(read(t, filepath.Join(mnt, "g/b.npy")))
	if err = errors.Join(err, f.Close()); !errors.Is(err, syscall.EEXIST) {
		t.Error(err)
	}
	shell(t, mnt, "cmp g/sub/w.json n.json")
}

// copier is a program that the mount takes for cp. It waits until it is told to go on.
type copier struct {
	*exec.Cmd
	in io.WriteCloser
}

// startCopy starts a script as such a program, in mnt, and returns when it says "ready".
func startCopy(t *testing.T, mnt, script string, args ...string) copier {
	t.Helper()
	need(t, "bash")
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	cp := filepath.Join(t.TempDir(), "cp")
	if err := os.Symlink(bash, cp); err != nil {
		t.Fatal(err)
	}
	return startReady(t, mnt, limited(t, cp, append([]string{"-c", script}, args...)...))
}

// startPythonCopy is startCopy for a script of Python, whose files close only when it says so.
func startPythonCopy(t *testing.T, mnt, script string) copier {
	t.Helper()
	need(t, "python3")
	named := "open('/proc/self/comm', 'w').write('cp')\n" + script
	return startReady(t, mnt, limited(t, "python3", "-I", "-c", named))
}

// startReady starts a program in mnt, and returns when it says "ready".
func startReady(t *testing.T, mnt string, cmd *exec.Cmd) copier {
	t.Helper()
	cmd.Dir = mnt
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("found %q, %v", line, err)
	}
	return copier{cmd, in}
}

// goOn lets it go on, and returns how it ended.
func (c copier) goOn() error {
	io.WriteString(c.in, "go\n")
	return c.Wait()
}

// look starts a copier that looks for mnt/name. When it goes on, it creates the file with O_EXCL
// and the content of the file source. It fails if the mount refuses to create the file.
func look(t *testing.T, mnt, name, source string) copier {
	t.Helper()
	return startCopy(t, mnt, `[ -e "$0" ]; echo ready; read go
		set -C; exec 3> "$0" || exit 4; cat "$1" >&3`, name, source)
}

// TestLookedBefore lets programs that copy look for views of an array, and create them with O_EXCL
// after another has made the array.
func TestLookedBefore(t *testing.T) {
	mnt := mount(t, treeStore(t))
	raw, raw2 := look(t, mnt, "n.raw", "g/b.raw"), look(t, mnt, "n.raw", "g/b.raw")
	npy := look(t, mnt, "n.npy", "g/b.npy")
	document := look(t, mnt, "n.json", "g/b.json")
	shell(t, mnt, "cp g/b.json n.json")
	late := look(t, mnt, "n.npy", "g/b.npy")
	for _, tc := range []struct {
		name string
		l    copier
		want bool
	}{
		{"n.npy, looked for when the array was there", late, false},
		{"n.json, which made the array", document, false},
		{"n.raw", raw, true},
		{"n.raw once more", raw2, false},
		{"n.npy", npy, true},
	} {
		if got := tc.l.goOn() == nil; got != tc.want {
			t.Errorf("%s: created %t, expected %t", tc.name, got, tc.want)
		}
	}
	shell(t, mnt, "for v in json npy raw; do cmp g/b.$v n.$v || exit 1; done")
	if _, err := os.Stat(filepath.Join(mnt, "n.raw")); err != nil {
		t.Error(err)
	}
}

// TestCopiedSideBySide copies the files of a folder, each by a program of its own and several at
// once, in several orders. The arrays have chunks, codecs and attributes that they would not get
// without their documents.
func TestCopiedSideBySide(t *testing.T) {
	mnt, out := mount(t, treeStore(t)), t.TempDir()
	need(t, "xargs")
	shell(t, mnt, "mkdir s; for i in 1 2 3 4 5 6; do for v in json npy raw; "+
		"do cp g/b.$v s/b$i.$v; done; done; cp -r s "+out)
	want := tree(t, filepath.Join(mnt, "s"))
	for _, order := range []string{"sort", "sort -r", "sort -t. -k2", "sort -t. -k2 -r"} {
		for _, from := range []string{"s", filepath.Join(out, "s")} {
			shell(t, mnt, "mkdir new; (cd "+from+"; ls | grep -v zarr.json) | "+order+
				" | xargs -P 4 -I% cp "+from+"/% new/")
			sameTree(t, tree(t, filepath.Join(mnt, "new")), want)
			shell(t, mnt, "rm -r new")
		}
	}
}

// TestRowOfAnotherProgram closes and syncs files of an array while another program has written the
// array's end within a row. That is an error of the other program, which may go on.
func TestRowOfAnotherProgram(t *testing.T) {
	mnt := mount(t, treeStore(t))
	shell(t, mnt, "for v in json npy raw; do cp g/b.$v n.$v; done")
	data := read(t, filepath.Join(mnt, "g/b.raw"))
	half := len(data)/2 + 1 // within a row
	open := func(view string, flags int) *os.File {
		f, err := os.OpenFile(filepath.Join(mnt, "n."+view), flags, 0)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	raw, npy, reader := open("raw", os.O_WRONLY), open("npy", os.O_RDWR), open("npy", os.O_RDONLY)
	later := open("raw", os.O_WRONLY|os.O_TRUNC)
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"a part of the array's bytes",
			func() error { _, err := later.Write(data[:half]); return err }},
		{"fsync of .npy", npy.Sync},
		{"fsync by a reader", reader.Sync},
		{"bytes before the end", func() error { _, err := npy.WriteAt(data[:8], 128); return err }},
		{"close of .npy", npy.Close},
		{"close of .raw", raw.Close},
	} {
		if err := step.do(); err != nil {
			t.Errorf("%s: %v", step.name, err)
		}
	}
	fd, err := syscall.Dup(int(later.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Close(fd); err != syscall.EINVAL {
		t.Errorf("close by the program that has written a part of a row: %v", err)
	}
	_, err = later.Write(data[half:])
	if err := errors.Join(err, later.Close(), reader.Close()); err != nil {
		t.Error(err)
	}
	shell(t, mnt, sameAs)
}

// TestRowOfTwoPrograms lets two programs write into one row that is not whole. Each of them gets an
// error, because the other may be killed. A program that has not written into the row gets none.
func TestRowOfTwoPrograms(t *testing.T) {
	mnt := mount(t, treeStore(t))
	data := read(t, filepath.Join(mnt, "g/b.raw"))
	half := len(data)/2 + 1 // within a row
	for _, tc := range []struct {
		name, steps string // a step that ends in ! is EINVAL
		whole       bool
	}{
		{"nobody goes on", "a:half b:half c:sync a:sync! c:close a:close! b:sync! b:close", false},
		{"the last one is closed", "a:half b:half a:sync! a:close! b:close! c:close", false},
		{"one goes on", "a:half b:half a:sync! a:close! b:rest c:sync b:close c:close", true},
		{"the other goes on", "b:half a:half b:sync! b:close! a:rest a:close c:close", true},
		{"each writes a part", "a:half b:rest a:sync a:close b:close c:close", true},
		{"again", "a:half a:sync! b:half a:sync a:close b:rest b:close c:close", true},
		{"one is not told", "a:half a:close! c:sync b:close c:close", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			shell(t, mnt, "for v in json npy raw; do cp g/b.$v n.$v; done; : > n.raw")
			open := map[string]*os.File{}
			for _, name := range []string{"a", "b", "c"} {
				f, err := os.OpenFile(filepath.Join(mnt, "n.raw"), os.O_WRONLY, 0)
				if err != nil {
					t.Fatal(err)
				}
				open[name] = f
			}
			for _, step := range strings.Fields(tc.steps) {
				name, do, _ := strings.Cut(strings.TrimSuffix(step, "!"), ":")
				var err error
				switch f := open[name]; do {
				case "half":
					_, err = f.WriteAt(data[:half], 0)
				case "rest":
					_, err = f.WriteAt(data[half:], int64(half))
				case "sync":
					err = f.Sync()
				case "close":
					err = f.Close()
				}
				told := strings.HasSuffix(step, "!")
				if told != errors.Is(err, syscall.EINVAL) || !told && err != nil {
					t.Errorf("%s: %v", step, err)
				}
			}
			for _, f := range open {
				f.Close() // for steps without a close
			}
			if tc.whole {
				shell(t, mnt, sameAs)
			}
			shell(t, mnt, "rm n.*")
		})
	}
}

// TestRowsOfTwoAppenders lets a program append whole rows. As soon as the array has such a row,
// another program appends a part of the next one. Only that program gets the error for an
// incomplete row.
func TestRowsOfTwoAppenders(t *testing.T) {
	store := treeStore(t)
	run(t, zarrfs(t), "create", store, "n", "--shape", "0,8", "--dtype", "u1")
	mnt := mount(t, store)
	open := func(name string, flags int) *os.File {
		f, err := os.OpenFile(filepath.Join(mnt, name), flags, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	// Through one file the kernel lets only one program append at a time.
	whole, parts := open("n.raw", os.O_WRONLY|os.O_APPEND), open("n.npy", os.O_WRONLY|os.O_APPEND)
	seen, row := open("n.npy", os.O_RDONLY|syscall.O_DIRECT), make([]byte, 8)
	info, err := seen.Stat()
	if err != nil {
		t.Fatal(err)
	}
	for round := range 300 {
		begun := make(chan error, 1)
		go func() {
			for {
				if n, _ := seen.ReadAt(make([]byte, 1), info.Size()+int64(16*round)); n == 1 {
					break
				}
			}
			_, err := parts.Write(row[:3])
			begun <- err
		}()
		_, err := whole.Write(row)
		if err = errors.Join(err, <-begun); err != nil {
			t.Fatal(err)
		}
		if err := whole.Sync(); err != nil {
			t.Fatalf("round %d: fsync of a whole row: %v", round, err)
		}
		if err := parts.Sync(); !errors.Is(err, syscall.EINVAL) {
			t.Fatalf("round %d: fsync of a part: %v", round, err)
		}
		if _, err := parts.Write(row); err != nil { // its part was dropped
			t.Fatal(err)
		}
	}
}

// TestRowOfBoundedGrid writes a whole row, and another program the beginning of the next one. In a
// bounded grid the whole row cannot be stored then, so neither fsync nor close says that it was.
func TestRowOfBoundedGrid(t *testing.T) {
	store := treeStore(t)
	put(t, store, "n/zarr.json", `{"zarr_format": 3, "node_type": "array", "shape": [2, 4],
		"data_type": "uint8", "fill_value": 0, "codecs": [{"name": "bytes"}], "attributes": {},
		"chunk_key_encoding": {"name": "default"}, "chunk_grid": `+bounded("2, 4")+`}`)
	put(t, store, "n/c/0/0", "aaaabbbb")
	mnt := mount(t, store)
	open := func(flags int) *os.File {
		f, err := os.OpenFile(filepath.Join(mnt, "n.raw"), os.O_WRONLY|os.O_APPEND|flags, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	row, synced, part := open(0), open(os.O_SYNC), open(0)
	write := func(f *os.File, text string) error { _, err := f.WriteString(text); return err }
	if err := errors.Join(write(row, "cccc"), write(part, "dd")); err != nil {
		t.Fatal(err)
	}
	if err := row.Sync(); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("fsync of the whole row: %v, expected %v", err, syscall.EINVAL)
	}
	if err := errors.Join(write(part, "dd"), row.Sync(), write(synced, "eeee")); err != nil {
		t.Errorf("after the next row is whole: %v", err)
	}
	want := `"shape":[5,4]`
	doc := strings.Join(strings.Fields(string(read(t, filepath.Join(store, "n/zarr.json")))), "")
	if !strings.Contains(doc, want) {
		t.Errorf("the document lacks %s:\n%s", want, doc)
	}
}

// sameAs fails if the array n is not as g/b.
const sameAs = "for v in json npy raw; do cmp g/b.$v n.$v || exit 1; done"

// TestPartOfAnotherProgram closes a .npy that was copied as a whole after another program has
// truncated it and written a part of it.
func TestPartOfAnotherProgram(t *testing.T) {
	mnt := mount(t, treeStore(t))
	data := read(t, filepath.Join(mnt, "g/b.npy"))
	for _, part := range []int{100, len(data) - 9} { // in the header, and in a row
		shell(t, mnt, "for v in json npy raw; do cp g/b.$v n.$v; done")
		cp := startCopy(t, mnt, `exec 3> n.npy; cat g/b.npy >&3 || exit 4
			echo ready; read go; cat < /dev/null >&3`)
		file, err := os.OpenFile(filepath.Join(mnt, "n.npy"), os.O_WRONLY|os.O_TRUNC, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.Write(data[:part]); err != nil {
			t.Error(err)
		}
		if err := cp.goOn(); err != nil {
			t.Errorf("close by the program that has copied all, after %d bytes: %v", part, err)
		}
		_, err = file.Write(data[part:])
		if err := errors.Join(err, file.Close()); err != nil {
			t.Error(err)
		}
		shell(t, mnt, sameAs+"; rm n.*")
	}
}

// TestTruncatedByAnotherProgram lets a program truncate a file to nothing while another copies it.
// That one goes on after the part that it has written, and closes the file before the first has
// written.
func TestTruncatedByAnotherProgram(t *testing.T) {
	mnt := mount(t, treeStore(t))
	for _, tc := range []struct {
		view string
		rest int // bytes that the other writes after the truncation
	}{{"npy", 150}, {"npy", 9}, {"npy", 0}, {"json", 0}} { // 150 begin in the header
		data := read(t, filepath.Join(mnt, "g/b."+tc.view))
		shell(t, mnt, "for v in json npy raw; do cp g/b.$v n.$v; done")
		cp := startPythonCopy(t, mnt, fmt.Sprintf(`import os
data = open("g/b.%[1]s", "rb").read()
to = os.open("n.%[1]s", os.O_WRONLY | os.O_TRUNC)
os.write(to, data[:len(data) - %[2]d])
print("ready", flush=True)
input()
if %[2]d:
    os.write(to, data[len(data) - %[2]d:])
os.close(to)`, tc.view, tc.rest))
		file, err := os.OpenFile(filepath.Join(mnt, "n."+tc.view), os.O_WRONLY|os.O_TRUNC, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := cp.goOn(); err != nil {
			t.Errorf("close of the program that writes the last %d bytes of the .%s: %v",
				tc.rest, tc.view, err)
		}
		if _, err := file.Write(data); err != nil {
			t.Error(err)
		}
		if err := file.Close(); err != nil {
			t.Error(err)
		}
		shell(t, mnt, sameAs+"; rm n.*")
	}
}

// TestDocumentOfAnotherIsOpen copies a document onto an array of a .npy. Another program has
// created the array's own document, and not written it yet.
func TestDocumentOfAnotherIsOpen(t *testing.T) {
	mnt := mount(t, treeStore(t))
	for _, last := range []string{"cp g/b.json n.tmp; mv n.tmp n.json", "cp g/b.json n.json"} {
		cp := startCopy(t, mnt, `exec 3> n.npy; cat g/b.npy >&3; exec 3>&-
			exec 4> n.json; echo ready; read go; cat g/b.json >&4`)
		shell(t, mnt, last)
		if err := cp.goOn(); err != nil {
			t.Errorf("%s: %v", last, err)
		}
		shell(t, mnt, sameAs+"; rm n.*")
	}
}

// TestDocumentLast lets one program unpack an array's files without its document, and another one
// copy the document right after that. The array gets the document's chunks, codecs and attributes.
func TestDocumentLast(t *testing.T) {
	need(t, "rsync")
	mnt, out := mount(t, treeStore(t)), t.TempDir()
	t.Setenv("OUT", out)
	shell(t, mnt, "mkdir s; cp g/b.json g/b.npy g/b.raw s/; cp -r s $OUT")
	shell(t, mnt, "tar -C s -cf $OUT/bytes.tar b.raw b.npy")
	want := tree(t, filepath.Join(mnt, "s"))
	const unpack = "tar -C new -xf $OUT/bytes.tar; "
	for _, last := range []string{
		"rsync $OUT/s/b.json new/",
		"cp $OUT/s/b.json new/",
		unpack + "rsync $OUT/s/b.json new/",
	} {
		t.Run(last, func(t *testing.T) {
			shell(t, mnt, "mkdir new; "+unpack+last)
			sameTree(t, tree(t, filepath.Join(mnt, "new")), want)
			shell(t, mnt, "rm -r new")
		})
	}
}
