package zarrcore_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// looked counts what a store is asked.
type looked struct{ lists, entries, stats atomic.Int64 }

// Inject implements storetest.Injector.
func (l *looked) Inject(op storetest.Op) storetest.Fault {
	switch op.Kind {
	case storetest.OpList:
		l.lists.Add(1)
	case storetest.OpEntry:
		l.entries.Add(1)
	case storetest.OpStat:
		l.stats.Add(1)
	}
	return storetest.Fault{}
}

// all returns how often the store was asked since the last call.
func (l *looked) all() int64 { return l.lists.Swap(0) + l.entries.Swap(0) + l.stats.Swap(0) }

// largeArray stores an array at "a" of rows × columns chunks of a byte each, all of them there.
func largeArray(t testing.TB, separator string, rows, columns int) *memstore.Driver {
	d := memstore.New()
	put(t, d, ".zgroup", []byte(`{"zarr_format": 2}`))
	put(t, d, "a/.zarray", fmt.Appendf(nil, `{"zarr_format": 2, "shape": [%d, %d], "chunks": [1, 1],
		"dtype": "|u1", "fill_value": 0,
		"order": "C", "compressor": null, "filters": null,
		"dimension_separator": %q}`, rows, columns, separator))
	for i := range rows {
		for j := range columns {
			put(t, d, fmt.Sprintf("a/%d%s%d", i, separator, j), []byte{42})
		}
	}
	return d
}

// TestOpenLooks: what it takes to open an array, and to read of it, has a bound, however many
// chunks it has. To open it again takes next to nothing.
func TestOpenLooks(t *testing.T) {
	for _, separator := range []string{".", "/"} {
		t.Run(separator, func(t *testing.T) {
			for _, rows := range []int{70, 700} {
				var took [2]int64 // first and again
				var asked looked
				h := open(t, storetest.Faulty(largeArray(t, separator, rows, 70), &asked), nil)
				for i := range took {
					asked.all()
					a := openArray(t, h, "a")
					if got := readAt(t, a, 35*70, 3); string(got) != "***" {
						t.Errorf("read %q", got)
					}
					took[i] = asked.all()
				}
				if took[0] > 2*512+20 || took[1] > 20 {
					t.Errorf("%d chunks take %d looks at first, and %d again", rows*70, took[0],
						took[1])
				}
			}
		})
	}
}

// TestOpenLooksVlen is TestOpenLooks for arrays of strings. What was counted of such an array
// counts again after another open, unless an object has changed.
func TestOpenLooksVlen(t *testing.T) {
	ctx := context.Background()
	for _, rows := range sample[int64](1, 70, 210) {
		d := group(t)
		w := &words{shape: []int64{rows, 70}, chunk: []int64{1, 1}}
		random := rand.New(rand.NewPCG(1, uint64(rows)))
		w.write(t, d, "a", random)
		var asked looked
		h := open(t, storetest.Faulty(d, &asked), nil)
		text := w.lines(t)
		for i, most := range []int64{2*512 + 20, 20, 20} {
			asked.all()
			v := openVlen(t, h, "a")
			p := make([]byte, 10)
			if n, err := v.Lines().ReadAt(ctx, p, 0); n < len(p) || err != nil ||
				!bytes.HasPrefix(text, p) {
				t.Errorf("read %q, %v", p[:n], err)
			}
			if took := asked.all(); took > most {
				t.Errorf("%d chunks take %d looks at open %d", rows*70, took, i)
			}
		}
		count := func(decoded int64) {
			t.Helper()
			before := h.Status().ChunksDecoded
			v := openVlen(t, h, "a")
			want := w.lines(t)
			if c, err := v.Count(ctx); err != nil || c.Lines != int64(len(want)) {
				t.Errorf("counted %+v, %v; want %d bytes", c, err, len(want))
			}
			// some ahead of a read
			if now := h.Status().ChunksDecoded; now-before < decoded || now-before > decoded+20 {
				t.Errorf("%d chunks were decoded of %d, expected %d", now-before, rows*70, decoded)
			}
			last := make([]byte, 10)
			if n, err := v.Lines().ReadAt(ctx, last, int64(len(want)-len(last))); n != len(last) ||
				!bytes.HasSuffix(want, last) {
				t.Errorf("read %q at the end, %v", last[:n], err)
			}
		}
		count(rows * 70)
		count(0)
		origin := []int64{rows / 2, 35}
		w.data[origin[0]*70+origin[1]] += "changed"
		put(t, d, fmt.Sprintf("a/c/%d/%d", origin[0], origin[1]),
			w.object(t, origin, []int64{1, 1}, random))
		count(rows * 70)
	}
}

