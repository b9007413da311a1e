package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// stringArrays are arrays of no fixed element size: a document with SHAPE and CHUNKS in it, and the
// kind of their elements.
var stringArrays = map[string]struct{ document, elements string }{
	"2utf8":  {objectsV2("C", `[{"id":"vlen-utf8"}]`, `{"id":"zlib","level":1}`), "text"},
	"2utf8F": {objectsV2("F", `[{"id":"vlen-utf8"}]`, `null`), "text"},
	"2bytes": {objectsV2("C", `[{"id":"vlen-bytes"}]`,
		`{"id":"blosc","cname":"lz4","clevel":5,"shuffle":1,"blocksize":0}`), "bytes"},
	"2array": {objectsV2("C", `[{"id":"vlen-array","dtype":"<i4"}]`, `{"id":"zstd","level":1}`),
		"lists"},
	"2json":  {objectsV2("C", `[{"id":"json2"}]`, `{"id":"gzip","level":1}`), "text"},
	"2jsonF": {objectsV2("F", `[{"id":"json2"}]`, `null`), "text"},
	"2label": {objectsV2(
		"C", `[{"id":"categorize","dtype":"|O","labels":["grün","b"],"astype":"|u1"}]`, `null`),
		"labels"},
	"3utf8": {stringsV3("string", `[CODEC]`), "text"},
	"3zstd": {stringsV3("string", `[CODEC,{"name":"zstd","configuration":{"level":3,`+
		`"checksum":false}},{"name":"crc32c"}]`), "text"},
	"3blosc": {stringsV3("string", `[CODEC,{"name":"blosc","configuration":{"typesize":1,`+
		`"cname":"zstd","clevel":5,"shuffle":"noshuffle","blocksize":0}}]`), "text"},
	"3bytes": {stringsV3(
		"variable_length_bytes", `[CODEC,{"name":"gzip","configuration":{"level":1}}]`), "bytes"},
	"3shard": {stringsV3(
		"string", `[{"name":"sharding_indexed","configuration":{"chunk_shape":[2,1],`+
			`"codecs":[CODEC],`+
			`"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},`+
			`{"name":"crc32c"}],"index_location":"end"}}]`), "text"},
}

func objectsV2(order, filters, compressor string) string {
	return fmt.Sprintf(`{"zarr_format":2,"shape":[5,3],"chunks":[4,2],"dtype":"|O","order":%q,`+
		`"fill_value":null,"filters":%s,"compressor":%s}`, order, filters, compressor)
}

func stringsV3(dataType, codecs string) string {
	name := "vlen-bytes"
	if dataType == "string" {
		name = "vlen-utf8"
	}
	codecs = strings.ReplaceAll(codecs, "CODEC",
		fmt.Sprintf(`{"name":%q,"configuration":{}}`, name))
	return fmt.Sprintf(`{"zarr_format":3,"node_type":"array","shape":[5,3],`+
		`"data_type":%q,"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[4,2]}},`+
		`"chunk_key_encoding":{"name":"default","configuration":{"separator":"/"}},`+
		`"fill_value":"","codecs":%s,"attributes":{}}`, dataType, codecs)
}

// elementLines are lines of each kind of elements.
var elementLines = map[string][]string{
	"text": {`"grün"`, `""`, `"名前 😀"`, `"quote \" and \\"`, `"two\nlines\t"`,
		`"\u0001"`, `"plain"`},
	"bytes":  {`"AP8="`, `""`, `"YWI="`, `"YQA="`},
	"lists":  {`[1,-2]`, `[]`, `[2147483647]`},
	"labels": {`"b"`, `""`, `"grün"`},
}

