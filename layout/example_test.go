package layout_test

import (
	"fmt"

	"github.com/zarrfs/zarrfs/layout"
)

// A 4×6 array of 2-byte elements in chunks of 2×4: where the bytes of its
// second row lie.
func ExampleGrid_Runs() {
	g, err := layout.NewGrid([]int64{4, 6}, []int64{2, 4}, 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	keys := layout.KeyEncoding{Kind: layout.KeyDefault, Separator: '/'}
	for r := range g.Runs(12, 12) {
		fmt.Printf("bytes %d to %d: object %s, from byte %d\n", r.Off, r.Off+r.Len,
			keys.Key(g.Coords(r.Chunk, nil)), r.ChunkOff)
	}
	// Output:
	// bytes 12 to 20: object c/0/0, from byte 8
	// bytes 20 to 24: object c/0/1, from byte 8
}

// A scan in C order needs all chunks of a slab at once: here the three that
// share the leading index.
func ExampleGrid_Slab() {
	g, _ := layout.NewGrid([]int64{10, 6}, []int64{5, 2}, 1)
	for s := range g.Slabs() {
		slab := g.Slab(s)
		fmt.Printf("bytes %d to %d: chunks %d to %d\n", slab.Off, slab.Off+slab.Len, slab.First,
			slab.End-1)
	}
	// Output:
	// bytes 0 to 30: chunks 0 to 2
	// bytes 30 to 60: chunks 3 to 5
}

// What reading does with each decoded chunk.
func ExampleBox_Scatter() {
	g, _ := layout.NewGrid([]int64{4, 4}, []int64{2, 2}, 1)
	flat := []byte("................")
	g.Box(1).Scatter(flat, 0, []byte("abcd"))
	fmt.Println(string(flat))
	// Output: ..ab..cd........
}
