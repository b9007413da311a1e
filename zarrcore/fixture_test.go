package zarrcore_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/zarrfs/zarrfs/compress/blosc"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
)

// sample returns the first n of the values under go test -short, as the race detector is run, and
// otherwise all of them.
func sample[T any](n int, values ...T) []T {
	if testing.Short() {
		return values[:n]
	}
	return values
}

// stride is the step of a loop over all calls that may fail: under go test -short it tries every
// third of them.
func stride() int {
	if testing.Short() {
		return 3
	}
	return 1
}

// This file is a small Zarr encoder of its own: it shares no code with what it
// tests, and goes the plain way, element by element.

// An element type, in the words of both formats.
type element struct {
	v2, v3 string
	size   int64
	endian string
	fillV2 string // JSON
	fillV3 string
	fill   []byte // the same as stored bytes
}

var elements = []element{
	{"|u1", `"uint8"`, 1, "little", "42", "42", []byte{42}},
	{"<i2", `"int16"`, 2, "little", "-2", "-2", []byte{0xfe, 0xff}},
	{">i4", `"int32"`, 4, "big", "258", "258", []byte{0, 0, 1, 2}},
	{"<f8", `"float64"`, 8, "little", "null", "0", make([]byte, 8)},
	{"|V5", `"r40"`, 5, "little", `"AQIDBAU="`, "[1, 2, 3, 4, 5]", []byte{1, 2, 3, 4, 5}},
}

// A fixture is an array to be written: what its document says, and its bytes.
type fixture struct {
	element
	path         string
	format       int // 2 or 3
	shape, chunk []int64
	// of the objects along each axis, where they differ (v3); nil: all as chunk
	lengths [][]int64
	// zarrs.regular_bounded: objects of the lengths of chunk, cut at the array's end (v3)
	bounded      bool
	inner        []int64 // chunks of shards; nil: not sharded (v3)
	separator    string
	fortran      bool
	compressor   string // "", "gzip", "zstd", "blosc" or "threads": blosc's blocks out of order
	checksum     bool   // crc32c behind the compressor (v3)
	indexAtStart bool
	missing      float64 // share of objects, and of chunks in shards, that are not stored
	data         []byte  // the flat array; what is missing becomes the fill value
}

func (f *fixture) String() string {
	return fmt.Sprintf("v%d %s %v in %s, chunks of shards %v, separator %s, fortran %v, %q, "+
		"checksum %v, index at start %v",
		f.format, f.v2, f.shape, f.grid(), f.inner, f.separator, f.fortran, f.compressor,
		f.checksum, f.indexAtStart)
}

func (f *fixture) bytes() int64 { return volume(f.shape) * f.size }

// write writes the array into d with random content.
func (f *fixture) write(t testing.TB, d store.Writer, rng *rand.Rand) {
	t.Helper()
	if f.element.size == 0 {
		f.element = elements[0]
	}
	f.data = make([]byte, f.bytes())
	for b := f.data; len(b) > 0; b = b[min(8, len(b)):] {
		var word [8]byte // compresses, and differs from every fill value at some byte
		binary.LittleEndian.PutUint64(word[:], rng.Uint64()&0x0707070707070707)
		copy(b, word[:])
	}
	for name, doc := range f.documents() {
		put(t, d, under(f.path, name), []byte(doc))
	}
	counts := make([]int64, len(f.shape))
	for i := range f.shape {
		for f.start(i, counts[i]) < f.shape[i] {
			counts[i]++
		}
	}
	for at := range positions(counts) {
		origin, block := make([]int64, len(at)), make([]int64, len(at))
		for i, c := range at {
			origin[i] = f.start(i, c)
			block[i] = f.start(i, c+1) - origin[i]
			if f.bounded {
				block[i] = min(block[i], f.shape[i]-origin[i])
			}
		}
		if rng.Float64() < f.missing {
			f.erase(origin, block)
			continue
		}
		put(t, d, under(f.path, f.key(at)), f.object(origin, block, rng))
	}
}

