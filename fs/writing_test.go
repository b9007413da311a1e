package fs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
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
	f, arr := arrayToWrite(t, during(func(op storetest.Op) { inject(op) }))
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
			_, err := f.writings.open("a", arr.Live(), rawView).write(ctx, rawView, []byte{7}, 2*size, atOffset)
			written <- err
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

// TestRowThatIsJustWritten: an fsync does not drop a row while another handle writes into it, and
// no write begins while an fsync drops it.
func TestRowThatIsJustWritten(t *testing.T) {
	ctx, inject := t.Context(), during(func(storetest.Op) {})
	f, arr := arrayToWrite(t, during(func(op storetest.Op) { inject(op) }))
	size := arr.Size()
	w := f.writings.open("a", arr, rawView)
	f.writings.open("a", arr, rawView)
	a, b := &writeHandle{view: rawView, of: w}, &writeHandle{view: rawView, of: w}
	write := func(h *writeHandle) {
		if _, err := w.write(ctx, rawView, []byte{7}, size, atOffset); err != nil {
			t.Error(err)
		}
		w.writeEnds(h, size, 1)
	}
	w.writeBegins(a)
	write(a)
	w.writeBegins(b)
	err := w.flush(ctx, rawView, a, true)
	if got := arr.Live().Size(); !errors.Is(err, zarrcore.ErrFraction) || got != size+1 {
		t.Errorf("while another writes: %v, %d bytes, expected %d", err, got, size+1)
	}
	write(b)
	w.row.closed(b)
	begun, once := make(chan int64, 1), sync.Once{}
	inject = func(storetest.Op) {
		if arr.Live().Size() > size {
			return // it is not dropped yet
		}
		once.Do(func() {
			go func() {
				w.writeBegins(b)
				begun <- arr.Live().Size()
				w.writeEnds(b, 0, 1)
			}()
			select {
			case got := <-begun:
				begun <- got
				t.Error("a write begins while an fsync drops the row")
			case <-time.After(100 * time.Millisecond):
			}
		})
	}
	if err := w.flush(ctx, rawView, a, true); !errors.Is(err, zarrcore.ErrFraction) {
		t.Errorf("fsync: %v", err)
	}
	if got := <-begun; got != size {
		t.Errorf("the array has %d bytes, expected %d", got, size)
	}
}

// TestRowBeforeAnotherOne: a program that has appended a whole row has not written into the row that
// another program has begun behind it meanwhile.
func TestRowBeforeAnotherOne(t *testing.T) {
	ctx := t.Context()
	f, arr := arrayToWrite(t, during(func(storetest.Op) {}))
	row, w := rowBytes(arr), f.writings.open("a", arr, rawView)
	if row < 2 {
		t.Fatalf("a row has %d bytes", row)
	}
	a, b := &writeHandle{view: rawView, of: w}, &writeHandle{view: rawView, of: w}
	appended := func(n int64) (at int64) {
		at, err := w.write(ctx, rawView, make([]byte, n), 0, atEnd)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	w.writeBegins(a)
	at := appended(row)
	w.writeBegins(b)
	w.writeEnds(b, appended(1), 1)
	w.writeEnds(a, at, int(row))
	if w.isInRow(a) || !w.isInRow(b) {
		t.Errorf("in the row: %t, %t, expected false, true", w.isInRow(a), w.isInRow(b))
	}
}

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
		err = f.fill(ctx, arr, x, 0)
		if bounded != errors.Is(err, zarrcore.ErrFraction) || !bounded && err != nil {
			t.Errorf("bounded %v: %v", bounded, err)
		}
	}
}

// slowBytes are bytes of an array whose first write takes a while.
type slowBytes struct {
	bytes   []byte
	started chan struct{}
	mu      sync.Mutex
}

func (s *slowBytes) Size() int64 { return int64(len(s.bytes)) }

func (s *slowBytes) WriteAt(_ context.Context, p []byte, off int64) (int, error) {
	s.mu.Lock()
	copy(s.bytes[off:], p)
	s.mu.Unlock()
	if off == 0 {
		close(s.started)
		time.Sleep(50 * time.Millisecond)
	}
	return len(p), nil
}

func (s *slowBytes) Clear(_ context.Context, off, n int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.bytes[off : off+n])
	return nil
}

// TestWritersOfOneCopy: two requests write to a derived file that is written from its beginning.
// What the one leaves out becomes zero, but not what comes by the other.
func TestWritersOfOneCopy(t *testing.T) {
	w, v := &writing{}, boxed{ArrayView: rawView}
	w.beginsAnew(v)
	data := &slowBytes{bytes: []byte("........"), started: make(chan struct{})}
	file := derived{w: w, v: v, data: data}
	first := make(chan error)
	go func() { first <- file.writeAt(t.Context(), []byte("ab"), 0) }()
	<-data.started
	must(t, file.writeAt(t.Context(), []byte("gh"), 6))
	must(t, <-first)
	if got := string(data.bytes); got != "ab\x00\x00\x00\x00gh" {
		t.Errorf("the file has %q", got)
	}
}
