package integration

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// textStore makes a store with a group g of an array a and an array w of strings.
func textStore(t *testing.T, format string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "s.zarr")
	for _, args := range [][]string{
		{"create", dir, "--group", "--format", format},
		{"create", dir, "g", "--group", "--attributes", `{"units": "K"}`},
		{"create", dir, "g/a", "--shape", "3", "--dtype", "int16"},
		{"create", dir, "g/w", "--shape", "2", "--dtype", "string"},
	} {
		run(t, zarrfs(t), args...)
	}
	return dir
}

// A textWriter writes to an open text.
type textWriter func(f *os.File) error

// writeAttributes writes a document with other attributes.
func writeAttributes(f *os.File) error {
	text := `{"attributes": {"units": "m"}}` + "\n"
	_, err := f.WriteAt([]byte(text), 0)
	return errors.Join(err, f.Truncate(int64(len(text))))
}

// appendLine appends a line to a file that is open for that.
func appendLine(f *os.File) error {
	_, err := f.WriteString("\"new\"\n")
	return err
}

// rewriteLines replaces the lines of a file.
func rewriteLines(f *os.File) error {
	_, err := f.WriteAt([]byte("\"x\"\n\"y\"\n\"z\"\n"), 0)
	return err
}

// An openText is a text of textStore, the node that is recreated, and how the text is written.
type openText struct {
	name, file, node string
	flags            int
	write            textWriter
}

// recreate returns the commands by which a shell recreates a node of the store.
func recreate(node string) string {
	return "cp -r " + node + " ../saved; rm -r " + node + "; cp -r ../saved " + node
}

// prepared starts a shell, and returns a function. The function lets the shell run the script, and
// waits for its end. The shell is started before a test opens a file: a later start would flush the
// open file.
func prepared(t *testing.T, dir, script string) (run func()) {
	t.Helper()
	cmd := limited(t, "sh", "-ec", "read go; "+script)
	cmd.Dir = dir
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		in.Write([]byte("go\n"))
		if err := cmd.Wait(); err != nil || out.Len() > 0 {
			t.Fatalf("%s: %v\n%s", script, err, &out)
		}
	}
}

// openTexts are texts of textStore, and how they are written.
var openTexts = []openText{
	{"document", "g/a.json", "g/a", os.O_RDWR, writeAttributes},
	{"group", "g/zarr.json", "g", os.O_RDWR, writeAttributes},
	{"document in a group", "g/a.json", "g", os.O_RDWR, writeAttributes},
	{"appended lines", "g/w.jsonl", "g/w", os.O_RDWR | os.O_APPEND, appendLine},
	{"rewritten lines", "g/w.jsonl", "g/w", os.O_RDWR, rewriteLines},
	{"lines as an array", "g/w.jsonl", "g", os.O_RDWR, rewriteLines},
}

