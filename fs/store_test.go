package fs

import (
	"encoding/binary"
	"fmt"
	"testing"

	gofuse "github.com/hanwen/go-fuse/v2/fs"

	"github.com/zarrfs/zarrfs/fs/identity"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/hierarchytest"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// The documents of the store that the tests share.
const (
	groupDoc = `{"zarr_format": 3, "node_type": "group", "attributes": {"title": "test", "big": ` +
		`12345678901234567890}}`
	arrayDoc = `{"zarr_format": 3, "node_type": "array", "shape": [%s], "data_type": "%s",
 "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [%s]}},
 "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "dimension_names": ["y", "x"],
 "codecs": [%s], "attributes": {"units": "K", "a/b": null, "nan": NaN}}`
	bytesCodec = `{"name": "bytes", "configuration": {"endian": "little"}}`
)

// objects is a store by key.
type objects map[string]string

// testObjects is a store with a group "ocean" and an array "a" of 4 by 6 int16 that lacks its last
// chunk. It also has an unreadable array, and names that no directory entry can hold.
func testObjects() objects {
	smallDoc := fmt.Sprintf(arrayDoc, "2, 2", "uint8", "2, 2", `{"name": "bytes"}`)
	o := objects{
		"zarr.json":            groupDoc,
		"ocean/zarr.json":      groupDoc,
		"a/zarr.json":          fmt.Sprintf(arrayDoc, "4, 6", "int16", "2, 3", bytesCodec),
		"ocean/salt/zarr.json": smallDoc,
		"strange/zarr.json": fmt.Sprintf(arrayDoc, "4, 6", "int16", "2, 3",
			bytesCodec+`, {"name": "mystery"}`),
		"enormous/zarr.json": fmt.Sprintf(arrayDoc, "4294967296, 4294967296", "uint8",
			"4096, 4096", `{"name": "bytes"}`),
		"line\nbreak/zarr.json":   smallDoc,
		"100%/zarr.json":          groupDoc,
		"clash/zarr.json":         groupDoc,
		"clash/x/zarr.json":       smallDoc,
		"clash/x.npy/zarr.json":   groupDoc,
		"clash/zarr/zarr.json":    smallDoc,
		"clash/.zarrfs/zarr.json": groupDoc,
	}
	for _, chunk := range [][2]int{{0, 0}, {0, 1}, {1, 0}} {
		o[fmt.Sprintf("a/c/%d/%d", chunk[0], chunk[1])] = chunkOfA(chunk[0], chunk[1])
	}
	return o
}

// chunkOfA holds, at each place, 10 times the row and the column.
func chunkOfA(cy, cx int) string {
	var b []byte
	for y := 2 * cy; y < 2*cy+2; y++ {
		for x := 3 * cx; x < 3*cx+3; x++ {
			b = binary.LittleEndian.AppendUint16(b, uint16(10*y+x))
		}
	}
	return string(b)
}

// bytesOfA are the array's bytes as the raw view shows them.
func bytesOfA() (b []byte) {
	for y := range 4 {
		for x := range 6 {
			v := uint16(10*y + x)
			if y >= 2 && x >= 3 {
				v = 0
			}
			b = binary.LittleEndian.AppendUint16(b, v)
		}
	}
	return b
}

// testFilesystem returns the file system of a store in memory, not mounted.
func testFilesystem(t testing.TB, objects objects) *filesystem {
	t.Helper()
	h, s := hierarchytest.Open(t, memstore.New(), objects)
	return newFilesystem(h, "", &Options{Name: "test", Store: s})
}

// mountless returns the root of a file system that no kernel knows.
func mountless(f *filesystem) *groupNode {
	root := &groupNode{base: newBase(f, identity.Of("", ""))}
	gofuse.NewNodeFS(root, f.nodeOptions())
	return root
}

// during is an injector that calls a function at each operation.
type during func(op storetest.Op)

func (f during) Inject(op storetest.Op) storetest.Fault {
	f(op)
	return storetest.Fault{}
}

// atA returns the path of the array of arrayToWrite.
func atA() string { return "a" }

// arrayToWrite returns a mount of an array "a". Its store calls inject at each operation.
func arrayToWrite(t *testing.T, inject during) (*filesystem, *zarrcore.Array) {
	t.Helper()
	ctx := t.Context()
	h, _ := hierarchytest.Open(t, storetest.Faulty(memstore.New(), inject),
		objects{"zarr.json": groupDoc})
	doc := fmt.Appendf(nil, arrayDoc, "4, 6", "int16", "2, 3", bytesCodec)
	if err := h.CreateFromDocument(ctx, "a", doc); err != nil {
		t.Fatal(err)
	}
	f := newFilesystem(h, "", &Options{Name: "test"})
	arr, err := h.OpenArray(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	return f, arr
}