// TestSizeLooksVlen: the size of a large array of strings is told without a wait for a look at all
// objects. It is what was counted last, unless this process has stored objects since.
func TestSizeLooksVlen(t *testing.T) {
	ctx := context.Background()
	d := group(t)
	w := &words{shape: []int64{70, 70}, chunk: []int64{1, 1}}
	random := rand.New(rand.NewPCG(3, 4))
	w.write(t, d, "a", random)
	var asked looked
	h := open(t, storetest.Faulty(d, &asked), nil)
	size := func() (int64, bool) {
		t.Helper()
		v, err := h.SizeVlen(ctx, "a")
		must(t, err)
		c, ok := v.CountWithin(ctx, 0)
		return c.Lines, ok
	}
	sizeIs := func(want []byte, others bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			got, ok := size()
			if ok && got == int64(len(want)) {
				return
			}
			if ok && !others || time.Now().After(end) {
				t.Fatalf("%d bytes, %v; want %d", got, ok, len(want))
			}
		}
	}
	sizeIs(w.lines(t), false)
	asked.all()
	sizeIs(w.lines(t), false)
	openVlen(t, h, "a")
	if got, ok := size(); !ok || got != int64(len(w.lines(t))) {
		t.Errorf("after another open: %d bytes, %v; want %d", got, ok, len(w.lines(t)))
	}
	w.data[35*70+35] += "changed"
	put(t, d, "a/c/35/35", w.object(t, []int64{35, 35}, []int64{1, 1}, random))
	openVlen(t, h, "a")
	sizeIs(w.lines(t), true)
	w.data[0] += "written"
	must(t, h.WriteLines(ctx, "a", bytes.NewReader(w.lines(t)), int64(len(w.lines(t))), false))
	sizeIs(w.lines(t), false)
	asked.all()
	for range 10 {
		sizeIs(w.lines(t), false)
	}
	if took := asked.all(); took > 50 {
		t.Errorf("ten sizes of a counted array take %d looks", took)
	}
}

// TestLargeHoles: what was stored before the last open is in no hole, however recent a search
// before that was.
func TestLargeHoles(t *testing.T) {
	ctx := context.Background()
	for _, rows := range []int{10, 100} { // of 70 objects each, of which a first look sees some
		d := largeArray(t, "/", rows, 70)
		put(t, d, "a/.zarray", []byte(`{"zarr_format": 2, "shape": [10000, 70], "chunks": [1, 1],
			"dtype": "|u1", "fill_value": 0,
			"order": "C", "compressor": null, "filters": null, "dimension_separator": "/"}`))
		h := open(t, d, nil)
		a := openArray(t, h, "a")
		check := func(off, start, end int64) {
			t.Helper()
			if s, e, err := a.NextData(ctx, off); s != start || e != end || err != nil {
				t.Errorf("%d rows: data after %d: from %d to %d, %v; want %d to %d", rows, off, s,
					e, err, start, end)
			}
		}
		filled := int64(rows) * 70
		check(0, 0, filled)
		check(filled, a.Size(), a.Size())
		put(t, d, "a/5000/3", []byte{1})
		if again := openArray(t, h, "a"); again != a {
			t.Fatal("another Array, though the metadata is the same")
		}
		check(filled, 5000*70+3, 5000*70+4)
	}
}

// TestLargeBands: where bands are large, what is not stored is read without them once it is known
// where nothing is.
func TestLargeBands(t *testing.T) {
	d := group(t)
	put(t, d, "a/zarr.json",
		[]byte((&fixture{element: elements[3], format: 3, shape: []int64{1 << 10, 1 << 20},
			chunk:     []int64{128, 1 << 8},
			separator: "/", compressor: "zstd"}).documents()["zarr.json"]))
	for i := range 2000 {
		put(t, d, fmt.Sprintf("a/c/7/%d", i), []byte("not read"))
	}
	h := open(t, d, &zarrcore.Options{CacheSize: 64 << 20, ScratchDir: t.TempDir()})
	a := openArray(t, h, "a")
	zarrcore.LookBehind(a)
	r := a.NewReader()
	defer r.Close()
	for off := int64(0); off < 4<<20; off += 1 << 20 {
		if got, err := read(r, off, 1<<20); err != nil || len(got) != 1<<20 {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
	}
	if s := h.Status(); s.ScratchUsed > 0 {
		t.Errorf("%d bytes of scratch are used for bands of nothing", s.ScratchUsed)
	}
}
