package layout

import (
	"bytes"
	"testing"
)

// FuzzStacked: what StackedRuns yields of any stretch is where a copy of all chunks, made box by
// box, has the same bytes as the flat array. What it leaves out is padding.
func FuzzStacked(f *testing.F) {
	f.Add([]byte{5, 7, 3, 2, 3, 3, 2}, uint16(11), uint16(70))
	f.Add([]byte{1, 1, 4, 1, 1, 9, 1}, uint16(0), uint16(9))
	f.Fuzz(func(t *testing.T, spec []byte, off, n uint16) {
		var k [7]int64
		for i, b := range spec[:min(len(spec), len(k))] {
			k[i] = int64(b)
		}
		shape := []int64{k[0] % 12, k[1] % 12, k[2] % 12}
		chunk := []int64{1 + k[3]%6, 1 + k[4]%14, 1 + k[5]%6}
		g, err := NewGrid(shape, chunk, 1+k[6]%3)
		if err != nil {
			t.Fatal(err)
		}
		flat := make([]byte, g.Size())
		for i := range flat {
			flat[i] = byte(1 + i%251)
		}
		size, _ := g.StackedSize()
		stacked := make([]byte, size)
		for chunk := range g.Chunks() {
			box := g.Box(chunk)
			for flatOff, chunkOff := range box.Runs() {
				copy(stacked[chunk*g.ChunkBytes()+chunkOff:], flat[flatOff:flatOff+box.RunLen])
			}
		}
		from := min(int64(off), size)
		to := min(from+int64(n), size)
		found := make([]byte, to-from)
		last := from
		for at, r := range g.StackedRuns(from, to-from) {
			if at < last || r.Chunk*g.ChunkBytes()+r.ChunkOff != at {
				t.Fatalf("%v: run %+v at %d, after %d", g, r, at, last)
			}
			copy(found[at-from:], flat[r.Off:r.Off+r.Len])
			last = at + r.Len
		}
		if !bytes.Equal(found, stacked[from:to]) {
			t.Errorf("%v %v: bytes [%d, %d) differ", shape, chunk, from, to)
		}
	})
}
