package zarrcore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/dirstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// writeCase is an array that TestWriteModel writes to: its document, and the
// bytes of its fill value.
type writeCase struct {
	name, doc string
	format    int
	fill      []byte
	item      int
	rows      int64 // that the grid has chunks for; 0: any number
}

var writeCases = []writeCase{
	{"v3 plain", `{"zarr_format": 3, "node_type": "array", "shape": [7, 30, 11],
		"data_type": "uint16", "fill_value": 258,
		"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [3, 8, 11]}},
		"chunk_key_encoding": {"name": "default"},
		"codecs": [{"name": "bytes",
		"configuration": {"endian": "little"}}]}`, 3, []byte{2, 1}, 2, 0},
	{"v3 zstd 1-d", `{"zarr_format": 3, "node_type": "array", "shape": [1000], "data_type": "int32",
		"fill_value": 0,
		"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [64]}},
		"chunk_key_encoding": {"name": "default"},
		"codecs": [{"name": "bytes", "configuration": {"endian": "big"}},
		{"name": "zstd",
		"configuration": {"level": 1, "checksum": true}}]}`, 3, []byte{0, 0, 0, 0}, 4, 0},
	{"v3 sharded", `{"zarr_format": 3, "node_type": "array", "shape": [20, 20],
		"data_type": "uint8", "fill_value": 7,
		"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [8, 8]}},
		"chunk_key_encoding": {"name": "v2"},
		"codecs": [{"name": "sharding_indexed",
		"configuration": {"chunk_shape": [4, 2], "index_location": "start",
			"codecs": [{"name": "bytes"}, {"name": "crc32c"}],
			"index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}},
			{"name": "crc32c"}]}}]}`, 3, []byte{7}, 1, 0},
	{"v3 transposed", `{"zarr_format": 3, "node_type": "array", "shape": [9, 5, 6],
		"data_type": "float32", "fill_value": "NaN",
		"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 2, 6]}},
		"chunk_key_encoding": {"name": "default"},
		"codecs": [{"name": "transpose", "configuration": {"order": [2, 0, 1]}},
		{"name": "bytes", "configuration": {"endian": "little"}},
			{"name": "gzip", "configuration": {"level": 1}}]}`, 3, []byte{0, 0, 0xc0, 0x7f}, 4, 0},
	{"v2 blosc", `{"zarr_format": 2, "shape": [50, 40], "chunks": [16, 16], "dtype": "<f8",
		"fill_value": 1.0, "order": "C", "filters": null,
		"compressor": {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0},
		"dimension_separator": "/"}`, 2, []byte{0, 0, 0, 0, 0, 0, 0xf0, 0x3f}, 8, 0},
	{"v2 order F", `{"zarr_format": 2, "shape": [12, 10], "chunks": [5, 4], "dtype": ">i2",
		"fill_value": null, "order": "F", "filters": null,
		"compressor": {"id": "zlib", "level": 1}}`, 2, []byte{0, 0}, 2, 0},
	{"rectilinear", `{"zarr_format": 3, "node_type": "array", "shape": [7, 30, 11],
		"data_type": "uint16", "fill_value": 258,
		"chunk_grid": {"name": "rectilinear",
		"configuration": {"kind": "inline",
		"chunk_shapes": [[3, 1, [5, 4], 1], [8, 9, 1, 14], 11]}},
		"chunk_key_encoding": {"name": "default"},
		"codecs": [{"name": "bytes",
		"configuration": {"endian": "little"}}]}`, 3, []byte{2, 1}, 2, 25},
	{"rectilinear transposed", `{"zarr_format": 3, "node_type": "array", "shape": [9, 5, 6],
		"data_type": "float32", "fill_value": "NaN",
		"chunk_grid": {"name": "rectilinear",
		"configuration": {"kind": "inline", "chunk_shapes": [4, [1, 4], [[2, 3]]]}},
		"chunk_key_encoding": {"name": "default"},
		"codecs": [{"name": "transpose", "configuration": {"order": [2, 0, 1]}},
			{"name": "bytes", "configuration": {"endian": "little"}},
			{"name": "gzip", "configuration": {"level": 1}}]}`, 3, []byte{0, 0, 0xc0, 0x7f}, 4, 0},
	{"rectilinear shards", `{"zarr_format": 3, "node_type": "array", "shape": [20, 21],
		"data_type": "uint8", "fill_value": 7,
		"chunk_grid": {"name": "rectilinear",
		"configuration": {"kind": "inline",
		"chunk_shapes": [[4, 8, 12, 4, [8, 20]], [6, 2, 4, 10]]}},
		"chunk_key_encoding": {"name": "default"},
		"codecs": [{"name": "sharding_indexed", "configuration": {"chunk_shape": [4, 2],
			"codecs": [{"name": "bytes"}, {"name": "crc32c"}],
			"index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}},
			{"name": "crc32c"}]}}]}`, 3, []byte{7}, 1, 188},
	{"bounded", `{"zarr_format": 3, "node_type": "array", "shape": [10, 7, 5], "data_type": "int16",
		"fill_value": -2,
		"chunk_grid": {"name": "zarrs.regular_bounded",
		"configuration": {"chunk_shape": [4, 3, 5]}},
		"chunk_key_encoding": {"name": "default"},
		"codecs": [{"name": "bytes",
		"configuration": {"endian": "little"}}]}`, 3, []byte{0xfe, 0xff}, 2, 0},
	{"bounded transposed", `{"zarr_format": 3, "node_type": "array", "shape": [3, 8],
		"data_type": "int32", "fill_value": 0,
		"chunk_grid": {"name": "zarrs.regular_bounded", "configuration": {"chunk_shape": [64, 3]}},
		"chunk_key_encoding": {"name": "default"},
		"codecs": [{"name": "transpose", "configuration": {"order": [1, 0]}},
			{"name": "bytes", "configuration": {"endian": "big"}},
			{"name": "zstd",
			"configuration": {"level": 1, "checksum": true}}]}`, 3, []byte{0, 0, 0, 0}, 4, 0},
	{"bounded shards", `{"zarr_format": 3, "node_type": "array", "shape": [9, 6],
		"data_type": "uint8", "fill_value": 7,
		"chunk_grid": {"name": "zarrs.regular_bounded", "configuration": {"chunk_shape": [6, 4]}},
		"chunk_key_encoding": {"name": "default"},
		"codecs": [{"name": "sharding_indexed", "configuration": {"chunk_shape": [1, 2],
			"index_location": "start",
			"codecs": [{"name": "bytes"}, {"name": "gzip", "configuration": {"level": 1}}],
			"index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}},
			{"name": "crc32c"}]}}]}`, 3, []byte{7}, 1, 0},
}