// start is where the object at coordinate c of an axis begins.
func (f *fixture) start(axis int, c int64) int64 {
	if f.lengths == nil {
		return c * f.chunk[axis]
	}
	n := int64(0)
	for _, length := range f.lengths[axis][:c] {
		n += length
	}
	return n
}

// grid is the chunk grid in the words of v3.
func (f *fixture) grid() string {
	switch {
	case f.bounded:
		return fmt.Sprintf(
			`{"name": "zarrs.regular_bounded", "configuration": {"chunk_shape": %s}}`,
			list(f.chunk))
	case f.lengths != nil:
		var axes []string
		for _, lengths := range f.lengths {
			axes = append(axes, list(lengths))
		}
		return fmt.Sprintf(
			`{"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": [%s]}}`,
			strings.Join(axes, ", "))
	}
	return fmt.Sprintf(`{"name": "regular", "configuration": {"chunk_shape": %s}}`, list(f.chunk))
}

func (f *fixture) key(at []int64) string {
	var parts []string
	if f.format == 3 {
		parts = append(parts, "c")
	} else if len(at) == 0 {
		return "0"
	}
	for _, n := range at {
		parts = append(parts, strconv.FormatInt(n, 10))
	}
	return strings.Join(parts, f.separator)
}

// object encodes the object of the elements from origin on, in the shape of block.
func (f *fixture) object(origin, block []int64, rng *rand.Rand) []byte {
	if f.inner == nil {
		return f.encode(f.gather(origin, block))
	}
	counts := make([]int64, len(block))
	for i := range counts {
		counts[i] = block[i] / f.inner[i]
	}
	const none = ^uint64(0)
	indexLen := 16*volume(counts) + 4
	var body, index []byte
	if f.indexAtStart {
		body = make([]byte, indexLen)
	}
	for at := range positions(counts) {
		begin := add(origin, multiply(at, f.inner))
		if !f.inside(begin) || rng.Float64() < f.missing {
			f.erase(begin, f.inner)
			index = binary.LittleEndian.AppendUint64(index, none)
			index = binary.LittleEndian.AppendUint64(index, none)
			continue
		}
		encoded := f.encode(f.gather(begin, f.inner))
		index = binary.LittleEndian.AppendUint64(index, uint64(len(body)))
		index = binary.LittleEndian.AppendUint64(index, uint64(len(encoded)))
		body = append(body, encoded...)
	}
	index = withChecksum(index)
	if f.indexAtStart {
		copy(body, index)
		return body
	}
	return append(body, index...)
}

// inside reports whether a chunk that begins at origin holds any element.
func (f *fixture) inside(origin []int64) bool {
	for i, o := range origin {
		if o >= f.shape[i] {
			return false
		}
	}
	return true
}

// each calls do for the elements of a block that lie inside the array, in rows
// along the last axis: the first element's number in the block and in the
// array, and how many there are.
func (f *fixture) each(origin, block []int64, do func(inBlock, inArray, n int64)) {
	last := len(block) - 1
	if last < 0 {
		do(0, 0, 1)
		return
	}
	n := min(block[last], f.shape[last]-origin[last])
	inBlock := int64(0)
	for at := range positions(block[:last]) {
		inArray, inside := int64(0), n > 0
		for i := range at {
			pos := origin[i] + at[i]
			inArray = inArray*f.shape[i] + pos
			inside = inside && pos < f.shape[i]
		}
		if inside {
			do(inBlock, inArray*f.shape[last]+origin[last], n)
		}
		inBlock += block[last]
	}
}

// erase gives a block the fill value.
func (f *fixture) erase(origin, block []int64) {
	f.each(origin, block, func(_, to, n int64) {
		copy(f.data[to*f.size:], bytes.Repeat(f.fill, int(n)))
	})
}

