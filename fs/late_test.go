package fs

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// TestLateBytesBesideOpenRow stores bytes that came before their array. Another program has written
// a part of the row behind the last one. In a bounded grid the end of the array then is not stored,
// and that is an error.
func TestLateBytesBesideOpenRow(t *testing.T) {
	ctx := t.Context()
	for _, bounded := range []bool{false, true} {
		f, arr := arrayToWrite(t, func(storetest.Op) {})
		if bounded {
			doc := fmt.Sprintf(arrayDoc, "4, 6", "int16", "3, 3", bytesCodec)
			doc = strings.Replace(doc, `"regular"`, `"zarrs.regular_bounded"`, 1)
			err := f.h.CreateFromDocument(ctx, "b", []byte(doc))
			if err == nil {
				arr, err = f.h.OpenArray(ctx, "b")
			}
			if err != nil || !arr.WaitsForRow() {
				t.Fatalf("no bounded grid: %v", err)
			}
		}
		x, err := f.transients.Make(func() string { return "" }, "x.raw")
		if err != nil {
			t.Fatal(err)
		}
		if _, err = x.Bytes.WriteAt(make([]byte, 52), 0); err != nil {
			t.Fatal(err)
		}
		if _, err = arr.WriteAt(ctx, []byte{1, 2, 3, 4}, 48); err != nil {
			t.Fatal(err)
		}
		err = f.adopting.Fill(ctx, arr, x, 0)
		if bounded != errors.Is(err, zarrcore.ErrFraction) || !bounded && err != nil {
			t.Errorf("bounded %v: %v", bounded, err)
		}
	}
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
	s := store.New(storetest.Faulty(memstore.New(), inject), "test")
	if err := s.Put(ctx, "zarr.json", []byte(groupDoc)); err != nil {
		t.Fatal(err)
	}
	h, err := zarrcore.Open(ctx, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	if err := h.CreateFromDocument(ctx, "a", []byte(fmt.Sprintf(arrayDoc, "4, 6", "int16", "2, 3", bytesCodec))); err != nil {
		t.Fatal(err)
	}
	f := newFilesystem(h, "", &Options{Name: "test"})
	arr, err := h.OpenArray(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	return f, arr
}