// TestWriteModel writes, reads, truncates, extends and flushes at random, by two hierarchies of the
// same store in turn. It compares all that is read with an array of bytes. Every other run the
// store fails now and then. Whatever has failed, nothing is lost. ZARRFS_MODEL_RUNS is the number
// of runs, ZARRFS_MODEL_SEED the first seed.
func TestWriteModel(t *testing.T) {
	runs, _ := strconv.Atoi(os.Getenv("ZARRFS_MODEL_RUNS"))
	first, _ := strconv.ParseUint(os.Getenv("ZARRFS_MODEL_SEED"), 10, 64)
	for i := range uint64(max(runs, 30)) {
		seed := first + i
		c := writeCases[seed%uint64(len(writeCases))]
		t.Run(fmt.Sprintf("%s/seed %d", c.name, seed), func(t *testing.T) {
			m := newWriteModel(t, c, seed)
			if seed/uint64(len(writeCases))%2 == 1 {
				m.sick = func() bool { return m.faults.IntN(30) == 0 }
			}
			m.run(120)
		})
	}
}

// TestFaultAtEveryCall runs short histories with a store that fails from its nth
// call on, or at that one only, for each n. After it is well again all that was
// accepted arrives.
func TestFaultAtEveryCall(t *testing.T) {
	for i, c := range writeCases {
		for _, forEver := range []bool{false, true} {
			for n, calls := 1, 2; n < min(calls, 100); n++ {
				m := newWriteModel(t, c, uint64(2*i))
				calls = 0
				m.sick = func() bool {
					calls++
					return calls == n || forEver && calls > n
				}
				m.run(12)
				if t.Failed() {
					t.Fatalf("%s: fault at call %d, for ever: %v", c.name, n, forEver)
				}
			}
		}
	}
}