// TestRecreatedText: another program removes an array or group while a text of it is open, and
// recreates it under the same name. What is written to the old text gets an error, and nothing of
// the new array changes. A program that opens the file then writes the new one. Like the tests
// below it is not parallel: a program that another test starts would flush the open text.
func TestRecreatedText(t *testing.T) {
	for _, tc := range openTexts {
		for _, how := range []struct {
			format string
			late   bool
		}{{"2", false}, {"3", false}, {"3", true}} {
			name := fmt.Sprintf("%s, format %s, late %t", tc.name, how.format, how.late)
			t.Run(name, func(t *testing.T) {
				d := started(t, textStore(t, how.format))
				recreateUnder(t, d, tc, how.late, prepared(t, d.store, recreate(tc.node)))
				g := opened(t, d.path(tc.file), tc.flags)
				if err := errors.Join(tc.write(g), g.Close()); err != nil {
					t.Errorf("the new file: %v", err)
				}
				if err := d.stop(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestTextOverOverlay: in an overlay file system, as in a container, a directory gets another time
// of creation when something in it is first changed. For a text that is open it is still the same.
func TestTextOverOverlay(t *testing.T) {
	for _, tc := range openTexts {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			d := started(t, filepath.Join(overlay(t, filepath.Dir(textStore(t, "3"))), "s.zarr"))
			f := opened(t, d.path(tc.file), tc.flags)
			if err := errors.Join(tc.write(f), f.Sync(), tc.write(f), f.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestRecreatedByOthers is TestRecreatedText for zarr-python and for another mount.
func TestRecreatedByOthers(t *testing.T) {
	t.Setenv("PYTHON", python(t, "ZARRFS_PY3", ".venv-v3"))
	t.Setenv("SCRIPT", `import sys, zarr
g = zarr.open_group(sys.argv[1], mode="r+").create_group("g", overwrite=True)
g.create_array("a", shape=3, dtype="int16")
g.create_array("w", shape=2, dtype=str)
`)
	for _, tc := range openTexts {
		t.Run("zarr-python, "+tc.name, func(t *testing.T) {
			d := started(t, textStore(t, "3"))
			again := prepared(t, d.store, `"$PYTHON" -W ignore -c "$SCRIPT" .`)
			recreateUnder(t, d, tc, false, again)
		})
		t.Run("mount, "+tc.name, func(t *testing.T) {
			d := started(t, textStore(t, "3"))
			other := started(t, d.store)
			recreateUnder(t, d, tc, false, prepared(t, other.dir, recreate("g")+"; sync g"))
		})
	}
}

// recreateUnder opens a text, reads and writes it, and calls recreate. If late is set, it is
// written after that. Then the text must not reach the store.
func recreateUnder(t *testing.T, d *daemon, tc openText, late bool, recreate func()) {
	t.Helper()
	f := opened(t, d.path(tc.file), tc.flags)
	_, err := f.ReadAt(make([]byte, 4), 0)
	if !late {
		err = errors.Join(err, tc.write(f))
	}
	if err != nil {
		t.Fatal(err)
	}
	recreate()
	want := storeTree(t, d.store)
	if late {
		err = tc.write(f)
	}
	if err != nil && !errors.Is(err, syscall.ESTALE) {
		t.Errorf("write: %v", err)
	}
	if err := f.Close(); !errors.Is(err, syscall.ESTALE) {
		t.Errorf("close: %v", err)
	}
	if got := storeTree(t, d.store); !maps.Equal(got, want) {
		t.Errorf("the new array is %q, expected %q", got, want)
	}
}

// TestRecreatedAndOpenedAgain: a program opens a text of a recreated array while another has the
// text of the old array open, and has changed it. Each has its own.
func TestRecreatedAndOpenedAgain(t *testing.T) {
	for _, tc := range openTexts {
		t.Run(tc.name, func(t *testing.T) {
			d := started(t, textStore(t, "3"))
			want := read(t, d.path(tc.file))
			recreate := prepared(t, d.store, recreate("g"))
			f := opened(t, d.path(tc.file), tc.flags)
			if err := tc.write(f); err != nil {
				t.Fatal(err)
			}
			recreate()
			g := opened(t, d.path(tc.file), tc.flags)
			if got, err := io.ReadAll(g); err != nil || !bytes.Equal(got, want) {
				t.Errorf("the new file is %q, %v, expected %q", got, err, want)
			}
			if err := f.Close(); !errors.Is(err, syscall.ESTALE) {
				t.Errorf("close of the old file: %v", err)
			}
			if err := errors.Join(tc.write(g), g.Close()); err != nil {
				t.Errorf("write and close of the new file: %v", err)
			}
			if got := read(t, d.path(tc.file)); bytes.Equal(got, want) {
				t.Errorf("the new file is still %q", got)
			}
		})
	}
}

// TestLaterWriterSeesCurrentText: a text is open for writing, and another program changes it in the
// store. A program that opens it for writing then sees the change, and so does not undo it.
func TestLaterWriterSeesCurrentText(t *testing.T) {
	for _, tc := range openTexts {
		for _, stored := range []bool{false, true} {
			name := tc.name
			if stored {
				name += ", stored before"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				d := started(t, textStore(t, "3"))
				other := started(t, d.store)
				f := opened(t, d.path(tc.file), tc.flags)
				_, err := f.ReadAt(make([]byte, 4), 0)
				if stored {
					err = errors.Join(err, tc.write(f), f.Sync())
				}
				h := opened(t, other.path(tc.file), os.O_RDWR|os.O_TRUNC)
				text := `{"attributes": {"units": "other"}}` + "\n"
				if strings.HasSuffix(tc.file, "l") {
					text = "\"other\"\n\"lines\"\n"
				}
				_, e := h.WriteString(text)
				if err = errors.Join(err, e, h.Close()); err != nil {
					t.Fatal(err)
				}
				g := opened(t, d.path(tc.file), tc.flags)
				got, err := io.ReadAll(g)
				if err != nil || !bytes.Contains(got, []byte(`"other"`)) {
					t.Errorf("the later program finds %q, %v", got, err)
				}
			})
		}
	}
}
