package integration

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// orderSource is a .npy file to be written into mounts, as interop/orders.py makes it.
type orderSource struct {
	Name    string
	Fortran bool
	Shape   []int64
	Type    string
	Number  int // differs between the types of one shape
}

// orderRecipes are recipes of arrays, by the number of axes: chunks of 2, 3 and 2, shards of 4, 6
// and 4, and transposes.
var orderRecipes = map[string]func(rank int) map[string]any{
	"none": func(int) map[string]any { return map[string]any{} },
	"chunks": func(rank int) map[string]any {
		return map[string]any{"chunks": chunkShape[:rank]}
	},
	"shards":           func(rank int) map[string]any { return sharded(rank, nil) },
	"automatic shards": func(int) map[string]any { return map[string]any{"shards": "auto"} },
	"transpose": func(rank int) map[string]any {
		return map[string]any{"codecs": transposing(reversed(rank))}
	},
	"other transpose": func(rank int) map[string]any {
		return map[string]any{"codecs": transposing(rotated(rank))}
	},
	"two transposes": func(rank int) map[string]any {
		return map[string]any{"codecs": transposing(reversed(rank), reversed(rank))}
	},
	"transpose, shards": func(rank int) map[string]any {
		return sharded(rank, transposing(reversed(rank)))
	},
	"rotation with shards": func(rank int) map[string]any {
		return sharded(rank, transposing(rotated(rank)))
	},
}

var chunkShape, shardShape = []int64{2, 3, 2}, []int64{4, 6, 4}

func sharded(rank int, codecs any) map[string]any {
	settings := map[string]any{"chunks": chunkShape[:rank], "shards": shardShape[:rank]}
	if codecs != nil {
		settings["codecs"] = codecs
	}
	return settings
}

// transposing is a chain of transposes and gzip.
func transposing(orders ...[]int) []any {
	var chain []any
	for _, order := range orders {
		chain = append(chain,
			map[string]any{"name": "transpose", "configuration": map[string]any{"order": order}})
	}
	return append(chain, "bytes", "gzip")
}

func reversed(rank int) (order []int) {
	for i := range rank {
		order = append(order, rank-1-i)
	}
	return order
}

func rotated(rank int) (order []int) {
	for i := range rank {
		order = append(order, (i+1)%rank)
	}
	return order
}

// nested gives the stored arrays of a folder shards within shards, with codecs in the innermost
// ones and before the outermost.
func nested(before, inner func(rank int) []any) func(t *testing.T, dir string) {
	return func(t *testing.T, dir string) {
		eachDocument(t, dir, func(doc map[string]any) {
			rank := len(doc["shape"].([]any))
			chain := slices.DeleteFunc(doc["codecs"].([]any),
				func(c any) bool { return c.(map[string]any)["name"] == "transpose" })
			doc["chunk_grid"] = map[string]any{"name": "regular",
				"configuration": map[string]any{"chunk_shape": repeated(4, rank)}}
			chain = append(inner(rank), chain...)
			doc["codecs"] = append(before(rank),
				shardsOf(repeated(2, rank), []any{shardsOf(repeated(1, rank), chain)}))
		})
	}
}

func shardsOf(chunk []int64, codecs []any) any {
	endian := map[string]any{"name": "bytes", "configuration": map[string]any{"endian": "little"}}
	return map[string]any{"name": "sharding_indexed", "configuration": map[string]any{
		"chunk_shape": chunk, "codecs": codecs,
		"index_codecs":   []any{endian, map[string]any{"name": "crc32c"}},
		"index_location": "end"}}
}

func repeated(n int64, rank int) []int64 { return slices.Repeat([]int64{n}, rank) }

// eachDocument changes the zarr.json of each array below a folder of a store, and removes its
// objects.
func eachDocument(t *testing.T, dir string, change func(doc map[string]any)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "zarr.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d documents, %v", dir, len(files), err)
	}
	for _, file := range files {
		var doc map[string]any
		if err := json.Unmarshal(read(t, file), &doc); err != nil {
			t.Fatal(err)
		}
		change(doc)
		text, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Dir(file), "zarr.json", string(text))
		if err := os.RemoveAll(filepath.Join(filepath.Dir(file), "c")); err != nil {
			t.Fatal(err)
		}
	}
}

