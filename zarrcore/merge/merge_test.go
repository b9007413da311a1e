package merge

import (
	"bytes"
	"context"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/band"
	"github.com/zarrfs/zarrfs/zarrcore/chunk"
	"github.com/zarrfs/zarrfs/zarrcore/codec"
	"github.com/zarrfs/zarrfs/zarrcore/dirty"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/object"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
)

// plainBytes is an array of 8 bytes in objects of 4, whose fill value is 9.
const plainBytes = `{"zarr_format": 3, "node_type": "array", "shape": [8], "data_type": "uint8",
	"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}},
	"chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
	"fill_value": 9, "codecs": [{"name": "bytes"}]}`

// arrayOf returns the array of a document, and what opens its objects.
func arrayOf(t *testing.T, doc string) (Array, *codec.Chain, object.Opener) {
	t.Helper()
	m, err := meta.ParseArray(3, map[string][]byte{meta.NameV3: []byte(doc)})
	if err != nil {
		t.Fatal(err)
	}
	chains, chain, err := object.NewChains(m, codec.Bind)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := object.NewLayout(m, "a", chain, false)
	if err != nil {
		t.Fatal(err)
	}
	mem := chunk.NewMemory(1 << 20)
	opener := object.Opener{Keys: objects.Keys, Chains: chains, Lengths: object.NewLengths(8),
		Fill: m.Fill, Shared: object.NewShared(mem)}
	return Array{
		Objects: objects, Grid: objects.ChunkGrid(), Element: m.Fill, Fill: object.NewFill(m.Fill),
		Plain: chain.IsPlain() && !chain.IsSharded(), Memory: mem, Count: new(object.Counters),
	}, chain, opener
}

// collected is an object whose parts were collected.
type collected []byte

func (c *collected) Write(p []byte) (int, error) {
	*c = append(*c, p...)
	return len(p), nil
}

func (c *collected) WriteAt(p []byte, off int64) (int, error) {
	return copy((*c)[off:], p), nil
}

// TestWrite: dirty bytes of an object lie over the stored ones, and over fill value where nothing
// is stored or what is stored was truncated.
func TestWrite(t *testing.T) {
	tests := []struct {
		name   string
		stored []byte // nil: nothing
		dirty  []byte // from byte 1 on
		cut    int64
		want   []byte // nil: to be deleted, or same
		same   bool
	}{
		{"over stored bytes", []byte{1, 2, 3, 4}, []byte{5, 6}, 4, []byte{1, 5, 6, 4}, false},
		{"over nothing", nil, []byte{5}, 4, []byte{9, 5, 9, 9}, false},
		{"over truncated bytes", []byte{1, 2, 3, 4}, []byte{5}, 3, []byte{1, 5, 3, 9}, false},
		{"truncated only", []byte{1, 2, 3, 4}, nil, 2, []byte{1, 2, 9, 9}, false},
		{"all truncated", []byte{1, 2, 3, 4}, nil, 0, nil, false},
		{"nothing to do", []byte{1, 2, 3, 4}, nil, 4, nil, true},
		{"fill value only", []byte{9, 2, 9, 9}, []byte{9}, 4, nil, false},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			a, chain, opener := arrayOf(t, plainBytes)
			o := &Object{Array: a, Chain: chain, CutIn: func(int64) int64 { return c.cut }}
			set := dirty.NewPool(1<<20, band.NewScratch(t.TempDir(), 1<<20)).NewSet()
			if c.dirty != nil {
				if _, err := set.Write(0, 4, 1, c.dirty); err != nil {
					t.Fatal(err)
				}
				f, err := set.Freeze(0)
				if err != nil {
					t.Fatal(err)
				}
				o.Frozen = append(o.Frozen, f)
			}
			if o.Covers(true) {
				t.Error("a part of an object covers all of it")
			}
			plan := o.Over(stored(t, opener, c.stored))
			if plan.Same() != c.same {
				t.Errorf("same %v, expected %v", plan.Same(), c.same)
			}
			for range 2 { // it may be written again
				var made collected
				empty, err := plan.Write(&made)
				if err != nil || empty != (c.want == nil) || !bytes.Equal(made, c.want) {
					t.Errorf("object %v, empty %v, %v; expected %v", made, empty, err, c.want)
				}
			}
			if used, _ := a.Memory.Used(); used > 0 {
				t.Errorf("%d bytes are still in use", used)
			}
		})
	}
}

// stored stores an object, if there is one, and opens it.
func stored(t *testing.T, opener object.Opener, data []byte) *object.Reader {
	t.Helper()
	if data == nil {
		return nil
	}
	ctx, st, key := context.Background(), store.New(memstore.New(), "mem"), opener.Keys.Key(0)
	staged, err := st.Stage(ctx, key, data)
	if err == nil {
		_, err = staged.Commit(ctx, store.If{})
	}
	if err != nil {
		t.Fatal(err)
	}
	r, err := opener.Open(ctx, st, 0, key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}