// errSick is what a sick store says.
var errSick = errors.New("the store is sick")

// Inject implements storetest.Injector.
func (m *writeModel) Inject(op storetest.Op) storetest.Fault {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sick != nil && !m.well && op.Kind != storetest.OpStat && op.Kind != storetest.OpList &&
		m.sick() {
		return storetest.Fault{Err: errSick}
	}
	return storetest.Fault{}
}

// failed reports whether err comes from the store's being sick; other errors are
// a failure of the test.
func (m *writeModel) failed(what string, err error) bool {
	m.t.Helper()
	if err != nil && !errors.Is(err, errSick) {
		m.t.Fatalf("seed %d: %s: %v", m.seed, what, err)
	}
	return err != nil
}

// heal makes the store well, or lets it be sick again.
func (m *writeModel) heal(well bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.well = well
}

type writeModel struct {
	t    *testing.T
	c    writeCase
	r    *rand.Rand
	st   *store.Store
	h    *zarrcore.Hierarchy
	a    *zarrcore.Array
	data []byte // what the array must be
	row  int64
	seed uint64

	mu     sync.Mutex
	faults *rand.Rand
	sick   func() bool // decides about each call of the store; nil: all succeed
	well   bool        // for a while all succeed
}

func newWriteModel(t *testing.T, c writeCase, seed uint64) *writeModel {
	m := &writeModel{t: t, c: c, r: rand.New(rand.NewPCG(seed, 3)), seed: seed,
		faults: rand.New(rand.NewPCG(seed, 4)), well: true}
	if seed%2 == 0 {
		m.st = store.New(storetest.Faulty(memstore.New(), m), "memory")
	} else {
		d, err := dirstore.Open(t.TempDir(), nil)
		if err != nil {
			t.Fatal(err)
		}
		m.st = store.New(storetest.Faulty(d, m), "folder")
		t.Cleanup(func() { d.Close() })
	}
	return m
}

// run does so many steps.
func (m *writeModel) run(steps int) {
	t, c := m.t, m.c
	group := map[string]string{"zarr.json": `{"zarr_format": 3, "node_type": "group"}`}
	if c.format == 2 {
		group = map[string]string{".zgroup": `{"zarr_format": 2}`}
	}
	for key, doc := range group {
		if err := m.st.Put(t.Context(), key, []byte(doc)); err != nil {
			t.Fatal(err)
		}
	}
	m.open()
	if err := m.h.CreateFromDocument(t.Context(), "a", []byte(c.doc)); err != nil {
		t.Fatal(err)
	}
	m.openArray()
	m.row = m.a.Size() / m.a.Meta().Shape[0]
	m.data = bytes.Repeat(c.fill, int(m.a.Size())/c.item)
	m.heal(false)
	for range steps {
		m.step()
	}
	m.reopen()
	m.heal(true)
	m.check(0, int64(len(m.data)))
	m.h.Close()
}

// reopen stores all, and goes on with another hierarchy.
func (m *writeModel) reopen() {
	m.heal(true)
	if err := m.a.Flush(m.t.Context(), false); err != nil {
		m.t.Fatalf("seed %d: flush: %v", m.seed, err)
	}
	m.open()
	m.openArray()
	m.heal(false)
}

func (m *writeModel) open() {
	if m.h != nil {
		m.h.Close()
	}
	var err error
	o := &zarrcore.Options{CacheSize: 1 << 20, DirtySize: 1 << (10 + m.r.IntN(6)),
		ScratchDir: m.t.TempDir(), Workers: 2}
	if m.h, err = zarrcore.Open(m.t.Context(), m.st, o); err != nil {
		m.t.Fatal(err)
	}
}

func (m *writeModel) openArray() {
	a, err := m.h.OpenArray(m.t.Context(), "a")
	if m.failed("open", err) {
		return
	}
	m.a = a
	if m.data != nil && m.a.Live().Size() != int64(len(m.data)) {
		m.t.Fatalf("size %d, expected %d", m.a.Live().Size(), len(m.data))
	}
}

