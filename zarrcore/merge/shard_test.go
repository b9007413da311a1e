package merge

import (
	"bytes"
	"errors"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/band"
	"github.com/zarrfs/zarrfs/zarrcore/codec"
	"github.com/zarrfs/zarrfs/zarrcore/dirty"
)

// sharded is an array of one shard of 64 chunks of 16 KiB, which lie in it column by column.
const sharded = `{"zarr_format": 3, "node_type": "array",
	"shape": [8, 131072], "data_type": "uint8",
	"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [8, 131072]}},
	"chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
	"fill_value": 0, "codecs": [
		{"name": "transpose", "configuration": {"order": [1, 0]}},
		{"name": "sharding_indexed", "configuration": {"chunk_shape": [16384, 1],
			"codecs": [{"name": "bytes"}, {"name": "crc32c"}],
			"index_codecs": [{"name": "bytes"}]}}]}`

// dirtyShard returns that shard with all chunks dirty, each of its number plus add.
func dirtyShard(t *testing.T, a Array, chain *codec.Chain, add byte) *Object {
	t.Helper()
	o := &Object{Array: a, Chain: chain, CutIn: func(int64) int64 { return 16 << 10 }}
	set := dirty.NewPool(64<<10, band.NewScratch(t.TempDir(), 64<<20)).NewSet()
	for n := range int64(64) {
		content := bytes.Repeat([]byte{byte(n) + add}, 16<<10)
		if _, err := set.Write(n, 16<<10, 0, content); err != nil {
			t.Fatal(err)
		}
		f, err := set.Freeze(n)
		if err != nil {
			t.Fatal(err)
		}
		o.Frozen = append(o.Frozen, f)
	}
	return o
}

// TestShardInBoundedMemory: a shard takes the memory of a few chunks, whatever the order in which
// chunks lie in it, and however many workers encode them. They all make the same bytes.
func TestShardInBoundedMemory(t *testing.T) {
	a, chain, opener := arrayOf(t, sharded)
	var first collected
	for _, workers := range []int{1, 2, 8, 100} {
		o := dirtyShard(t, a, chain, 1)
		o.Workers = workers
		needed := o.Fit(1 << 20)
		var made collected
		if empty, err := o.Over(nil).Write(&made); err != nil || empty {
			t.Fatalf("%d workers: empty %v, %v", workers, empty, err)
		}
		now, peak := a.Memory.Used()
		if now > 0 || peak > needed || needed > 1<<20 {
			t.Errorf("%d workers: %d bytes are in use, at most %d, expected at most %d",
				workers, now, peak, needed)
		}
		if first == nil {
			first = made
		}
		if !bytes.Equal(made, first) {
			t.Errorf("%d workers made other bytes than one", workers)
		}
	}
	r := stored(t, opener, first)
	for n := range int64(64) {
		got, want := make([]byte, 16<<10), bytes.Repeat([]byte{byte(n) + 1}, 16<<10)
		if err := r.Decode(got, n); err != nil || !bytes.Equal(got, want) {
			t.Errorf("chunk %d: %v, or not what was written", n, err)
		}
	}
}

// TestShardThatFails: where a shard cannot be written, all memory is given back, and the dirty
// bytes can be stored once more.
func TestShardThatFails(t *testing.T) {
	a, chain, _ := arrayOf(t, sharded)
	o := dirtyShard(t, a, chain, 1)
	o.Workers = 3
	plan := o.Over(nil)
	broken := errors.New("the disk is full")
	if _, err := plan.Write(fails{broken}); !errors.Is(err, broken) {
		t.Errorf("%v, expected %v", err, broken)
	}
	var again collected
	if _, err := plan.Write(&again); err != nil {
		t.Error(err)
	}
	if now, _ := a.Memory.Used(); now > 0 {
		t.Errorf("%d bytes are in use", now)
	}
}

type fails struct{ err error }

func (f fails) Write([]byte) (int, error)          { return 0, f.err }
func (f fails) WriteAt([]byte, int64) (int, error) { return 0, f.err }

// TestShardWithoutChunks: a shard of which nothing but fill value is left is to be deleted, and
// nothing is written before that is known.
func TestShardWithoutChunks(t *testing.T) {
	a, chain, opener := arrayOf(t, sharded)
	var was collected
	if _, err := dirtyShard(t, a, chain, 1).Over(nil).Write(&was); err != nil {
		t.Fatal(err)
	}
	o := dirtyShard(t, a, chain, 0) // so chunk 0 is fill value
	for _, f := range o.Frozen[1:] {
		f.Stored()
	}
	o.Frozen, o.CutIn = o.Frozen[:1], func(int64) int64 { return 0 }
	empty, err := o.Over(stored(t, opener, was)).Write(fails{errors.New("written to")})
	if err != nil || !empty {
		t.Errorf("empty %v, %v", empty, err)
	}
}
