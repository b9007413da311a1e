package integration

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"
)

// TestTruncateAndAppendKeepNoError: one mount truncates an array again and again while another
// appends to it. Whatever each program is told, in the end neither mount keeps an error for an
// array of which nothing is dirty. Both are unmounted, and leave no empty file for data that is not
// stored. Refused rows are not in the store: the array has what was appended, and the fill value
// where it grows.
func TestTruncateAndAppendKeepNoError(t *testing.T) {
	for _, format := range []string{"2", "3"} {
		t.Run(format, func(t *testing.T) { cutAndAppend(t, format) })
	}
}

func cutAndAppend(t *testing.T, format string) {
	base, scratch := filepath.Join(t.TempDir(), "s.zarr"), t.TempDir()
	run(t, zarrfs(t), "create", base, "--group", "--format", format)
	run(t, zarrfs(t), "create", base, "a", "--shape", "100", "--chunks", "16", "--dtype", "<i8",
		"--codecs", "none")
	cutter, appender := started(t, base, "--scratch-dir", scratch),
		started(t, base, "--scratch-dir", scratch)
	end := time.Now().Add(raceTime())
	told := [2]map[string]int{{}, {}}
	var wg sync.WaitGroup
	for i, do := range []func() error{
		func() error { return cut(cutter.path("a.raw")) },
		func() error { return appendRows(appender.path("a.raw")) },
	} {
		wg.Go(func() {
			for time.Now().Before(end) {
				if err := do(); err != nil {
					told[i][err.Error()]++
				} else {
					told[i]["ok"]++
				}
			}
		})
	}
	wg.Wait()
	t.Logf("the one that truncates was told %v, the appender %v", told[0], told[1])
	defer func() { addCuts(t, format, told) }()
	for _, d := range []*daemon{cutter, appender} {
		endsClean(t, d, scratch)
	}
	if told[0]["ok"] == 0 || told[1]["ok"] == 0 {
		t.Error("nothing has raced")
	}
	nothingComesBack(t, base)
}

// addCuts adds the result to the table of races.
func addCuts(t *testing.T, format string, told [2]map[string]int) {
	row := raceRow{}
	for _, told := range told {
		row.rounds += told["ok"]
		for text, times := range told {
			if text != "ok" {
				row.allow(lastPart(text), times)
			}
		}
	}
	if t.Failed() {
		row.accused++
	}
	races.add("6 a mount truncates, another appends", "format "+format, row)
}

// nothingComesBack makes the array longer than it ever was. The first five rows were never
// truncated. Behind them it has rows that were appended, and then the fill value.
func nothingComesBack(t *testing.T, base string) {
	path := filepath.Join(mount(t, base), "a.raw")
	stored := read(t, path)
	const most = 10_000 // rows
	if err := os.Truncate(path, most*8); err != nil {
		t.Fatal(err)
	}
	grown := read(t, path)
	expect := bytes.Clone(grown[:5*8])
	expect = append(expect, bytes.Repeat(row, len(stored)/8-5)...)
	expect = append(expect, make([]byte, most*8-len(stored))...)
	for i := range most {
		if !bytes.Equal(grown[i*8:][:8], expect[i*8:][:8]) {
			t.Fatalf("of %d rows that were stored, row %d is %v, expected %v",
				len(stored)/8, i, grown[i*8:][:8], expect[i*8:][:8])
		}
	}
}

// endsClean unmounts. The unmount may fail only if rows could not be stored. The next attempt then
// stores these rows, or keeps them in a file of the scratch folder.
func endsClean(t *testing.T, d *daemon, scratch string) {
	t.Helper()
	pattern := filepath.Join(scratch,
		fmt.Sprintf("zarrfs-unsaved-%d-*.unsaved", d.process.Process.Pid))
	before := len(d.logged())
	if out, err := command(d.bin, "umount", d.dir); err != nil {
		t.Logf("umount: %v\n%s", err, out)
		if !notStored.MatchString(d.logged()[before:]) {
			t.Error("umount failed, though nothing was dirty")
		}
		out, err := command(d.bin, "umount", "--force", d.dir) // which tries again
		if kept, _ := filepath.Glob(pattern); (err == nil) != (len(kept) == 0) {
			t.Errorf("umount --force: %v, %d files\n%s", err, len(kept), out)
		}
	}
	d.wait()
	d.process = nil
	kept, _ := filepath.Glob(pattern)
	for _, name := range kept {
		if !bytes.Contains(read(t, name), row) {
			t.Errorf("%s has no row that was appended", name)
		}
	}
}

// notStored is what the log says of bytes that could not be stored.
var notStored = regexp.MustCompile(`msg="not stored, will be [^"]*" array=a bytes=[1-9]`)

// row is a row that is appended.
var row = bytes.Repeat([]byte{7}, 8)

// cut truncates the array to five rows, and waits until that is stored.
func cut(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Truncate(5 * 8); err != nil {
		return err
	}
	return f.Sync()
}

// appendRows appends 30 rows, none of which is zero, and waits until they are stored.
func appendRows(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write(bytes.Repeat(row, 30)); err != nil {
		return err
	}
	return f.Sync()
}