func (m *writeModel) step() {
	switch n := m.r.IntN(100); {
	case n < 45:
		m.write()
	case n < 75:
		if len(m.data) > 0 {
			off := m.r.Int64N(int64(len(m.data)))
			m.check(off, 1+m.r.Int64N(int64(len(m.data))-off))
		}
	case n < 82:
		m.resize()
	case n < 90:
		m.flush()
	case n < 95:
		m.openArray()
	case n < 97:
		m.sequence()
	default:
		m.reopen()
	}
}

func (m *writeModel) random(n int64) []byte {
	p := make([]byte, n)
	if m.r.IntN(5) == 0 {
		for i := range p {
			p[i] = m.c.fill[i%m.c.item] // chunks of fill value are not stored
		}
		return p
	}
	for i := range p {
		p[i] = byte(m.r.Uint32())
	}
	return p
}

func (m *writeModel) write() {
	size := int64(len(m.data))
	off := m.r.Int64N(size + 1)
	if m.r.IntN(5) == 0 {
		off = off / int64(m.c.item) * int64(m.c.item)
	}
	n := 1 + m.r.Int64N(1<<m.r.IntN(12))
	if off+n > size { // a write beyond the end makes whole rows here
		if size > 100_000 {
			return
		}
		n = (off+n+m.row-1)/m.row*m.row - off
		if m.c.rows > 0 && off+n > m.c.rows*m.row {
			return
		}
	}
	m.put(off, m.random(n))
}

func (m *writeModel) put(off int64, p []byte) {
	n, err := m.a.WriteAt(m.t.Context(), p, off)
	if m.failed("write", err) {
		if n, err = m.a.Accept(m.t.Context(), p, off); err != nil {
			m.t.Fatalf("seed %d: write: %v", m.seed, err)
		}
		inside := max(0, int64(len(m.data))-off)
		p, n = p[:min(int64(len(p)), inside)], n-max(0, len(p)-int(inside))
	}
	if n != len(p) {
		m.t.Fatalf("write %d+%d: %d", off, len(p), n)
	}
	end := off + int64(len(p))
	for int64(len(m.data)) < end {
		m.data = append(m.data, m.c.fill...)
	}
	copy(m.data[off:], p)
}

// sequence writes the whole array in order.
func (m *writeModel) sequence() {
	p := m.random(int64(len(m.data)))
	for off := int64(0); off < int64(len(p)); {
		n := min(int64(len(p))-off, 1+m.r.Int64N(2000))
		m.put(off, p[off:off+n])
		off += n
	}
}

func (m *writeModel) resize() {
	rows := m.r.Int64N(2*int64(len(m.data))/m.row + 3)
	if rows*m.row > 100_000 {
		rows = 3
	}
	if m.c.rows > 0 {
		rows = min(rows, m.c.rows)
	}
	if m.failed("resize", m.a.SetSize(m.t.Context(), rows*m.row)) {
		return
	}
	for int64(len(m.data)) < rows*m.row {
		m.data = append(m.data, m.c.fill...)
	}
	m.data = m.data[:rows*m.row]
}

func (m *writeModel) flush() {
	m.failed("flush", m.a.Flush(m.t.Context(), m.r.IntN(2) == 0))
}

func (m *writeModel) check(off, n int64) {
	m.t.Helper()
	if n == 0 || off+n > int64(len(m.data)) {
		return
	}
	p := make([]byte, n)
	a := m.a.Live()
	got, err := a.ReadAt(context.Background(), p, off)
	if m.failed(fmt.Sprintf("read %d+%d of %d", off, n, a.Size()), err) {
		return
	}
	if !bytes.Equal(p[:got], m.data[off:off+n]) {
		i := 0
		for p[i] == m.data[off+int64(i)] {
			i++
		}
		m.t.Fatalf("seed %d: read %d+%d: byte %d is %d, expected %d", m.seed, off, n, off+int64(i),
			p[i], m.data[off+int64(i)])
	}
}
