package object

import (
	"fmt"
	"testing"

	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
)

// codecs are those of shards with chunks of the shape chunk, or of plain objects.
type codecs struct {
	chunk   []int64
	sharded bool
}

func (c codecs) Chunk() []int64  { return c.chunk }
func (c codecs) IsSharded() bool { return c.sharded }

// described returns an array of 4-byte elements whose keys are "g/a/c/I/J".
func described(shape, chunk []int64) *meta.Array {
	return &meta.Array{
		Format: 3, Shape: shape, Chunks: meta.Chunks{Chunk: chunk}, Type: dtype.Type{Size: 4},
		Keys: layout.KeyEncoding{Kind: layout.KeyDefault, Separator: '/'},
	}
}

// shards are arrays of 10 x 9 elements, in shards of 4 x 6 or of different lengths, that
// have chunks of 2 x 3.
func shards(t *testing.T, reversed bool) map[string]*Layout {
	t.Helper()
	regular := described([]int64{10, 9}, []int64{4, 6})
	differ := described([]int64{10, 9}, []int64{6, 6})
	differ.Cuts = [][]layout.Cut{
		{{Length: 6, Count: 1}, {Length: 4, Count: 1}},
		{{Length: 3, Count: 1}, {Length: 6, Count: 1}},
	}
	all := map[string]*Layout{}
	for name, m := range map[string]*meta.Array{"regular": regular, "rectilinear": differ} {
		l, err := NewLayout(m, "g/a", codecs{[]int64{2, 3}, true}, reversed)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = l
	}
	return all
}

// TestChunkIsWhereItsObjectSays compares both directions: every chunk is one of those
// that its object lists, under the same inner number.
func TestChunkIsWhereItsObjectSays(t *testing.T) {
	for name, l := range shards(t, false) {
		seen := map[int64]bool{}
		for object := range l.Chunks() {
			n := int64(0)
			l.EachChunk(object, func(chunk, inner int64) {
				if chunk >= l.ChunkGrid().Chunks() {
					return // behind the array's last row
				}
				n++
				seen[chunk] = true
				holder, key, in := l.Find(chunk)
				if holder != object || l.Holder(chunk) != object || in != inner {
					t.Errorf("%s: chunk %d is number %d of object %d, expected %d of %d",
						name, chunk, in, holder, inner, object)
				}
				if key != l.Key(object) {
					t.Errorf("%s: chunk %d is at %q, expected %q", name, chunk, key, l.Key(object))
				}
			})
			if n != l.ChunksIn(object, false) {
				t.Errorf("%s: object %d lists %d chunks, expected %d",
					name, object, n, l.ChunksIn(object, false))
			}
		}
		if int64(len(seen)) != l.ChunkGrid().Chunks() {
			t.Errorf("%s: the objects list %d chunks, expected %d",
				name, len(seen), l.ChunkGrid().Chunks())
		}
	}
}

// TestInnerNumbers has the numbers worked out by hand: shard 1 of the regular array
// covers columns 6 to 11, of which the array has three.
func TestInnerNumbers(t *testing.T) {
	l := shards(t, false)["regular"]
	var got []string
	l.EachChunk(1, func(chunk, inner int64) {
		got = append(got, fmt.Sprintf("%d:%d", chunk, inner))
	})
	if fmt.Sprint(got) != "[2:0 5:2]" {
		t.Errorf("shard 1 has chunks %v, expected [2:0 5:2]", got)
	}
	if got := l.Holders([]int64{5, 0, 2, 1}); fmt.Sprint(got) != "[0 1]" {
		t.Errorf("objects %v, expected [0 1]", got)
	}
}

// TestKeys spells each object's key and reads it again, also where the store has the
// axes in the other order.
func TestKeys(t *testing.T) {
	for _, reversed := range []bool{false, true} {
		l := shards(t, reversed)["regular"]
		expected := "g/a/c/2/1"
		if reversed {
			expected = "g/a/c/1/2"
		}
		if got := l.Key(5); got != expected {
			t.Errorf("reversed %v: key %q, expected %q", reversed, got, expected)
		}
		for object := range l.Chunks() {
			if n, ok := l.Parse(l.Key(object)[len(l.Prefix()):]); !ok || n != object {
				t.Errorf("reversed %v: key %q is object %d, %v, expected %d",
					reversed, l.Key(object), n, ok, object)
			}
		}
		for _, key := range []string{"c/3/3", "c/0", "c/0/0/0", "zarr.json", "c/-1/0"} {
			if n, ok := l.Parse(key); ok {
				t.Errorf("reversed %v: %q is object %d, expected no object", reversed, key, n)
			}
		}
	}
}

// TestWholeObjects expects that an object of an array that may grow counts as whole along
// the axis of the stored rows, and along no other.
func TestWholeObjects(t *testing.T) {
	last := shards(t, false)["regular"] // its object 5 has rows 8 to 11, columns 6 to 8
	if got := last.ChunksIn(5, true); got != 2 {
		t.Errorf("the last shard has %d chunks once it has grown, expected 2", got)
	}
	if got := last.ChunksIn(5, false); got != 1 {
		t.Errorf("the last shard has %d chunks, expected 1", got)
	}
	reversed := shards(t, true)["regular"]
	if got := reversed.ChunksIn(5, true); got != 2 { // the columns are the stored rows
		t.Errorf("reversed, the last shard has %d chunks once it has grown, expected 2", got)
	}
	if got := reversed.ChunksIn(4, true); got != 2 {
		t.Errorf("reversed, shard 4 has %d chunks once it has grown, expected 2", got)
	}
}
