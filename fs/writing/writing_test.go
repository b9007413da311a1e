package writing

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/fs/alias"
	"github.com/zarrfs/zarrfs/fs/coherence"
	"github.com/zarrfs/zarrfs/fs/compare"
	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/material"
	"github.com/zarrfs/zarrfs/fs/pathstate"
	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/fs/stat"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/hierarchytest"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// atA returns the path of the array that the tests write to.
func atA() string { return "a" }

var rawView = view.Named("raw").(view.ArrayView)

// raw returns the .raw file of an array.
func raw(w *Array) viewFile { return viewFile{w, rawView} }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// derivedView shows an array as its .raw does, and is another view.
type derivedView struct{ view.ArrayView }

func (derivedView) IsKeeper() bool { return false }

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
	first := f.Open(atA, arr, rawView)
	if err := raw(first).resize(ctx, nil, 2*size); err != nil {
		t.Fatal(err)
	}
	written, begun := make(chan error, 1), false
	inject = func(storetest.Op) { // the release stores what there is
		if begun {
			return
		}
		begun = true
		go func() {
			_, err := raw(f.Open(atA, arr.Live(), rawView)).write(ctx, []byte{7}, 2*size, AtOffset)
			written <- err
		}()
		select { // it is done now, or waits
		case err := <-written:
			written <- err
		case <-time.After(100 * time.Millisecond):
		}
	}
	first.Close(rawView)
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	if got := arr.Live().Size(); !begun || got != 2*size+1 {
		t.Errorf("the array has %d bytes, expected %d and one", got, 2*size)
	}
}

// TestNextWriterWaitsForTheRest: all is stored when the last writer closes, and it takes long until
// what that has left is dropped. Somebody looks for writers meanwhile. The next writer still waits.
func TestNextWriterWaitsForTheRest(t *testing.T) {
	f, arr := arrayToWrite(t, during(func(storetest.Op) {}))
	first := f.Open(atA, arr, rawView)
	first.ending.Lock() // the release comes up to here
	released, opened := make(chan struct{}), make(chan *Array, 1)
	go func() { first.Close(rawView); close(released) }()
	for first.OpensOf(rawView) > 0 {
		time.Sleep(time.Millisecond)
	}
	f.FindAt(atA)
	go func() { opened <- f.Open(atA, arr.Live(), rawView) }()
	select {
	case next := <-opened:
		t.Error("the next writer does not wait")
		opened <- next
	case <-time.After(100 * time.Millisecond):
	}
	first.ending.Unlock()
	<-released
	if next := <-opened; next != first {
		t.Error("the next writer has another array")
	}
}

// TestRowThatIsJustWritten: an fsync does not drop a row while another handle writes into it, and
// no write begins while an fsync drops it.
func TestRowThatIsJustWritten(t *testing.T) {
	ctx, inject := t.Context(), during(func(storetest.Op) {})
	f, arr := arrayToWrite(t, during(func(op storetest.Op) { inject(op) }))
	size := arr.Size()
	w := f.Open(atA, arr, rawView)
	f.Open(atA, arr, rawView)
	a, b := NewHandle(w, rawView, nil, program.Process{}),
		NewHandle(w, rawView, nil, program.Process{})
	write := func(h *Handle) {
		if _, err := raw(w).write(ctx, []byte{7}, size, AtOffset); err != nil {
			t.Error(err)
		}
		w.row.ends(h, size, 1)
	}
	w.row.begins(a)
	write(a)
	w.row.begins(b)
	err := w.Flush(ctx, rawView, a, true)
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
				w.row.begins(b)
				begun <- arr.Live().Size()
				w.row.ends(b, 0, 1)
			}()
			select {
			case got := <-begun:
				begun <- got
				t.Error("a write begins while an fsync drops the row")
			case <-time.After(100 * time.Millisecond):
			}
		})
	}
	if err := w.Flush(ctx, rawView, a, true); !errors.Is(err, zarrcore.ErrFraction) {
		t.Errorf("fsync: %v", err)
	}
	if got := <-begun; got != size {
		t.Errorf("the array has %d bytes, expected %d", got, size)
	}
}

