package fs

import (
	"fmt"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// during is an injector that calls a function at each operation.
type during func(op storetest.Op)

func (f during) Inject(op storetest.Op) storetest.Fault {
	f(op)
	return storetest.Fault{}
}

// TestNextWriterKeepsItsRow: a file is released after its close, and by then the next writer may
// have begun a row. That row does not belong to what the one before has left, which is dropped.
func TestNextWriterKeepsItsRow(t *testing.T) {
	ctx, inject := t.Context(), during(func(storetest.Op) {})
	s := store.New(storetest.Faulty(memstore.New(), during(func(op storetest.Op) { inject(op) })), "test")
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
	f := newFilesystem(h, &Options{Name: "test"})
	arr, err := h.OpenArray(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	size := arr.Size()
	first := f.writings.open("a", arr, rawView)
	if err := first.resize(ctx, nil, rawView, 2*size); err != nil {
		t.Fatal(err)
	}
	written, begun := make(chan error, 1), false
	inject = func(storetest.Op) { // the release stores what there is
		if begun {
			return
		}
		begun = true
		go func() {
			written <- f.writings.open("a", arr.Live(), rawView).write(ctx, rawView, []byte{7}, 2*size, atOffset)
		}()
		select { // it is done now, or waits
		case err := <-written:
			written <- err
		case <-time.After(100 * time.Millisecond):
		}
	}
	first.close(rawView)
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	if got := arr.Live().Size(); !begun || got != 2*size+1 {
		t.Errorf("the array has %d bytes, expected %d and one", got, 2*size)
	}
}