func noCodecs(int) []any         { return nil }
func reversing(rank int) []any   { return transposing(reversed(rank))[:1] }
func identically(rank int) []any { return transposing([]int{0, 1, 2}[:rank], reversed(rank))[:2] }

// orderLayouts are what arrays are changed to in the store, before others are written over them.
var orderLayouts = map[string]func(t *testing.T, dir string){
	"nested shards":                   nested(noCodecs, noCodecs),
	"nested shards, transpose inside": nested(noCodecs, reversing),
	"nested shards, transpose before": nested(reversing, noCodecs),
	"nested shards, both":             nested(reversing, reversing),
	"nested shards, stored in F":      nested(noCodecs, identically),
}

// orderWays are the ways to write files of one folder to another.
var orderWays = []struct {
	name  string
	write func(o *orders, names []string, dir, twin string) error
}{
	{"cp",
		func(o *orders, names []string, dir, _ string) error { return o.tool("cp", names, dir) }},
	{"rsync", func(o *orders, names []string, dir, _ string) error {
		return o.tool("rsync", names, dir, "-a", "--ignore-times")
	}},
	{"rename", func(o *orders, names []string, dir, _ string) error {
		for _, name := range names {
			temporary := filepath.Join(dir, name+".part")
			err := os.WriteFile(temporary, read(o.t, filepath.Join(o.sources, name)), 0o666)
			if err != nil {
				return err
			}
			if err := os.Rename(temporary, filepath.Join(dir, name)); err != nil {
				return err
			}
		}
		return nil
	}},
	{"np.save", func(o *orders, names []string, dir, twin string) error {
		return o.numpy("save", names, dir, twin)
	}},
	{"open_memmap", func(o *orders, names []string, dir, twin string) error {
		return o.numpy("memmap", names, dir, twin)
	}},
}

// orders is one run of TestOrders.
type orders struct {
	t       *testing.T
	peer    *peer
	sources string // a folder of .npy files
	files   []orderSource
	pairs   [][2]string // arrays in the store, and the .npy with the values that they must have
	silent  int         // files of the mount that were as their source, byte for byte
}

func (o *orders) tool(name string, names []string, dir string, flags ...string) error {
	if _, err := exec.LookPath(name); err != nil {
		o.t.Logf("%s is not installed: cp stands for it", name)
		name, flags = "cp", nil
	}
	for _, file := range names {
		flags = append(flags, filepath.Join(o.sources, file))
	}
	if out, err := command(name, append(flags, dir+"/")...); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, out)
	}
	return nil
}

func (o *orders) numpy(way string, names []string, dir, twin string) error {
	var n int
	return o.peer.ask(request{"do": "orders_write", "way": way, "names": names, "source": o.sources,
		"targets": []string{dir, twin}}, &n)
}

// some returns a share of the sources with a number of axes. Each turn gets other ones.
func (o *orders) some(rank, turn int) (some []orderSource) {
	share := min(count("ZARRFS_ORDER_SHARE", 8), 8) // 1: all; there are 8 types
	for _, f := range o.files {
		if len(f.Shape) == rank && f.Number%share == turn%share {
			some = append(some, f)
		}
	}
	return some
}

// eachWay chooses files for each way to write them, and a folder of the mount for each.
func (o *orders) eachWay(
	d *daemon, folder string, rank, turn int, do func(way int, names []string, dir string),
) {
	for i, way := range orderWays {
		var names []string
		for _, f := range o.some(rank, turn+i) {
			names = append(names, f.Name)
		}
		dir := d.path(filepath.Join(folder, way.name))
		if err := os.MkdirAll(dir, 0o777); err != nil {
			o.t.Fatal(err)
		}
		do(i, names, dir)
	}
}

// write writes files to folders of the mount, in another way to each, after it has called before.
// It compares what the mount then shows with what a plain folder has.
func (o *orders) write(
	d *daemon, folder string, rank, turn int, before func(names []string, dir string),
) {
	o.eachWay(d, folder, rank, turn, func(i int, names []string, dir string) {
		before(names, dir)
		twin := o.t.TempDir()
		if err := orderWays[i].write(o, names, dir, twin); err != nil {
			o.t.Errorf("%s: %v", dir, err)
			return
		}
		o.compare(o.some(rank, turn+i), dir,
			filepath.Join(d.store, folder, orderWays[i].name), twin)
	})
}

