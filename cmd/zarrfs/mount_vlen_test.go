package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// stringStore writes a store with an array "a" of 5000 strings in chunks of 1000, of which the
// second is not stored. Other arrays hold lists that NumPy has no type for, bytes, and numbers. It
// returns the lines of a.
func stringStore(t *testing.T) (dir string, want string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "s.zarr")
	doc := `{"zarr_format":3,"node_type":"array","shape":[%d],"data_type":"%s","fill_value":%s,
		"codecs":["%s"],
		"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[1000]}},
		"chunk_key_encoding":{"name":"default"}}`
	write(t, dir, "zarr.json", `{"zarr_format":3,"node_type":"group"}`)
	write(t, dir, "a/zarr.json", fmt.Sprintf(doc, 5000, "string", `"-"`, "vlen-utf8"))
	write(t, dir, "b/zarr.json", fmt.Sprintf(doc, 2, "bytes", `"AP8="`, "vlen-bytes"))
	write(t, dir, "n/zarr.json", fmt.Sprintf(doc, 2, "uint8", `7`, "bytes"))
	write(t, dir, "lists/.zarray",
		`{"zarr_format":2,"shape":[2],"chunks":[2],"dtype":"|O","order":"C","compressor":null,`+
			`"fill_value":null,"filters":[{"id":"vlen-array","dtype":"<i4"}]}`)
	var lines strings.Builder
	for c := range 5 {
		chunk := binary.LittleEndian.AppendUint32(nil, 1000)
		for i := range 1000 {
			word := fmt.Sprintf("größe %d", 1000*c+i)
			if c == 1 {
				word = "-"
			}
			chunk = append(binary.LittleEndian.AppendUint32(chunk, uint32(len(word))), word...)
			fmt.Fprintf(&lines, "%q\n", word)
		}
		if c != 1 {
			write(t, dir, fmt.Sprint("a/c/", c), string(chunk))
		}
	}
	return dir, lines.String()
}

