package zarrcore_test

import (
	"bytes"
	"context"
	"errors"
	iofs "io/fs"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// TestRemoteCopies: in a remote store consolidated metadata say what is listed and described. They
// may be outdated. The array's own document counts when it is opened, and from then on when it
// is described. What has no copy is found by its name.
func TestRemoteCopies(t *testing.T) {
	for _, format := range []int{2, 3} {
		d := arrays(t, 3, format)
		consolidate(t, d, format)
		for _, path := range []string{"a0001", "new"} {
			fx := &fixture{path: path, format: format, shape: []int64{20}, chunk: []int64{10},
				separator: "."}
			fx.write(t, d, rand.New(rand.NewPCG(1, 1)))
		}
		afar(t, d, storetest.LinkOptions{}, zarrcore.Options{}, func(f *far) {
			rows := func(path string) int64 {
				f.Helper()
				n, err := f.h.Node(context.Background(), path)
				if err != nil {
					f.Fatal(err)
				}
				return n.Meta.Shape[0]
			}
			if got, err := children(f.h, ""); err != nil || len(got) != 3 {
				f.Errorf("%q are listed, %v; want those that have copies", got, err)
			}
			if rows("a0001") != 10 || rows("new") != 20 {
				f.Errorf("described by %d rows, and %d without a copy", rows("a0001"), rows("new"))
			}
			if a := openArray(f.T, f.h, "a0001"); a.Meta().Shape[0] != 20 {
				f.Errorf("opened with %d rows, want those of its own document", a.Meta().Shape[0])
			}
			if rows("a0001") != 20 {
				f.Errorf("described by %d rows after it was opened", rows("a0001"))
			}
		})
	}
}

// TestRemoteCopiesAlone: where an array's own documents are missing, the copies count.
func TestRemoteCopiesAlone(t *testing.T) {
	d := arrays(t, 3, 2)
	consolidate(t, d, 2)
	must(t, d.Delete(t.Context(), "a0001/.zarray", store.If{}))
	afar(t, d, storetest.LinkOptions{NoList: true}, zarrcore.Options{}, func(f *far) {
		if a := openArray(f.T, f.h, "a0001"); a.Size() != 10 {
			f.Errorf("%d bytes", a.Size())
		}
	})
}

// TestRemoteFailures: whatever fails in a remote store is an error of the program that asked.
// Nothing is taken for missing, listed as something else, or left out.
func TestRemoteFailures(t *testing.T) {
	broken := errors.New("broken")
	near := arrays(t, 20, 3)
	shards := &fixture{path: "shards", format: 3, shape: []int64{4096, 1024}, chunk: []int64{256,
		1024},
		inner: []int64{16, 1024}, separator: "/"}
	shards.write(t, near, rand.New(rand.NewPCG(1, 1)))
	for nth := 1; nth < 60; nth += stride() {
		for _, kind := range []storetest.OpKind{storetest.OpOpen, storetest.OpStat,
			storetest.OpList, storetest.OpRead} {
			in := storetest.OnNth(nth, kind, broken)
			_, behind := storetest.Behind(near, storetest.LinkOptions{})
			ctx := t.Context()
			h, err := zarrcore.Open(ctx, store.New(storetest.Faulty(behind, in), "far"),
				&zarrcore.Options{ScratchDir: t.TempDir()})
			if errors.Is(err, broken) {
				continue
			}
			if err != nil {
				t.Fatalf("open: %v", err)
			}
			names, err := children(h, "")
			if err == nil && len(names) != 21 || err != nil && !errors.Is(err, broken) {
				t.Errorf("%v %d: %d children, %v", kind, nth, len(names), err)
			}
			for _, name := range names {
				if name[len(name)-5:] != "array" {
					t.Errorf("%v %d: %s", kind, nth, name)
				}
			}
			a, err := h.OpenArray(ctx, "shards")
			if err != nil && !errors.Is(err, broken) {
				t.Errorf("%v %d: open the array: %v", kind, nth, err)
			}
			if err == nil {
				r := a.NewReader()
				for off := int64(0); off < a.Size(); off += 128 << 10 {
					p, err := r.Read(ctx, off, 128<<10)
					if err == nil && !bytes.Equal(bytes.Join(p.Bufs, nil),
						shards.data[off:off+128<<10]) {
						t.Fatalf("%v %d: wrong bytes at %d", kind, nth, off)
					}
					if err == nil {
						p.Release()
					} else if !errors.Is(err, broken) {
						t.Errorf("%v %d: read: %v", kind, nth, err)
					}
				}
				r.Close()
			}
			h.Close()
		}
	}
}

// TestRemoteChange: another program replaces a chunk. The new chunk shows when the array is opened
// after the time for which the store is known.
func TestRemoteChange(t *testing.T) {
	d := arrays(t, 1, 3)
	afar(t, d, storetest.LinkOptions{}, zarrcore.Options{}, func(f *far) {
		before := readAt(f.T, openArray(f.T, f.h, "a0000"), 0, 10)
		put(f.T, d, "a0000/c.0", bytes.Repeat([]byte{7}, 10))
		if got := readAt(f.T, openArray(f.T, f.h, "a0000"), 0, 10); !bytes.Equal(got, before) {
			f.Errorf("read again at once: %v", got)
		}
		time.Sleep(store.DefaultTTL)
		if got := readAt(f.T, openArray(f.T, f.h, "a0000"), 0, 10); got[0] != 7 {
			f.Errorf("read again later: %v", got)
		}
		must(f.T, d.Delete(f.Context(), "a0000/zarr.json", store.If{}))
		must(f.T, d.Delete(f.Context(), "a0000/c.0", store.If{}))
		if _, err := f.h.OpenArray(f.Context(), "a0000"); !errors.Is(err, iofs.ErrNotExist) {
			f.Errorf("an array that is gone opens: %v", err)
		}
	})
}