// compare compares files of the mount with those of a plain folder or, where that has none, with
// their sources.
func (o *orders) compare(files []orderSource, dir, store, twin string) {
	for _, f := range files {
		source := filepath.Join(o.sources, f.Name)
		o.pairs = append(o.pairs,
			[2]string{filepath.Join(store, strings.TrimSuffix(f.Name, ".npy")), source})
		want, err := os.ReadFile(filepath.Join(twin, f.Name))
		if err != nil {
			want = read(o.t, source)
		}
		if len(f.Shape) < 2 {
			want = inCOrder(want)
		}
		if got, err := os.ReadFile(filepath.Join(dir, f.Name)); err != nil ||
			!bytes.Equal(got, want) {
			o.t.Errorf("%s/%s differs from its source: %v\n%.120q, expected\n%.120q",
				dir, f.Name, err, got, want)
			continue
		}
		o.silent++
	}
}

// inCOrder returns a .npy of fewer than two axes with the header that it has in the mount. Such a
// file is shown in C order whatever its header said.
func inCOrder(npy []byte) []byte {
	end := bytes.IndexByte(npy, '\n') + 1
	header, data := npy[:end], npy[end:]
	c := bytes.Replace(header, []byte("'fortran_order': True, "),
		[]byte("'fortran_order': False, "), 1)
	if len(c) > len(header) {
		header = append(c[:len(header)-1], '\n') // without a space of the padding
	}
	return slices.Concat(header, data)
}

// check has the libraries read all arrays.
func (o *orders) check() {
	var answer struct {
		Readings int
		Wrong    []string
	}
	if err := o.peer.ask(request{"do": "orders_compare", "pairs": o.pairs}, &answer); err != nil {
		o.t.Fatal(err)
	}
	for i, wrong := range answer.Wrong {
		if i == 20 {
			break
		}
		o.t.Error(wrong)
	}
	o.t.Logf("%d arrays, %d files as their sources, %d readings by zarr-python and tensorstore, "+
		"%d of them wrong",
		len(o.pairs), o.silent, answer.Readings, len(answer.Wrong))
}

// TestOrders writes .npy files in C and in Fortran order, in each usual way. They go to new arrays,
// and to arrays that exist in the other order. The recipes and layouts of the arrays store elements
// in either order. Each array must have the values of its source, as zarr-python and tensorstore
// read them. The file that is shown must be the source byte for byte. ZARRFS_ORDER_SHARE=1 takes
// all types of all shapes each time, instead of an eighth of them.
func TestOrders(t *testing.T) {
	zarrfs(t)
	o := &orders{t: t, peer: startPeer(t, python(t, "ZARRFS_PY3", ".venv-v3")),
		sources: t.TempDir()}
	err := o.peer.ask(request{"do": "orders_sources", "folder": o.sources}, &o.files)
	if err != nil {
		t.Fatal(err)
	}
	o.recipes(t.TempDir(), 3, slices.Sorted(maps.Keys(orderRecipes)))
	o.recipes(t.TempDir(), 2, []string{"none", "chunks"})
	o.flags(t.TempDir())
	o.layouts(t.TempDir())
	o.check()
}

// ranks are the numbers of axes for which a recipe is tried.
func ranks(recipe string) []int {
	if recipe == "none" {
		return []int{0, 1, 2, 3}
	}
	return []int{1, 2, 3}
}

// recipes writes to new arrays, and over those in the other order, in groups that have recipes.
func (o *orders) recipes(store string, format int, names []string) {
	putGroup(o.t, store, format, nil)
	for _, name := range names {
		for _, rank := range ranks(name) {
			putGroup(o.t, filepath.Join(store, name+fmt.Sprint(rank)), format,
				orderRecipes[name](rank))
		}
	}
	d := started(o.t, store)
	for turn, name := range names {
		for _, rank := range ranks(name) {
			o.write(d, filepath.Join(name+fmt.Sprint(rank), "new"), rank, turn, nothing)
			o.write(d, filepath.Join(name+fmt.Sprint(rank), "over"), rank, turn, o.writeOther)
		}
	}
	o.stop(d)
}

