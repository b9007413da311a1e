package integration

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// emptiedCommands make a file of an array empty. The array then has no rows, or stays as it is.
var emptiedCommands = []struct {
	script string
	fails  bool   // the command
	said   bool   // zarrfs errors has it
	rows   string // of a and s
}{
	{script: `: > a.raw`, rows: "0 3"},
	{script: `truncate -s 0 a.raw`, rows: "0 3"},
	{script: `cp /dev/null a.raw`, rows: "0 3"},
	{script: `: > $TMP/e.raw; mv $TMP/e.raw a.raw`, rows: "0 3"},
	{script: `: > $TMP/a.raw; tar -C $TMP -cf $TMP/t.tar a.raw; tar -xf $TMP/t.tar`,
		rows: "0 3"},
	{script: `: > e.raw; mv e.raw a.raw`, rows: "0 3"},
	{script: `: > s.jsonl`, rows: "5 0"},
	{script: `truncate -s 0 s.jsonl`, rows: "5 0"},
	{script: `python3 -c 'import os; os.truncate("s.jsonl", 0)'`, rows: "5 0"},
	{script: `cp /dev/null s.jsonl`, rows: "5 0"},
	{script: `: > $TMP/e.jsonl; mv $TMP/e.jsonl s.jsonl`, rows: "5 0"},
	{script: `: > .s.jsonl.Xy7z12; mv .s.jsonl.Xy7z12 s.jsonl`, rows: "5 0"},
	{script: `printf '"x"\n"y"\n' > s.jsonl`, rows: "5 2"},
	{script: `{ sleep 0.3; echo '"x"'; } > s.jsonl`, rows: "5 1"},
	{script: `printf 'bad\n' > s.jsonl`, fails: true, said: true, rows: "5 3"},
	{script: `rm s.jsonl a.raw a.npy; touch s.jsonl a.raw a.npy; rm a.json; touch a.json`,
		rows: "5 3"},
	{script: `touch s.jsonl a.raw a.npy a.json`, rows: "5 3"},
	{script: `: > a.npy`, said: true, rows: "5 3"},
	{script: `: > a.json`, said: true, rows: "5 3"},
	{script: `: > s.npy`, said: true, rows: "5 3"},
	{script: `truncate -s 0 a.npy`, fails: true, said: true, rows: "5 3"},
	{script: `truncate -s 0 a.json`, fails: true, said: true, rows: "5 3"},
	{script: `truncate -s 0 s.npy`, fails: true, said: true, rows: "5 3"},
	{script: `python3 -c 'import os; os.truncate("a.npy", 0)'`,
		fails: true, said: true, rows: "5 3"},
	{script: `python3 -c 'import os; os.truncate("a.json", 0)'`,
		fails: true, said: true, rows: "5 3"},
	{script: `cp /dev/null a.npy`, fails: true, said: true, rows: "5 3"},
	{script: `cp /dev/null a.json`, fails: true, said: true, rows: "5 3"},
	{script: `cp /dev/null s.npy`, fails: true, said: true, rows: "5 3"},
	{script: `: > $TMP/e.npy; mv $TMP/e.npy a.npy`, fails: true, said: true, rows: "5 3"},
	{script: `: > $TMP/e.json; mv $TMP/e.json a.json`, fails: true, said: true, rows: "5 3"},
}

// TestFilesAreEmptied: a command that makes a file of an array empty removes the rows, or fails. If
// it has no effect, the mount says so.
func TestFilesAreEmptied(t *testing.T) {
	need(t, "python3")
	for _, format := range []string{"2", "3"} {
		for _, c := range emptiedCommands {
			t.Run("format "+format+" "+c.script, func(t *testing.T) {
				checkEmptied(t, format, c.script, c.fails, c.said, c.rows)
			})
		}
	}
}

// TestEmptiedTextIsReadAtOnce: a program that reads a text right after another has emptied it and
// closed it finds nothing.
func TestEmptiedTextIsReadAtOnce(t *testing.T) {
	formats(t, func(t *testing.T, format string) {
		dir := t.TempDir()
		inPython(t, dir, `import zarr
import warnings; warnings.simplefilter("ignore")
g = zarr.create_group("s.zarr", zarr_format=`+format+`)
for i in range(40):
	g.create_array(f"s{i}", shape=(3,), dtype=str)[:] = np.array(["x", "y", "z"], dtype=object)`)
		inPython(t, mount(t, filepath.Join(dir, "s.zarr")), `for i in range(40):
	os.close(os.open(f"s{i}.jsonl", os.O_WRONLY | os.O_TRUNC))
	found = open(f"s{i}.jsonl").read()
	assert found == "", (i, found)`)
	})
}

func checkEmptied(t *testing.T, format, script string, fails, said bool, rows string) {
	store, mnt := filepath.Join(t.TempDir(), "s.zarr"), t.TempDir()
	run(t, zarrfs(t), "create", store, "--group", "--format", format)
	run(t, zarrfs(t), "create", store, "a", "--shape", "5,2", "--dtype", "int16")
	run(t, zarrfs(t), "create", store, "s", "--shape", "3", "--dtype", "string")
	run(t, zarrfs(t), "mount", store, mnt)
	t.Setenv("TMP", t.TempDir())
	cmd := limited(t, "sh", "-ec", script)
	cmd.Dir = mnt
	if out, err := cmd.CombinedOutput(); (err != nil) != fails {
		t.Errorf("%v\n%s", err, out)
	}
	errors := run(t, zarrfs(t), "errors", mnt)
	if said != strings.Contains(errors, "EINVAL") {
		t.Errorf("zarrfs errors says\n%s", errors)
	}
	run(t, zarrfs(t), "umount", mnt)
	var found []string
	for _, name := range []string{"a", "s"} {
		info := run(t, zarrfs(t), "info", store, name)
		found = append(found, regexp.MustCompile(`type .*\((\d+)`).FindStringSubmatch(info)[1])
	}
	if got := strings.Join(found, " "); got != rows {
		t.Errorf("expected rows %s, found %s", rows, got)
	}
}