// TestMountedStrings reads arrays whose elements have no fixed size through a mount.
func TestMountedStrings(t *testing.T) {
	store, want := stringStore(t)
	mnt := mounted(t, store)
	if names, err := os.ReadDir(mnt); err != nil ||
		fmt.Sprint(names) != "[- a.json - a.jsonl - a.npy - b.json - b.jsonl - b.npy - "+
			"lists.json - lists.jsonl - n.json - n.npy - n.raw - zarr.json]" {
		t.Errorf("listed: %v, %v", names, err)
	}
	f, err := os.Open(filepath.Join(mnt, "a.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() != int64(len(want)) ||
		info.Mode().Perm() != 0o644 {
		t.Errorf("an open file's size: %v, %v, want %d", info.Size(), err, len(want))
	}
	if got, err := io.ReadAll(f); err != nil || string(got) != want {
		t.Errorf("read %d bytes, %v, want %d", len(got), err, len(want))
	}
	part := make([]byte, 3000)
	for off := len(want) - 1000; off >= 0; off -= 7919 {
		if n, err := f.ReadAt(part, int64(off)); string(part[:n]) != want[off:min(off+n,
			len(want))] || n != min(3000, len(want)-off) || (err == io.EOF) != (n < 3000) {
			t.Errorf("at %d: %d bytes, %v", off, n, err)
		}
	}
	npy, err := os.ReadFile(filepath.Join(mnt, "a.npy"))
	head := "\x93NUMPY\x01\x00v\x00{'descr': '<U10', 'fortran_order': False, 'shape': (5000,), }"
	if err != nil || !strings.HasPrefix(string(npy), head) || len(npy) != 128+5000*40 {
		t.Fatalf("a.npy: %d bytes %.80q, %v", len(npy), npy, err)
	}
	if got := npy[128+3*40 : 128+4*40]; !bytes.Equal(got, utf32("größe 3", 10)) {
		t.Errorf("element 3 is %q", got)
	}
	if got, err := os.ReadFile(filepath.Join(mnt, "b.jsonl")); string(
		got) != "\"AP8=\"\n\"AP8=\"\n" {
		t.Errorf("b.jsonl: %q, %v", got, err)
	}
	if got, err := os.ReadFile(filepath.Join(mnt, "b.npy")); err != nil ||
		!bytes.Contains(got, []byte("'|S2'")) || !bytes.HasSuffix(got, []byte("\x00\xff\x00\xff")) {
		t.Errorf("b.npy: %q, %v", got, err)
	}
	if got, err := os.ReadFile(filepath.Join(mnt, "lists.jsonl")); string(got) != "[]\n[]\n" {
		t.Errorf("lists.jsonl: %q, %v", got, err)
	}
}

func utf32(s string, width int) (b []byte) {
	for _, r := range s {
		b = binary.LittleEndian.AppendUint32(b, uint32(r))
	}
	return append(b, make([]byte, 4*width-len(b))...)
}

// TestMountedStringsRefused: what such arrays have no view for is refused, as is writing what
// cannot be encoded.
func TestMountedStringsRefused(t *testing.T) {
	store, _ := stringStore(t)
	write(t, store, "json/.zarray",
		`{"zarr_format":2,"shape":[2],"chunks":[2],"dtype":"|O","order":"C","compressor":null,`+
			`"fill_value":null,"filters":[{"id":"json"}]}`)
	if err := os.WriteFile(filepath.Join(store, "a/c/3"), []byte("torn"), 0o666); err != nil {
		t.Fatal(err)
	}
	mnt := mounted(t, store)
	for _, c := range []struct {
		name  string
		flags int
		want  []error
	}{
		{"a.raw", os.O_RDONLY, []error{syscall.EOPNOTSUPP}},
		{"lists.npy", os.O_RDONLY, []error{syscall.EOPNOTSUPP}},
		{"n.jsonl", os.O_RDONLY, []error{syscall.ENOENT}},
		{"a.npy", os.O_RDONLY, []error{syscall.EIO}}, // counting meets the torn chunk
		{"a.raw", os.O_RDWR, []error{syscall.EOPNOTSUPP}},
		// its codec is only read
		{"json.jsonl", os.O_RDWR, []error{syscall.EOPNOTSUPP, syscall.EACCES}},
	} {
		f, err := os.OpenFile(filepath.Join(mnt, c.name), c.flags, 0)
		if err == nil {
			f.Close()
		}
		if !slices.ContainsFunc(c.want, func(want error) bool { return isErrno(err, want) }) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	f, err := os.Open(filepath.Join(mnt, "a.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Stat(); !isErrno(err, syscall.EIO) {
		t.Errorf("stat of an open file that cannot be counted: %v, want EIO", err)
	}
	got, err := io.ReadAll(f)
	if !isErrno(err, syscall.EIO) || bytes.Count(got, []byte("\n")) != 3000 {
		t.Errorf("%d lines before the torn chunk, %v", bytes.Count(got, []byte("\n")), err)
	}
}

// TestMountedStringsWritten writes the lines of arrays in the ways of programs: what they write is
// stored when they close it.
func TestMountedStringsWritten(t *testing.T) {
	store, old := stringStore(t)
	mnt := mounted(t, store)
	lines := filepath.Join(mnt, "a.jsonl")
	text := strings.ReplaceAll(old, "größe", "size")
	for _, c := range []struct {
		name string
		do   func() error
		want string
	}{
		{"written anew", func() error { return os.WriteFile(lines, []byte(text), 0o666) }, text},
		{"as it was already", func() error {
			return os.WriteFile(lines, []byte(text), 0o666)
		}, text},
		{"in other words", func() error {
			return os.WriteFile(lines,
				[]byte(strings.ReplaceAll(text, "\"-\"\n", " \"\\u002d\" \r\n")), 0o666)
		}, text},
		{"appended", func() error {
			return inPlace(lines, os.O_WRONLY|os.O_APPEND, -1, "\"x\"\n\"y\"")
		}, text + "\"x\"\n\"y\"\n"},
		{"appended once more", func() error {
			return inPlace(lines, os.O_WRONLY|os.O_APPEND, -1, "\"z\"\n")
		}, text + "\"x\"\n\"y\"\n\"z\"\n"},
		{"in the middle", func() error {
			return inPlace(lines, os.O_RDWR, 1, "SIZE")
		}, "\"SIZE" + text[5:] + "\"x\"\n\"y\"\n\"z\"\n"},
		{"fewer", func() error { return os.WriteFile(lines, []byte(text), 0o666) }, text},
		{"truncate", func() error { return os.Truncate(lines, 0) }, ""},
		{"renamed onto it", func() error {
			return errors.Join(os.WriteFile(mnt+"/.a.jsonl.Xy7", []byte(old), 0o666),
				os.Rename(mnt+"/.a.jsonl.Xy7", lines))
		}, old},
		{"its shape by the document", func() error {
			return os.WriteFile(mnt+"/a.json", []byte(`{"shape":[3]}`), 0o666)
		}, old[:strings.Index(old, "\"größe 3\"")]},
		{"strings of NumPy", func() error {
			return os.WriteFile(mnt+"/a.npy", npyOf("<U4", "(3,)", utf32("größ", 4), utf32("", 4),
				utf32("x", 4)), 0o666)
		}, "\"größ\"\n\"\"\n\"x\"\n"},
		{"renamed strings of NumPy", func() error {
			return errors.Join(os.WriteFile(mnt+"/t",
				npyOf("<U1", "(2,)", utf32("é", 1), utf32("b", 1)), 0o666),
				os.Rename(mnt+"/t", mnt+"/a.npy"))
		}, "\"é\"\n\"b\"\n"},
	} {
		if err := c.do(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if got, err := os.ReadFile(lines); err != nil || string(got) != c.want {
			t.Errorf("%s: %d bytes %.60q, %v, want %d %.60q", c.name, len(got), got, err,
				len(c.want), c.want)
		}
		if info, err := os.Stat(lines); err != nil || info.Size() != int64(len(c.want)) {
			t.Errorf("%s: %d bytes, %v, want %d", c.name, info.Size(), err, len(c.want))
		}
	}
	if err := os.Rename(lines, filepath.Join(mnt, "c.jsonl")); err != nil {
		t.Error(err)
	}
	for _, view := range []string{"jsonl", "npy", "json"} {
		if err := os.Remove(filepath.Join(mnt, "c."+view)); err != nil {
			t.Errorf("removing an array of lines: %v", err)
		}
	}
	for _, name := range []string{"a", "c"} {
		if _, err := os.Stat(filepath.Join(store, name)); !os.IsNotExist(err) {
			t.Errorf("array %s is still in the store: %v", name, err)
		}
	}
}

// TestOnlyViewOfStringsIsReplaced: an array of strings has one listed view. A program that removes
// the view and creates it again, or renames a file to it, gives the array other elements. It stays
// an array of strings, and is in the store.
func TestOnlyViewOfStringsIsReplaced(t *testing.T) {
	contents := map[string][]byte{"jsonl": []byte("\"é\"\n\"b\"\n"),
		"npy": npyOf("<U1", "(2,)", utf32("é", 1), utf32("b", 1))}
	for view, content := range contents {
		for how, replace := range map[string]func(file string) error{
			"created": func(file string) error { return os.WriteFile(file, content, 0o666) },
			"renamed": func(file string) error {
				return errors.Join(os.WriteFile(file+".tmp", content, 0o666),
					os.Rename(file+".tmp", file))
			},
		} {
			t.Run(view+" "+how, func(t *testing.T) {
				store, _ := stringStore(t)
				file := filepath.Join(mounted(t, store, "--views", view), "a."+view)
				if err := errors.Join(os.Remove(file), replace(file)); err != nil {
					t.Error(err)
				}
				if got, err := os.ReadFile(filepath.Join(mounted(t, store), "a.jsonl")); string(
					got) != string(contents["jsonl"]) {
					t.Errorf("the store has the elements %q, %v", got, err)
				}
			})
		}
	}
}

// inPlace opens a file with flags and writes text at an offset, or wherever the flags say.
func inPlace(name string, flags int, off int64, text string) error {
	f, err := os.OpenFile(name, flags, 0)
	if err != nil {
		return err
	}
	if off < 0 {
		_, err = f.WriteString(text)
	} else {
		_, err = f.WriteAt([]byte(text), off)
	}
	return errors.Join(err, f.Close())
}

// npyOf is a .npy file of a type, shape and items.
func npyOf(descr, shape string, items ...[]byte) []byte {
	head := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape)
	file := append([]byte("\x93NUMPY\x01\x00v\x00"), fmt.Sprintf("%-117s\n", head)...)
	return append(file, bytes.Join(items, nil)...)
}

// TestMountedStringsNotTaken: the close of a file whose content cannot be an array's fails and
// changes nothing. user.zarrfs.error gives the reason. A handle that is open can put it right.
func TestMountedStringsNotTaken(t *testing.T) {
	store, old := stringStore(t)
	mnt := mounted(t, store)
	lines := filepath.Join(mnt, "a.jsonl")
	other := filepath.Join(mnt, "n.jsonl")
	if err := os.WriteFile(other, []byte("{}\n"), 0o666); err != nil {
		t.Errorf("a name that is not a view: %v", err)
	}
	for _, c := range []struct {
		do   func() error
		want error
		why  string
	}{
		{func() error {
			return os.WriteFile(lines, []byte("\"x\"\nbad\n"), 0o666)
		}, syscall.EINVAL, "line 2: "},
		{func() error {
			return os.WriteFile(lines, []byte("\"x\"\n7\n"), 0o666)
		}, syscall.EINVAL, "expected a string"},
		{func() error { return inPlace(lines, os.O_RDWR, 0, "\x00") }, syscall.EINVAL, "line 1: "},
		{func() error {
			return inPlace(lines, os.O_WRONLY|os.O_APPEND, -1, "bad")
		}, syscall.EINVAL, "line 1: "},
		{func() error {
			return os.WriteFile(mnt+"/a.npy", []byte("no header"), 0o666)
		}, syscall.EINVAL, "header"},
		{func() error {
			return os.WriteFile(mnt+"/a.npy", npyOf("<i4", "(1,)", make([]byte, 4)), 0o666)
		}, syscall.EOPNOTSUPP, "cannot become strings"},
		{func() error {
			return os.WriteFile(mnt+"/a.npy", npyOf("<U1", "(1, 1)", utf32("x", 1)), 0o666)
		}, syscall.EINVAL, "expected shape [5000]"},
		{func() error {
			return os.Truncate(lines, 10)
		}, syscall.EINVAL, "cannot be truncated to 10 bytes"},
	} {
		if err := c.do(); !errors.Is(err, c.want) {
			t.Errorf("%v, want %v %s", err, c.want, c.why)
		}
		saysWhy(t, lines, c.why)
		if got, err := os.ReadFile(lines); err != nil || string(got) != old {
			t.Errorf("%s: %d bytes, %v, want %d", c.why, len(got), err, len(old))
		}
	}
	if err := os.Rename(other, lines); !errors.Is(err, syscall.EOPNOTSUPP) {
		t.Errorf("rename: %v", err)
	}
	saysWhy(t, other, "n.jsonl cannot become a.jsonl")
	f, err := os.OpenFile(lines, os.O_RDWR|os.O_TRUNC, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString("\"a\"\nb\n")
	if err := f.Sync(); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("fsync: %v", err)
	}
	f.WriteAt([]byte("\"b\"\n"), 4)
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		t.Errorf("put right: %v", err)
	}
	if got, err := os.ReadFile(lines); err != nil || string(got) != "\"a\"\n\"b\"\n" {
		t.Errorf("put right: %q, %v", got, err)
	}
}

// TestBadLinesAreRefusedAtOnce: a line that is not an element is refused when it is written,
// because shells do not look at the error of close. Nothing is stored of the lines before and
// behind it.
func TestBadLinesAreRefusedAtOnce(t *testing.T) {
	store, old := stringStore(t)
	mnt := mounted(t, store)
	lines := filepath.Join(mnt, "a.jsonl")
	for _, command := range []string{
		`printf 'oops\n' > %s`, `echo oops >> %s`, `echo oops | cat > %s`, `echo oops | tee -a %s`,
		`(echo '"a"'; echo oop; echo '"b"') > %s`, // of the length of the line behind it
		`(printf '"a"\n'; printf '7\n'; printf '"b"\n') >> %s`,
	} {
		for _, shell := range []string{"sh", "bash"} {
			if _, err := exec.LookPath(shell); err != nil {
				continue
			}
			if out, err := exec.Command(shell, "-c",
				fmt.Sprintf(command, lines)).CombinedOutput(); err == nil {
				t.Errorf("%s: %s: exit code 0: %s", shell, command, out)
			}
			saysWhy(t, lines, "not an element of this array")
			if got, err := os.ReadFile(lines); err != nil || string(got) != old {
				t.Errorf("%s: %s: %d bytes, %v, want %d", shell, command, len(got), err, len(old))
			}
		}
	}
	if _, out := zarrfs(t, "errors", mnt); !strings.Contains(out, `the line "oops"`) ||
		!strings.Contains(out, "a string in double quotes") {
		t.Errorf("zarrfs errors: %s", out)
	}
	f, err := os.OpenFile(lines, os.O_RDWR|os.O_TRUNC, 0)
	noError(t, "open", err)
	if _, err := f.WriteString("bad\n"); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("write: %v", err)
	}
	noError(t, "truncate", f.Truncate(0))
	_, err = f.WriteAt([]byte("\"a\"\n"), 0)
	noError(t, "put right", errors.Join(err, f.Close()))
	if got, err := os.ReadFile(lines); err != nil || string(got) != "\"a\"\n" {
		t.Errorf("put right: %q, %v", got, err)
	}
}

func isErrno(err, want error) bool {
	e, ok := err.(*os.PathError)
	return ok && e.Err == want
}