// flags writes to new arrays of two axes in a mount whose flags describe them.
func (o *orders) flags(store string) {
	putGroup(o.t, store, 3, nil)
	d := started(o.t, store, "--create-chunks", "3,4", "--create-shards", "6,8")
	o.write(d, "new", 2, 0, nothing)
	o.stop(d)
}

// layouts writes over arrays in the other order whose documents were changed in the store
// meanwhile.
func (o *orders) layouts(store string) {
	putGroup(o.t, store, 3, nil)
	d := started(o.t, store)
	each := func(do func(layout string, rank, turn int)) {
		for turn, layout := range slices.Sorted(maps.Keys(orderLayouts)) {
			for rank := 1; rank <= 3; rank++ {
				do(layout, rank, turn)
			}
		}
	}
	each(func(layout string, rank, turn int) {
		o.eachWay(d, layout+fmt.Sprint(rank), rank, turn,
			func(_ int, files []string, dir string) { o.writeOther(files, dir) })
	})
	o.stop(d)
	each(func(layout string, rank, turn int) {
		for _, way := range orderWays {
			orderLayouts[layout](o.t, filepath.Join(store, layout+fmt.Sprint(rank), way.name))
		}
	})
	if err := d.start(); err != nil {
		o.t.Fatal(err)
	}
	each(func(layout string, rank, turn int) {
		o.write(d, layout+fmt.Sprint(rank), rank, turn, nothing)
	})
	o.stop(d)
}

func nothing([]string, string) {}

// writeOther writes arrays with the values of files, in the other order.
func (o *orders) writeOther(names []string, dir string) {
	for _, name := range names {
		other := map[byte]string{'C': "F", 'F': "C"}[name[0]] + name[1:]
		err := os.WriteFile(filepath.Join(dir, name),
			read(o.t, filepath.Join(o.sources, other)), 0o666)
		if err != nil {
			o.t.Error(err)
		}
	}
}

func (o *orders) stop(d *daemon) {
	if err := d.stop(); err != nil {
		o.t.Error(err)
	}
}

// putGroup writes the documents of a group whose attribute zarrfs describes new arrays.
func putGroup(t *testing.T, dir string, format int, settings map[string]any) {
	t.Helper()
	attributes := map[string]any{}
	if settings != nil {
		attributes["zarrfs"] = settings
	}
	text, err := json.Marshal(attributes)
	if err != nil {
		t.Fatal(err)
	}
	if format == 2 {
		put(t, dir, ".zgroup", `{"zarr_format": 2}`)
		put(t, dir, ".zattrs", string(text))
		return
	}
	put(t, dir, "zarr.json",
		fmt.Sprintf(`{"zarr_format": 3, "node_type": "group", "attributes": %s}`, text))
}

// TestWriterOfAnotherOrder: a program that has written a header, and goes on when a file in the
// other order was renamed onto its own, gets an error: what it writes has no place in the array of
// that name.
func TestWriterOfAnotherOrder(t *testing.T) {
	zarrfs(t)
	store := t.TempDir()
	putGroup(t, store, 3, nil)
	d := started(t, store)
	npy := func(fortran string, data string) []byte {
		header := fmt.Sprintf("\x93NUMPY\x01\x00v\x00{'descr': '|u1', 'fortran_order': %s, "+
			"'shape': (7, 11), }", fortran)
		return append([]byte(header+strings.Repeat(" ", 127-len(header))+"\n"), data...)
	}
	inF, inC := npy("True", strings.Repeat("f", 77)), npy("False", strings.Repeat("c", 77))
	f, err := os.Create(d.path("a.npy"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(inF[:150]); err != nil {
		t.Fatal(err)
	}
	put(t, d.dir, "part", string(inC))
	if err := os.Rename(d.path("part"), d.path("a.npy")); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(inF[150:]); !errors.Is(err, unix.EOPNOTSUPP) {
		t.Errorf("the writer is told %v, expected %v", err, unix.EOPNOTSUPP)
	}
	why := xattr(t, d.path("a.npy"), "user.zarrfs.error")
	if !strings.Contains(why, "expected an array in Fortran order, found one in C order") {
		t.Errorf("user.zarrfs.error: %s", why)
	}
	if got := read(t, d.path("a.npy")); !bytes.Equal(got, inC) {
		t.Errorf("the array has % x, expected % x", got, inC)
	}
	f.Close()
	if err := d.stop(); err != nil {
		t.Error(err)
	}
}
