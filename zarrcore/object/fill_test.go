package object

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/codec"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// TestFill compares stretches of fill value with the element repeated by hand. Some begin
// within an element, some are longer than what is kept of it.
func TestFill(t *testing.T) {
	for _, text := range []string{"\x00", "\x00\x00\x00", "\x01", "abc", "\x00\x00\x80\x7f"} {
		element := []byte(text)
		f := NewFill(element)
		for _, off := range []int64{0, 1, 5} {
			for _, n := range []int64{0, 1, 7, pageSize + 11} {
				whole := bytes.Repeat(element, int(off+n)/len(element)+1)
				got := bytes.Join(f.Append(nil, off, n), nil)
				if !bytes.Equal(got, whole[off:off+n]) {
					t.Errorf("%x: %d bytes from byte %d are another text", element, n, off)
				}
			}
		}
	}
	if !NewFill(make([]byte, 4)).IsZero() || NewFill([]byte{0, 0, 0, 0x80}).IsZero() {
		t.Error("zero is four bytes that are zero: -0.0 is not")
	}
}

// TestFills expects that only whole copies of the element count as fill value.
func TestFills(t *testing.T) {
	element := []byte{1, 2, 3}
	for chunk, expected := range map[string]bool{
		"\x01\x02\x03": true, "\x01\x02\x03\x01\x02\x03": true,
		"": false, "\x01\x02": false, "\x01\x02\x03\x01\x02\x04": false, "\x02\x03\x01": false,
	} {
		if got := NewFill(element).Fills([]byte(chunk)); got != expected {
			t.Errorf("%x is fill value: %v, expected %v", chunk, got, expected)
		}
	}
	if NewFill(nil).Fills([]byte{0}) {
		t.Error("elements of no bytes fill a chunk")
	}
}

// TestMissing expects that a key without an object is missing, and a chunk that a shard does
// not hold. An object of no bytes is not, nor one of a store that fails.
func TestMissing(t *testing.T) {
	ctx := context.Background()
	mem := memstore.New()
	st := store.New(mem, "new")
	if _, err := Open(ctx, st, "a/c/0", store.Want{}); !IsMissing(err) {
		t.Errorf("a key without an object: %v, expected ErrMissing", err)
	}
	if err := st.Put(ctx, "a/c/0", nil); err != nil {
		t.Fatal(err)
	}
	o, err := Open(ctx, st, "a/c/0", store.Want{})
	if err != nil {
		t.Fatalf("an object of no bytes: %v, expected an object", err)
	}
	o.Close()
	disk := errors.New("disk")
	broken := store.New(storetest.Faulty(mem, storetest.Always(storetest.AnyOp, disk)), "new")
	for _, key := range []string{"a/c/0", "a/c/1"} {
		if _, err := Open(ctx, broken, key, store.Want{}); !errors.Is(err, disk) || IsMissing(err) {
			t.Errorf("%q of a store that fails: %v, expected its error", key, err)
		}
	}
	if !IsMissing(codec.ErrEmpty) || IsMissing(disk) || IsMissing(nil) {
		t.Error("only an object or a chunk that is not stored is missing")
	}
}
