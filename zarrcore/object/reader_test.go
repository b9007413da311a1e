package object

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/zarrcore/chunk"
	"github.com/zarrfs/zarrfs/zarrcore/codec"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
)

// boundedBytes is an array of 10 bytes in objects of 4 bytes. The last object ends with the array.
const boundedBytes = `{"zarr_format": 3, "node_type": "array", "shape": [10], "data_type": "uint8",
	"chunk_grid": {"name": "zarrs.regular_bounded", "configuration": {"chunk_shape": [4]}},
	"chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
	"fill_value": 9, "codecs": [{"name": "bytes"}]}`

// opener returns what opens the objects of the array boundedBytes at "a".
func opener(t *testing.T) Opener {
	t.Helper()
	m, err := meta.ParseArray(3, map[string][]byte{meta.NameV3: []byte(boundedBytes)})
	if err != nil {
		t.Fatal(err)
	}
	chains, _, err := NewChains(m, codec.Bind)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := NewKeys(m, "a")
	if err != nil {
		t.Fatal(err)
	}
	return Opener{Keys: keys, Chains: chains, Lengths: NewLengths(10), Fill: m.Fill,
		Shared: NewShared(chunk.NewMemory(1 << 20))}
}

// TestReader reads objects of the length that the document gives them, and of more rows, as a
// killed process leaves them. An object of fewer rows is an error, never fill value.
func TestReader(t *testing.T) {
	tests := []struct {
		name   string
		number int64
		stored []byte // nil: nothing
		want   []byte
		err    error
	}{
		{"whole", 0, []byte{1, 2, 3, 4}, []byte{1, 2, 3, 4}, nil},
		{"the last", 2, []byte{1, 2}, []byte{1, 2}, nil},
		{"longer", 2, []byte{1, 2, 3}, []byte{1, 2}, nil},
		{"shorter", 0, []byte{1, 2, 3}, nil, compress.ErrCorrupt},
		{"the last, shorter", 2, []byte{1}, nil, compress.ErrCorrupt},
		{"longer than any", 2, []byte{1, 2, 3, 4, 5}, nil, compress.ErrCorrupt},
		{"missing", 1, nil, nil, ErrMissing},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			o, st := opener(t), store.New(memstore.New(), "test")
			key := o.Keys.Key(c.number)
			if c.stored != nil {
				if err := st.Put(t.Context(), key, c.stored); err != nil {
					t.Fatal(err)
				}
			}
			got := bytes.Repeat([]byte{7}, len(c.want))
			if c.err != nil {
				got = make([]byte, o.Keys.Length(c.number))
			}
			r, err := o.Open(t.Context(), st, c.number, key)
			if err == nil {
				defer r.Close()
				err = r.Decode(got, 0)
			}
			if !errors.Is(err, c.err) {
				t.Fatalf("got error %v, want %v", err, c.err)
			}
			if c.err == nil && !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// TestReaderOfRowsThatDoNotCount: where an object has more rows than the document counts, a chunk
// shows the fill value behind the document's end.
func TestReaderOfRowsThatDoNotCount(t *testing.T) {
	o, st := opener(t), store.New(memstore.New(), "test")
	key := o.Keys.Key(2)
	if err := st.Put(t.Context(), key, []byte{1, 2, 3, 4}); err != nil {
		t.Fatal(err)
	}
	r, err := o.Open(t.Context(), st, 2, key)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if !r.Fits(o.Keys) {
		t.Error("the object does not fit before it was read")
	}
	got := make([]byte, 4)
	if err := r.Decode(got, 0); err != nil {
		t.Fatal(err)
	}
	if want := []byte{1, 2, 9, 9}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if r.Fits(o.Keys) {
		t.Error("the object fits though two of its rows do not count")
	}
}

// TestMeasuringInterrupted: a reader that waits until another large object is measured waits no
// longer once it is interrupted.
func TestMeasuringInterrupted(t *testing.T) {
	o, st := opener(t), store.New(memstore.New(), "test")
	key := o.Keys.Key(0)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(st.Put(t.Context(), key, []byte{1, 2, 3, 4}))
	r, err := o.Open(ctx, st, 0, key)
	must(err)
	defer r.Close()
	must(o.Shared.measuring.Acquire(t.Context(), 1))
	ended := make(chan error, 1)
	go func() {
		_, err := r.measureUpTo(4, measureFirst)
		ended <- err
	}()
	interrupt()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("interrupted: %v", err)
		}
	case <-time.After(5 * time.Second):
		t.Error("a reader waits for another one, though it was interrupted")
	}
}