// TestStringsWritten writes arrays of no fixed element size through a mount, first all of their
// lines and then two rows behind them. Then zarr-python 2, zarr-python 3 and zarrs read them.
func TestStringsWritten(t *testing.T) {
	v3, v2 := python(t, "ZARRFS_PY3", ".venv-v3"), python(t, "ZARRFS_PY2", ".venv-v2")
	for _, format := range []string{"2", "3"} {
		store := filepath.Join(t.TempDir(), "s.zarr")
		out, err := command(zarrfs(t), "create", store, "--group", "--format", format)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		mnt, want := mount(t, store), map[string][]string{}
		for name, a := range stringArrays {
			if name[:1] != format {
				continue
			}
			kind := elementLines[a.elements]
			for i := range 21 {
				want[name] = append(want[name], kind[i*i%len(kind)])
			}
			writeLines(t, filepath.Join(mnt, name), a.document, want[name])
		}
		if format == "2" {
			checkLines(t, v2, "zarr", store, want, 7)
			// it does not know lists, values of JSON and labels
			checkLines(t, v3, "zarr", store, want, 3)
			continue
		}
		checkLines(t, v3, "zarr", store, want, 5)
		checkLines(t, v3, "zarrs", store, want, 5)
	}
}

// stringGrids are arrays of no fixed element size whose chunks differ in shape, as stringArrays has
// others.
var stringGrids = map[string]struct{ document, elements string }{
	"bounded":      {inGrid(stringArrays["3utf8"].document, bounded("4, 2")), "text"},
	"boundedZstd":  {inGrid(stringArrays["3zstd"].document, bounded("3, 3")), "text"},
	"boundedBytes": {inGrid(stringArrays["3bytes"].document, bounded("300, 2")), "bytes"},
	"boundedShard": {inGrid(strings.Replace(stringArrays["3shard"].document, "[2,1]", "[1,1]", 1),
		bounded("4, 2")), "text"},
	"rectilinear": {inGrid(
		stringArrays["3zstd"].document, rectilinear("[3, 1, [2, 9]]", "[[1, 3]]")), "text"},
}

// inGrid is a document of version 3 with another chunk grid.
func inGrid(document, grid string) string {
	return strings.Replace(document,
		`{"name":"regular","configuration":{"chunk_shape":[4,2]}}`, grid, 1)
}

// TestStringsInCutGridsWritten writes, appends to, extends and truncates arrays of strings whose
// chunks differ in shape, through a mount. After each step they are read by others, as in
// TestCutGridsWritten: an object must have exactly the elements of its chunk.
func TestStringsInCutGridsWritten(t *testing.T) {
	py := python(t, "ZARRFS_PY3", ".venv-v3")
	store := filepath.Join(t.TempDir(), "s.zarr")
	if out, err := command(zarrfs(t), "create", store, "--group"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	mnt, want := mount(t, store), map[string][]string{}
	for name, a := range stringGrids {
		kind := elementLines[a.elements]
		for i := range 21 {
			want[name] = append(want[name], kind[i*i%len(kind)])
		}
		writeLines(t, filepath.Join(mnt, name), a.document, want[name])
	}
	check := func() {
		t.Helper()
		checkLines(t, py, "cut_grids", store, want, len(stringGrids))
		for name, lines := range want {
			if got, err := os.ReadFile(filepath.Join(mnt, name+".jsonl")); err != nil ||
				string(got) != strings.Join(lines, "\n")+"\n" {
				t.Errorf("%s through the mount: %v, found\n%s", name, err, got)
			}
		}
	}
	check()
	for _, rows := range []int{10, 6} {
		for name := range want {
			err := os.WriteFile(filepath.Join(mnt, name+".json"),
				fmt.Appendf(nil, `{"shape": [%d, 3]}`, rows), 0o666)
			if err != nil {
				t.Error(err)
			}
			want[name] = append(want[name],
				slices.Repeat([]string{`""`}, max(0, 3*rows-len(want[name])))...)[:3*rows]
		}
		check()
	}
	for name, a := range stringGrids {
		more := elementLines[a.elements][:3]
		shell(t, mnt,
			fmt.Sprintf("cat >> %s.jsonl <<'END'\n%s\nEND", name, strings.Join(more, "\n")))
		want[name] = append(want[name], more...)
	}
	check()
}

// TestListsAreCopied copies a tree with arrays of lists and of any values of JSON, of which there
// is not a .npy, and removes it.
func TestListsAreCopied(t *testing.T) {
	store := filepath.Join(t.TempDir(), "s.zarr")
	if out, err := command(zarrfs(t), "create", store, "--group", "--format", "2"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	mnt := mount(t, store)
	for name, lines := range map[string][]string{
		"2array": slices.Repeat([]string{`[1,-2]`, `[]`, `[7]`}, 7),
		"2json":  slices.Repeat([]string{`{"a": 1}`, `"text"`, `[null]`}, 7),
	} {
		if err := os.MkdirAll(filepath.Join(mnt, "g"), 0o777); err != nil {
			t.Fatal(err)
		}
		writeLines(t, filepath.Join(mnt, "g", name), stringArrays[name].document, lines)
	}
	shell(t, mnt, `
		test "$(ls g | xargs)" = "2array.json 2array.jsonl 2json.json 2json.jsonl zarr.json"
		cp -r g h; diff -r g h; rm -r h; test ! -e h`)
	if entries, err := os.ReadDir(store); err != nil ||
		slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == "h" }) {
		t.Errorf("the store still has what was removed: %v, %v", entries, err)
	}
}

