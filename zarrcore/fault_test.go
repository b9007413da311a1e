package zarrcore_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// Fixtures for faults: three chunks, of which the middle one is bad.
var faultFixtures = map[string]fixture{
	"plain": {format: 3, shape: []int64{3000}, chunk: []int64{1000}, separator: "/"},
	"gzip": {format: 2, shape: []int64{3000}, chunk: []int64{1000}, separator: ".",
		compressor: "gzip"},
	"zstd": {format: 3, shape: []int64{3000}, chunk: []int64{1000}, separator: "/",
		compressor: "zstd"},
	"crc32c": {format: 3, shape: []int64{3000}, chunk: []int64{1000}, separator: "/",
		checksum: true},
	"sharded": {format: 3, shape: []int64{3000}, chunk: []int64{1000}, inner: []int64{500},
		separator: "/", compressor: "zstd"},
	"bands": {element: elements[3], format: 3, shape: []int64{390_000}, chunk: []int64{130_000},
		separator: "/", checksum: true},
}

// TestCorruptChunks: a bad chunk is an error that names it, never a fill value,
// and the other chunks stay readable.
func TestCorruptChunks(t *testing.T) {
	damages := map[string]func(b []byte) []byte{
		"zero length": func([]byte) []byte { return nil },
		"truncated":   func(b []byte) []byte { return b[:len(b)/2] },
		"rubbish":     func(b []byte) []byte { return bytes.Repeat([]byte("rubbish"), len(b)/7) },
		"cut by one":  func(b []byte) []byte { return b[:len(b)-1] },
	}
	for name, f := range faultFixtures {
		rng := rand.New(rand.NewPCG(1, 2))
		d := group(t)
		f.path = "g/a"
		f.write(t, d, rng)
		h := open(t, d, nil)
		key := "g/a/" + f.key([]int64{1})
		for what, damage := range damages {
			t.Run(name+"/"+what, func(t *testing.T) {
				good := f.object([]int64{f.chunk[0]}, f.chunk, rng)
				put(t, d, key, damage(good))
				a := openArray(t, h, "g/a")
				third := a.Size() / 3
				_, err := a.ReadAt(context.Background(), make([]byte, 10), third)
				checkChunkError(t, err, key)
				r := a.NewReader()
				defer r.Close()
				step := third / 10
				for off := int64(0); off < a.Size(); off += step {
					got, err := read(r, off, step)
					if off >= third && off < 2*third {
						checkChunkError(t, err, key)
					} else if err != nil || !bytes.Equal(got, f.data[off:off+step]) {
						t.Errorf("the good chunks, at %d: %v", off, err)
					}
				}
				put(t, d, key, good) // mended
				if !bytes.Equal(readAt(t, openArray(t, h, "g/a"), 0, a.Size()), f.data) {
					t.Error("still bad after it was mended")
				}
			})
		}
	}
}

func checkChunkError(t *testing.T, err error, key string) {
	t.Helper()
	var e *zarrcore.Error
	if !errors.As(err, &e) || e.Op != "read" || e.Path != "g/a" || e.Key != key ||
		!errors.Is(err, compress.ErrCorrupt) {
		t.Errorf("got %v, want a zarrcore.Error of g/a, chunk %s, for corrupt data", err, key)
	}
}

// TestErrorsSayExpectedAndFound.
func TestErrorsSayExpectedAndFound(t *testing.T) {
	f := faultFixtures["plain"]
	f.path = "a"
	d := group(t)
	f.write(t, d, rand.New(rand.NewPCG(1, 2)))
	put(t, d, "a/c/0", []byte("short"))
	_, err := openArray(t, open(t, d, nil), "a").ReadAt(context.Background(), make([]byte, 1), 0)
	want := `cannot read "a": chunk a/c/0: corrupt data: expected 1000 encoded bytes, found 5`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// TestStoreErrors: what the store says reaches the reader as it is, and is not
// remembered.
func TestStoreErrors(t *testing.T) {
	for name, f := range faultFixtures {
		for _, kind := range []storetest.OpKind{storetest.OpOpen, storetest.OpRead} {
			d := group(t)
			f.path = "a"
			f.write(t, d, rand.New(rand.NewPCG(1, 2)))
			var broken atomic.Bool
			h := open(t,
				storetest.Faulty(d, storetest.InjectorFunc(func(op storetest.Op) storetest.Fault {
					if broken.Load() && op.Kind == kind && strings.HasPrefix(op.Key, "a/") {
						return storetest.Fault{Err: syscall.ENETDOWN}
					}
					return storetest.Fault{}
				})), nil)
			a := openArray(t, h, "a")
			r := a.NewReader()
			broken.Store(true)
			if _, err := a.ReadAt(context.Background(), make([]byte, 1), 0); !errors.Is(err,
				syscall.ENETDOWN) {
				t.Errorf("%s: ReadAt: got %v", name, err)
			}
			if _, err := read(r, 0, a.Size()); !errors.Is(err, syscall.ENETDOWN) {
				t.Errorf("%s: Read: got %v", name, err)
			}
			broken.Store(false)
			if got, err := read(r, 0, a.Size()); err != nil || !bytes.Equal(got, f.data) {
				t.Errorf("%s: after the fault: %v", name, err)
			}
			r.Close()
		}
	}
}

// TestObjectShrinks: an uncompressed object that is truncated while it is read is corrupt; it is
// not the end of the array.
func TestObjectShrinks(t *testing.T) {
	f := faultFixtures["plain"]
	f.path = "g/a"
	d := group(t)
	f.write(t, d, rand.New(rand.NewPCG(1, 2)))
	h := open(t, storetest.Faulty(d, storetest.InjectorFunc(func(op storetest.Op) storetest.Fault {
		if op.Kind == storetest.OpRead && op.Key == "g/a/c/0" {
			return storetest.Fault{Err: io.EOF, Keep: 5}
		}
		return storetest.Fault{}
	})), nil)
	_, err := openArray(t, h, "g/a").ReadAt(context.Background(), make([]byte, 10), 0)
	checkChunkError(t, err, "g/a/c/0")
}
