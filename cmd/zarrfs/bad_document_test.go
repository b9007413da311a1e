package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestBadDocumentsAreRefusedAtOnce: a text that begins no document is refused when it is
// written, because shells do not look at the error of close. The stored document stays.
func TestBadDocumentsAreRefusedAtOnce(t *testing.T) {
	dir := mounted(t, writableStore(t))
	old := bytesOf(t, filepath.Join(dir, "rows.json"))
	for _, tc := range []struct{ command, why string }{
		{`echo '{bad' > rows.json`,
			"line 1, column 2 (byte 1): expected a key in double quotes, found 'b'"},
		{`echo hello > rows.json`,
			"line 1, column 1 (byte 0): expected a value, found 'h'"},
		{`echo '{"attributes": {}}}' > rows.json`,
			"line 1, column 19 (byte 18): expected the end of the document, found '}'"},
		{`echo '[1]' > rows.json`,
			"expected an object, found [1]"},
		{`echo x >> rows.json`,
			"expected the end of the document, found 'x'"},
		{`(printf '{"a":\n'; printf '1,\n,') > rows.json`,
			"line 3, column 1 (byte 9): expected a key in double quotes, found ','"},
		{`(echo '{"a": tru'; echo 'e}') > rows.json`,
			"expected a value, found 't'"},
		{`(echo '{"a": 1]'; true; echo '"b": 1') > zarr.json`,
			"expected ',' or '}', found ']'"},
		{`echo hello > new.json`,
			"line 1, column 1 (byte 0): expected a value, found 'h'"},
		{`echo '{"attributes": {}}' > new.json`,
			"expected the document of an array"},
	} {
		command, why := tc.command, tc.why
		for _, shell := range []string{"sh", "bash"} {
			cmd := exec.Command(shell, "-c", command)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err == nil {
				t.Errorf("%s: %s: exit code 0: %s", shell, command, out)
			}
			if _, out := zarrfs(t, "errors", dir); !strings.Contains(out, why) {
				t.Errorf("%s: want %q in the errors:\n%s", command, why, out)
			}
		}
		check(t, command, bytesOf(t, filepath.Join(dir, "rows.json")), old)
		if _, err := os.Stat(filepath.Join(dir, "new.json")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: new.json: %v", command, err)
		}
	}
	saysWhy(t, filepath.Join(dir, "rows.json"), "expected")
	f := openFile(t, filepath.Join(dir, "rows.json"), os.O_RDWR|os.O_TRUNC)
	if _, err := f.WriteString("bad\n"); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("write: %v", err)
	}
	if _, err := f.WriteAt([]byte("{}"), 0); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("a write behind it: %v", err)
	}
	noError(t, "truncate", f.Truncate(0))
	_, err := f.WriteAt([]byte(`"attributes": {"a": 1}}`), 1) // only close can tell
	noError(t, "out of order", err)
	_, err = f.WriteAt([]byte("{"), 0)
	noError(t, "put right", errors.Join(err, f.Close()))
	got := bytesOf(t, filepath.Join(dir, "rows.json"))
	if !strings.Contains(string(got), `"a": 1`) {
		t.Errorf("put right: %s", got)
	}
}

// TestLongDocumentInPieces writes a long document in small pieces. The time does not grow with the
// square of the document's length.
func TestLongDocumentInPieces(t *testing.T) {
	dir := mounted(t, writableStore(t))
	long := 8 << 20
	if testing.Short() {
		long = 1 << 20
	}
	text := `{"attributes": {"long": "` + strings.Repeat("x", long) + `"}}`
	f := openFile(t, filepath.Join(dir, "zarr.json"), os.O_WRONLY|os.O_TRUNC)
	for rest := text; rest != ""; {
		n := min(len(rest), 4096)
		_, err := f.WriteString(rest[:n])
		noError(t, "write", err)
		rest = rest[n:]
	}
	noError(t, "close", f.Close())
	if got := bytesOf(t, filepath.Join(dir, "zarr.json")); len(got) < len(text) {
		t.Errorf("%d bytes, want %d", len(got), len(text))
	}
}

// TestGroupDocumentMakesNoGroup copies a group's document to another name in the mount. It says how
// to make a group, and trees with groups are copied as before.
func TestGroupDocumentMakesNoGroup(t *testing.T) {
	for _, format := range []string{"2", "3"} {
		store := filepath.Join(t.TempDir(), "test.zarr")
		code, out := zarrfs(t, "create", store, "--group", "--format", format,
			"--attributes", `{"a": 1}`)
		if code != 0 {
			t.Fatal(out)
		}
		dir := mounted(t, store)
		for _, command := range []string{
			"cp zarr.json z2.json", "cat zarr.json > z2.json", "cp zarr.json x; mv x z2.json",
			`echo '{"attributes": {}}' > z2.json`, `echo '{"zarr_format": 2}' > z2.json`,
			`echo '{"zarr_format": 3, "node_type": "group"}' > z2.json`,
		} {
			if out, err := sh(dir, command); err == nil {
				t.Errorf("format %s: %s: exit 0: %s", format, command, out)
			}
			_, out := zarrfs(t, "errors", dir)
			if !strings.Contains(out, "mkdir z2 makes a group, and z2/zarr.json is its document") {
				t.Errorf("%s: %s", command, out)
			}
			if out, err := sh(dir, "rm -f x; ls"); err != nil || out != "zarr.json\n" {
				t.Errorf("format %s: after %s: %v\n%s", format, command, err, out)
			}
		}
		out, err := sh(dir, `mkdir -p g/h; cp zarr.json g/zarr.json && cp -r g i &&
			cp g/zarr.json i/h/zarr.json && grep -h a i/zarr.json i/h/zarr.json`)
		if err != nil || strings.Count(out, `"a": 1`) != 2 {
			t.Errorf("format %s: copies of groups: %v\n%s", format, err, out)
		}
	}
}