// gather returns a block's bytes as they are stored, with rubbish as padding.
func (f *fixture) gather(origin, block []int64) []byte {
	b := bytes.Repeat([]byte{0xee}, int(volume(block)*f.size))
	f.each(origin, block, func(to, from, n int64) {
		copy(b[to*f.size:], f.data[from*f.size:(from+n)*f.size])
	})
	if !f.fortran {
		return b
	}
	out := make([]byte, len(b))
	i := int64(0)
	for at := range positions(block) {
		to := int64(0)
		for axis := len(at) - 1; axis >= 0; axis-- {
			to = to*block[axis] + at[axis]
		}
		copy(out[to*f.size:], b[i*f.size:(i+1)*f.size])
		i++
	}
	return out
}

// gzipWriters are writers of gzip to be used again: a new one takes a megabyte.
var gzipWriters = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	return w
}}

func gzipOf(b []byte) []byte {
	var out bytes.Buffer
	w := gzipWriters.Get().(*gzip.Writer)
	defer gzipWriters.Put(w)
	w.Reset(&out)
	w.Write(b)
	w.Close()
	return out.Bytes()
}

func (f *fixture) encode(b []byte) []byte {
	switch f.compressor {
	case "gzip":
		b = gzipOf(b)
	case "zstd":
		b = zstdEncoder.EncodeAll(b, nil)
	case "blosc":
		b = bloscOf(b)
	case "threads":
		b = outOfOrder(bloscOf(b))
	}
	if f.checksum {
		b = withChecksum(b)
	}
	return b
}

// bloscOf compresses with blosc, by blocks of 128 KiB.
func bloscOf(b []byte) []byte {
	e := blosc.Encoder{Inner: blosc.LZ4, Level: 5, Shuffle: blosc.ByteShuffle, TypeSize: 4,
		BlockSize: 32 << 10}
	out, err := e.Encode(nil, b)
	if err != nil {
		panic(err)
	}
	return out
}

// outOfOrder returns a blosc buffer of which each two blocks have changed their places, as where
// two threads have written them.
func outOfOrder(b []byte) []byte {
	h, err := blosc.ParseHeader(b, int64(len(b)))
	if err != nil {
		panic(err)
	}
	x, err := blosc.NewIndex(h, b)
	if err != nil {
		panic(err)
	}
	out := slices.Clone(b[:h.IndexLen()])
	for i := range x.Blocks() {
		if other := i ^ 1; other < x.Blocks() {
			i = other
		}
		off, n := x.Range(i)
		binary.LittleEndian.PutUint32(out[blosc.HeaderLen+4*i:], uint32(len(out)))
		out = append(out, b[off:off+n]...)
	}
	return out
}

var zstdEncoder, _ = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))

func withChecksum(b []byte) []byte {
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
}

// documents returns the metadata objects by name.
func (f *fixture) documents() map[string]string {
	if f.format == 2 {
		order, compressor := "C", "null"
		if f.fortran {
			order = "F"
		}
		switch f.compressor {
		case "":
		case "blosc", "threads":
			compressor = `{"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1}`
		default:
			compressor = fmt.Sprintf(`{"id": %q, "level": 1}`, f.compressor)
		}
		return map[string]string{".zarray": fmt.Sprintf(`{"zarr_format": 2, "shape": %s,
			"chunks": %s, "dtype": %q, "fill_value": %s,
			"order": %q, "compressor": %s, "filters": null, "dimension_separator": %q}`,
			list(f.shape), list(f.chunk), f.v2, f.fillV2, order, compressor, f.separator)}
	}
	codecs := f.codecs()
	if f.inner != nil {
		where := "end"
		if f.indexAtStart {
			where = "start"
		}
		codecs = fmt.Sprintf(`{"name": "sharding_indexed",
			"configuration": {"chunk_shape": %s, "codecs": [%s], "index_location": %q,
			"index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}},
			{"name": "crc32c"}]}}`, list(f.inner), codecs, where)
	}
	return map[string]string{"zarr.json": fmt.Sprintf(`{"zarr_format": 3, "node_type": "array",
		"shape": %s, "data_type": %s, "fill_value": %s,
		"chunk_grid": %s, "codecs": [%s],
		"chunk_key_encoding": {"name": "default", "configuration": {"separator": %q}}}`,
		list(f.shape), f.v3, f.fillV3, f.grid(), codecs, f.separator)}
}