// writeLines creates an array of 5 rows of 3 by its document, writes its lines, and appends what is
// left of them.
func writeLines(t *testing.T, path, document string, lines []string) {
	t.Helper()
	if err := os.WriteFile(path+".json", []byte(document), 0o666); err != nil {
		t.Fatalf("%s: %v", document, err)
	}
	text := strings.Join(lines[:15], "\n") + "\n"
	if err := os.WriteFile(path+".jsonl", []byte(text), 0o666); err != nil {
		t.Fatalf("%s: %v", document, err)
	}
	f, err := os.OpenFile(path+".jsonl", os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(strings.Join(lines[15:], "\n") + "\n"); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Errorf("%s: appended: %v", document, err)
	}
}

// checkLines compares what a library reads of arrays with the lines that they should have. It knows
// at least that many of them.
func checkLines(t *testing.T, python, reader, store string, want map[string][]string, atLeast int) {
	t.Helper()
	args := []string{"interop/read_lines.py", reader, store}
	for name := range want {
		args = append(args, name)
	}
	cmd := limited(t, python, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	equal, refused := 0, 0
	for line := range strings.Lines(string(out)) {
		name, result, _ := strings.Cut(strings.TrimSpace(line), " ")
		var got []string
		switch {
		case strings.HasPrefix(result, "refused"):
			refused++
			t.Logf("%s: %s %s", reader, name, result)
		case json.Unmarshal([]byte(result), &got) != nil || !slices.Equal(got, want[name]):
			t.Errorf("%s: %s:\n got %s\nwant %q", reader, name, result, want[name])
		default:
			equal++
		}
	}
	t.Logf("%s by %s: %d arrays equal, %d refused", reader, python, equal, refused)
	if equal < atLeast || equal+refused != len(want) {
		t.Errorf("%s: %d arrays equal, %d refused, expected %d equal",
			reader, equal, refused, atLeast)
	}
}

// TestTextReadWhileRewritten: a program reads the text of an array again and again while another
// one writes it with more rows and fewer. It finds a whole text each time, and no error.
func TestTextReadWhileRewritten(t *testing.T) {
	formats(t, func(t *testing.T, format string) {
		dir := t.TempDir()
		inPython(t, dir, `import zarr
import warnings; warnings.simplefilter("ignore")
g = zarr.create_group("s.zarr", zarr_format=`+format+`)
g.create_array("s", shape=(4,), chunks=(3,), dtype=str)[:] = np.array(["p", "q"] * 2, object)`)
		inPython(t, mount(t, filepath.Join(dir, "s.zarr")), `import threading, time
stop, counts = False, (2, 50, 1)
def write():
	k = 0
	while not stop:
		k += 1
		with open("s.jsonl", "w") as f:
			f.write('"p"\n"q"\n' * counts[k % 3])
		time.sleep(.002)
writer = threading.Thread(target=write)
writer.start()
reads, end = 0, time.time() + 4
try:
	while time.time() < end:
		found = open("s.jsonl").read()
		assert found in ['"p"\n"q"\n' * k for k in counts], (reads, found)
		reads += 1
finally:
	stop = True
	writer.join()
assert reads > 100, reads`)
	})
}
