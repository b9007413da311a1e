package zarrcore_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"log"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
)

// A hierarchy is opened in a store, walked, and its arrays are read as flat
// files. A chunk that is not stored shows the fill value.
func Example() {
	ctx := context.Background()
	s := store.New(memstore.New(), "example")
	s.Put(ctx, ".zgroup", []byte(`{"zarr_format": 2}`))
	s.Put(ctx, "temperature/.zarray", []byte(`{"zarr_format": 2, "shape": [6], "chunks": [3],
		"dtype": "<i2",
		"fill_value": -1, "order": "C", "compressor": null, "filters": null}`))
	s.Put(ctx, "temperature/0", []byte{10, 0, 20, 0, 30, 0})

	h, err := zarrcore.Open(ctx, s, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()

	h.Children(ctx, "", func(c zarrcore.Child) error {
		fmt.Println(c.Name, "is an", c.Kind)
		return nil
	})

	a, err := h.OpenArray(ctx, "temperature")
	if err != nil {
		log.Fatal(err)
	}
	p := make([]byte, a.Size())
	if _, err := a.ReadAt(ctx, p, 0); err != nil {
		log.Fatal(err)
	}
	for ; len(p) > 0; p = p[2:] {
		fmt.Print(int16(binary.LittleEndian.Uint16(p)), " ")
	}
	// Output:
	// temperature is an array
	// 10 20 30 -1 -1 -1
}

// A Reader serves a program that goes through an array in order. The Reader fills memory ahead of
// the program. The program must release the memory that Read returns.
func ExampleReader() {
	ctx := context.Background()
	s := store.New(memstore.New(), "example")
	s.Put(ctx, ".zarray", []byte(`{"zarr_format": 2, "shape": [10], "chunks": [4], "dtype": "|S1",
		"fill_value": "", "order": "C", "compressor": null, "filters": null}`))
	for key, data := range map[string]string{"0": "abcd", "1": "efgh", "2": "ij--"} {
		s.Put(ctx, key, []byte(data))
	}
	h, err := zarrcore.Open(ctx, s, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	a, err := h.OpenArray(ctx, "")
	if err != nil {
		log.Fatal(err)
	}
	r := a.NewReader()
	defer r.Close()
	for off := int64(0); off < a.Size(); off += 5 {
		p, err := r.Read(ctx, off, 5)
		if err != nil {
			log.Fatal(err)
		}
		for _, b := range p.Bufs {
			fmt.Printf("%s", b)
		}
		p.Release()
		fmt.Println()
	}
	// Output:
	// abcde
	// fghij
}