// codecs returns the codecs of a chunk.
func (f *fixture) codecs() string {
	var all []string
	if f.fortran && len(f.shape) > 0 {
		order := make([]int64, len(f.shape))
		for i := range order {
			order[i] = int64(len(order) - 1 - i)
		}
		all = append(all, fmt.Sprintf(`{"name": "transpose", "configuration": {"order": %s}}`,
			list(order)))
	}
	all = append(all, fmt.Sprintf(`{"name": "bytes", "configuration": {"endian": %q}}`, f.endian))
	switch f.compressor {
	case "gzip":
		all = append(all, `{"name": "gzip", "configuration": {"level": 1}}`)
	case "zstd":
		all = append(all, `{"name": "zstd", "configuration": {"level": 1, "checksum": false}}`)
	case "blosc":
		all = append(all, `{"name": "blosc", "configuration": {"cname": "lz4", "clevel": 5,
			"shuffle": "shuffle", "typesize": 4, "blocksize": 0}}`)
	}
	if f.checksum {
		all = append(all, `{"name": "crc32c"}`)
	}
	return strings.Join(all, ", ")
}

// Arithmetic of coordinates, C order.

func volume(shape []int64) int64 {
	n := int64(1)
	for _, s := range shape {
		n *= s
	}
	return n
}

// positions yields all positions within shape, in a slice that it reuses.
func positions(shape []int64) func(yield func([]int64) bool) {
	return func(yield func([]int64) bool) {
		at := make([]int64, len(shape))
		for range volume(shape) {
			if !yield(at) {
				return
			}
			for i := len(at) - 1; i >= 0; i-- {
				if at[i]++; at[i] < shape[i] {
					break
				}
				at[i] = 0
			}
		}
	}
}

func add(a, b []int64) []int64 {
	c := slices.Clone(a)
	for i := range c {
		c[i] += b[i]
	}
	return c
}

func multiply(a, b []int64) []int64 {
	c := slices.Clone(a)
	for i := range c {
		c[i] *= b[i]
	}
	return c
}

func list(ns []int64) string { return strings.ReplaceAll(fmt.Sprint(ns), " ", ", ") }

func under(path, name string) string {
	if path == "" {
		return name
	}
	return path + "/" + name
}

// Stores and hierarchies of tests.

func put(t testing.TB, d store.Writer, key string, data []byte) {
	t.Helper()
	if err := store.New(d, "").Put(context.Background(), key, data); err != nil {
		t.Fatal(err)
	}
}

// group returns a store with a v3 group at its root.
func group(t testing.TB) *memstore.Driver {
	d := memstore.New()
	put(t, d, "zarr.json", []byte(`{"zarr_format": 3, "node_type": "group"}`))
	return d
}

func open(t testing.TB, d store.Driver, o *zarrcore.Options) *zarrcore.Hierarchy {
	t.Helper()
	h, err := zarrcore.Open(context.Background(), store.New(d, "test"), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

func openArray(t testing.TB, h *zarrcore.Hierarchy, path string) *zarrcore.Array {
	t.Helper()
	a, err := h.OpenArray(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// readAt reads n bytes at off, or as many as there are.
func readAt(t testing.TB, a *zarrcore.Array, off, n int64) []byte {
	t.Helper()
	p := make([]byte, min(n, a.Size()-off))
	if len(p) == 0 {
		return p
	}
	if _, err := a.ReadAt(context.Background(), p, off); err != nil {
		t.Fatal(err)
	}
	return p
}

// read reads n bytes at off through a reader.
func read(r *zarrcore.Reader, off, n int64) ([]byte, error) {
	p, err := r.Read(context.Background(), off, n)
	if err != nil {
		return nil, err
	}
	defer p.Release()
	return bytes.Join(p.Bufs, nil), nil
}