// TestRowBeforeAnotherOne: a program appends a whole row, and meanwhile another program begins a
// row behind it. The first program has not written into the second row.
func TestRowBeforeAnotherOne(t *testing.T) {
	ctx := t.Context()
	f, arr := arrayToWrite(t, during(func(storetest.Op) {}))
	row, w := rowBytes(arr), f.Open(atA, arr, rawView)
	if row < 2 {
		t.Fatalf("a row has %d bytes", row)
	}
	a, b := NewHandle(w, rawView, nil, program.Process{}),
		NewHandle(w, rawView, nil, program.Process{})
	appended := func(n int64) (at int64) {
		at, err := raw(w).write(ctx, make([]byte, n), 0, AtEnd)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	w.row.begins(a)
	at := appended(row)
	w.row.begins(b)
	w.row.ends(b, appended(1), 1)
	w.row.ends(a, at, int(row))
	if w.row.has(a) || !w.row.has(b) {
		t.Errorf("in the row: %t, %t, expected false, true", w.row.has(a), w.row.has(b))
	}
}

// parts are those of a path.
type parts struct {
	writing  Part
	material material.Part
	node     pathstate.Bound[stat.NodePart]
	taken    pathstate.Bound[stat.TakenPart]
	views    pathstate.Bound[compare.Copied]
	trace    pathstate.Bound[alias.Trace]
}

func (p *parts) Moved(string)  {}
func (p *parts) Ended()        {}
func (p *parts) Join(*parts)   {}
func (p *parts) IsEmpty() bool { return false }

// arrayToWrite returns an array "a" of a mount of which the kernel knows no file. Its store calls
// inject at each operation.
func arrayToWrite(t *testing.T, inject during) (*Arrays, *zarrcore.Array) {
	t.Helper()
	ctx := t.Context()
	h, s := hierarchytest.Open(t, storetest.Faulty(memstore.New(), inject),
		map[string]string{"zarr.json": hierarchytest.Group})
	must(t, h.CreateFromDocument(ctx, "a", []byte(hierarchytest.Array)))
	states, log := &pathstate.Table[parts, *parts]{}, slog.New(slog.DiscardHandler)
	cache := stat.NewCache(ctx, h, s, &errno.Log{To: log}, stat.States{
		Nodes: pathstate.PartsOf(states, func(p *parts) *pathstate.Bound[stat.NodePart] {
			return &p.node
		}),
		Taken: pathstate.PartsOf(states, func(p *parts) *pathstate.Bound[stat.TakenPart] {
			return &p.taken
		})})
	unpacked := material.New(ctx, material.Options{}, h,
		pathstate.PartsOf(states, func(p *parts) *material.Part { return &p.material }))
	traces := alias.NewTraces(
		pathstate.PartsOf(states, func(p *parts) *pathstate.Bound[alias.Trace] { return &p.trace }))
	none := func(string) []coherence.File { return nil }
	w := New(Mount{Ctx: ctx, H: h, Log: log, Stat: cache, Material: unpacked,
		Kernel: coherence.New(none, cache, unpacked, log),
		Compared: compare.New(ctx, h, traces,
			pathstate.PartsOf(states, func(p *parts) *pathstate.Bound[compare.Copied] {
				return &p.views
			})),
		Ended: func(string) {}},
		pathstate.PartsOf(states, func(p *parts) *Part { return &p.writing }))
	arr, err := h.OpenArray(ctx, "a")
	must(t, err)
	return w, arr
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
	f := viewFile{&Array{}, derivedView{rawView}}
	f.beginRewrite()
	data := &slowBytes{bytes: []byte("........"), started: make(chan struct{})}
	file := derived{viewFile: f, data: data}
	first := make(chan error)
	go func() { first <- file.writeAt(t.Context(), []byte("ab"), 0) }()
	<-data.started
	must(t, file.writeAt(t.Context(), []byte("gh"), 6))
	must(t, <-first)
	if got := string(data.bytes); got != "ab\x00\x00\x00\x00gh" {
		t.Errorf("the file has %q", got)
	}
}
