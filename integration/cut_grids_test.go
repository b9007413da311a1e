package integration

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// gzipLevel1 are codecs that compress: objects and elements differ in size.
const gzipLevel1 = `[{"name": "gzip", "configuration": {"level": 1}}]`

// cutGrids are arrays whose chunks differ in shape. Axis 0 can shrink and grow in all of them.
var cutGrids = map[string]arraySpec{
	"one axis": {Shape: []int64{40}, Codec: "[]",
		Grid: rectilinear("[10, [5, 4], 20, [30, 9999]]")},
	"two axes": {Shape: []int64{7, 9}, Codec: gzipLevel1,
		Grid: rectilinear("[3, 1, 3, [2, 9999]]", "[[2, 3], 3]")},
	"padding": {Shape: []int64{7, 9}, Codec: gzipLevel1,
		Grid: rectilinear("3", "[4, 6]")},
	"Fortran order": {Shape: []int64{6, 5, 4}, Codec: gzipLevel1, Order: "F",
		Grid: rectilinear("[1, 2, 3, [8, 9999]]", "5", "[1, 3]")},
	"shards": {Shape: []int64{8, 12}, Codec: gzipLevel1, Chunks: []int64{2, 3},
		Shards: []int64{}, Grid: rectilinear("[2, 4, 2, [6, 9999]]", "[3, 9]")},
	"rectangular": {Shape: []int64{17, 9}, Codec: gzipLevel1,
		Grid: `{"name": "rectangular", "configuration": {"chunk_shape": [[3, 4, 10` +
			strings.Repeat(", 50", 2000) + `], 5]}}`},
	"bounded":           {Shape: []int64{100}, Codec: "[]", Grid: bounded("30")},
	"bounded, two axes": {Shape: []int64{7, 9}, Codec: gzipLevel1, Grid: bounded("3, 4")},
	"bounded, Fortran order": {Shape: []int64{7, 9, 3}, Codec: gzipLevel1, Order: "F",
		Grid: bounded("30, 4, 2")},
	"bounded, shorter than one": {Shape: []int64{2, 3}, Codec: "[]", Grid: bounded("300, 4")},
	"bounded, shards": {Shape: []int64{8, 12}, Codec: gzipLevel1, Chunks: []int64{1, 3},
		Shards: []int64{}, Grid: bounded("6, 9")},
}

func rectilinear(axes ...string) string {
	return fmt.Sprintf(`{"name": "rectilinear", "configuration": {"kind": "inline", `+
		`"chunk_shapes": [%s]}}`, strings.Join(axes, ", "))
}

func bounded(shape string) string {
	return fmt.Sprintf(`{"name": "zarrs.regular_bounded", "configuration": {"chunk_shape": [%s]}}`,
		shape)
}

// TestCutGridsWritten does the random operations of TestWriteModel on arrays whose chunks differ in
// shape: through .raw, .npy and mappings, with appending, truncation and holes. What is stored then
// is read by others: NumPy says where the chunks are, and zarr-python decodes them.
func TestCutGridsWritten(t *testing.T) {
	reader := startPeer(t, python(t, "ZARRFS_PY3", ".venv-v3"))
	seed := modelSeeds(t)[0]
	for name, spec := range cutGrids {
		t.Run(fmt.Sprintf("%s/%d", name, seed), func(t *testing.T) {
			t.Parallel()
			spec.Format, spec.Keys, spec.Index = 3, "/", "end"
			spec.Type = elementType{"<u2", "uint16", 2, "1799", "\x07\x07"}
			rng := rand.New(rand.NewPCG(seed, 0))
			// objects that differ in shape cannot be exchanged
			script := slices.DeleteFunc(randomScript(rng, modelOps),
				func(o op) bool { return o.do == "outside" })
			run := func(script []op) error {
				m := newMountedArray(t, spec, reader)
				defer m.end()
				return runModel(script, m)
			}
			reportModel(t, run, script, spec.String())
		})
	}
}

// TestCutGridsReaderSees: the readers of TestCutGridsWritten find a byte that differs.
func TestCutGridsReaderSees(t *testing.T) {
	reader := startPeer(t, python(t, "ZARRFS_PY3", ".venv-v3"))
	spec := arraySpec{Format: 3, Type: elementTypes[0], Shape: []int64{4}, Codec: "[]", Keys: "/",
		Grid: rectilinear("[1, 3]")}
	store := t.TempDir()
	spec.write(t, store)
	put(t, store, "a/c/1", "abc")
	check := func(want string) error {
		return reader.check(filepath.Join(store, "a"), spec, []byte(want),
			filepath.Join(t.TempDir(), "want"))
	}
	if err := check("\x00abc"); err != nil {
		t.Error(err)
	}
	if err := check("\x00abd"); err == nil {
		t.Error("an element that differs is not seen")
	}
	put(t, store, "a/c/2", "abc")
	if err := check("\x00abc"); err == nil {
		t.Error("an object behind the array's end is not seen")
	}
}
