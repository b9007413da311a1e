package fs

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/zarrfs/zarrfs/fs/coherence"
	"github.com/zarrfs/zarrfs/fs/material"
	"github.com/zarrfs/zarrfs/fs/pathstate"
	"github.com/zarrfs/zarrfs/fs/stat"

	"github.com/zarrfs/zarrfs/fs/compare"

	"github.com/zarrfs/zarrfs/fs/input"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/layout/npy"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
)

// writing is what the mount knows of an array while programs write to it, or what they wrote is not
// stored yet. All views of the array share it.
type writing struct {
	table *writings

	// appending is held from the moment at which the array's end is looked up until bytes are
	// written there. It comes before all other locks.
	appending sync.Mutex
	npy       npyFile
	row       openRow

	// ending is held while the rest that the last writer has left is dropped, and while its header
	// of a .npy ends. A program that opens the file then waits. Otherwise what it writes might be
	// taken for that rest, because a file is released some time after its close.
	ending sync.Mutex

	filling sync.Mutex // held while derived files are written from their beginning

	mu      sync.Mutex
	at      string            // the array's path
	arr     *zarrcore.Array   // nil: a new array, whose .npy header is awaited
	opens   map[view.View]int // writable handles
	anew    map[view.View]rewritten
	created view.Set // files that were created, and nothing was written to them yet: they are empty, and the array is as it was

	ended    atomic.Bool     // the array is not there any more
	compared compare.Running // files that programs believe to write

	unfollowed atomic.Bool // the materialised files are not as the array is; see follow

	npyEnds bool // the last handle of the .npy is closed, and what it has made of it is to end

	pagedBy map[coherence.File]struct{} // the files whose pages were written since the others were told
}

// writingMount is the mount whose arrays are written to.
type writingMount struct {
	Ctx      context.Context // ends with the mount
	H        *zarrcore.Hierarchy
	Log      *slog.Logger
	Stat     *stat.Cache
	Kernel   *coherence.Kernel
	Material *material.Files
	Compared *compare.Files
	Ended    func(path string) // is called when the last program that writes to an array has ended
}

// writings are the arrays of a mount that are written to.
type writings struct {
	writingMount
	states pathstate.Parts[writingPart]
}

// newWritings returns the arrays of a mount that are written to: none yet.
func newWritings(of writingMount, states pathstate.Parts[writingPart]) *writings {
	return &writings{of, states}
}

// writingPart is what the mount knows of the array at a path that programs write, or have written.
type writingPart struct {
	pathstate.Carried[*writing]
	short shortFile // its .npy, if that was closed before all of it had come
}

// Ended implements pathstate.Part.
func (p *writingPart) Ended() {
	p.Carried.Ended()
	p.short = shortFile{}
}

// IsEmpty implements pathstate.Part.
func (p *writingPart) IsEmpty() bool { return p.Carried.IsEmpty() && p.short.isEmpty() }

// find returns the array at path if programs write to it or not all of it is stored, otherwise nil.
func (t *writings) find(path string) (w *writing) {
	t.states.Look(path, func(p *writingPart) { w = p.It })
	if w == nil || !w.over() {
		return w
	}
	found := w
	w = nil
	t.Stat.Forget(path) // it may have been stored by itself
	t.states.Edit(path, func(p *writingPart) {
		if p.It == found && found.over() {
			p.short = found.short()
			p.It = nil
		}
		w = p.It
	})
	return w
}

// all returns the arrays that are written to.
func (t *writings) all() (all []*writing) {
	t.states.Each("", func(_ string, p *writingPart) {
		if p.It != nil {
			all = append(all, p.It)
		}
	})
	return all
}

// open counts a writable handle of a view of the array at path. arr is nil where a new array's
// header is awaited.
func (t *writings) open(path string, arr *zarrcore.Array, v view.ArrayView) *writing {
	w := t.count(path, arr, v)
	w.ending.Lock()
	defer w.ending.Unlock()
	return w
}

func (t *writings) count(path string, arr *zarrcore.Array, v view.ArrayView) (w *writing) {
	size, changed := sizeOf(arr)
	t.states.Make(path, func(p *writingPart) {
		if p.It == nil || p.It.isOfOther(arr) {
			p.It = &writing{table: t, at: path, opens: make(map[view.View]int),
				npy: npyFile{view: view.Headed()}, row: openRow{by: make(map[*writeHandle]rowShare)}}
			p.It.resume(p.short, size, changed)
			p.short = shortFile{}
		}
		w = p.It
		w.opened(arr, v)
	})
	return w
}

// isOfOther reports whether programs write to an array of which another program has given the name
// to arr. They go on with what they have opened, and get errors.
func (w *writing) isOfOther(arr *zarrcore.Array) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.arr != nil && arr != nil && w.arr.IsOtherThan(arr)
}

// opened counts a writable handle of a view of the array, which is arr if that is not nil.
func (w *writing) opened(arr *zarrcore.Array, v view.ArrayView) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if arr != nil {
		w.arr = arr
	}
	w.opens[v]++
}

// Moved notes that the array has another path.
func (w *writing) Moved(to string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at = to
}

// Ended notes that the array is not there any more. Programs that have a file of it open for
// writing go on without effect. A file of many arrays is there still: see partWriter.
func (w *writing) Ended() { w.ended.Store(true) }

// path returns the array's path.
func (w *writing) path() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at
}

// close counts the end of a writable handle. With the last handle goes what was written to a .npy
// file that never became complete.
func (w *writing) close(v view.ArrayView) {
	w.mu.Lock()
	w.opens[v]--
	last := w.opens[v] == 0
	untouched := last && w.created&view.SetOf(v) != 0
	if last {
		delete(w.opens, v)
		w.created &^= view.SetOf(v)
		delete(w.anew, v)
		w.compared.End(v)
	}
	ended := len(w.opens) == 0
	w.npyEnds = w.npyEnds || last && view.IsHeaded(v)
	w.mu.Unlock()
	if untouched {
		w.table.Kernel.Resized(w.path(), nil)
	}
	if ended {
		w.end()
	}
	if last && view.IsHeaded(v) {
		w.endNpy()
	}
	w.table.find(w.path()) // forgets it where all is stored
	if ended {
		w.table.Ended(w.path())
	}
}

// endNpy ends what the writers of the .npy file have made of it, unless another has opened it.
func (w *writing) endNpy() {
	w.ending.Lock()
	defer w.ending.Unlock()
	defer w.npyEnded()
	if w.opensOf(w.npy.view) > 0 {
		return
	}
	before := w.extent(w.npy.view)
	c := w.npy.come.Came()
	if c.Header < c.Reach && c.Reach < c.Whole {
		name := w.path() + "." + w.npy.view.Name()
		w.table.Log.Warn("only a part of the file was written, the rest is the fill value",
			"file", name, "written", c.Reach, "bytes", c.Whole)
	}
	w.npy.come.Settle()
	if w.npy.forget() {
		w.table.Kernel.Resized(w.path(), nil)
	}
	if c.GoesOn() {
		w.npy.come.Resume(c.Behind(w.extent(w.npy.view).Head))
	}
	if w.extent(w.npy.view) != before { // readers see all of it
		w.changed(nil, w.npy.view, before, view.Everything)
	}
}

// end drops an incomplete last row after the last writer closed. Its close has already reported it,
// and so does the log.
func (w *writing) end() {
	w.ending.Lock()
	defer w.ending.Unlock()
	if w.writers() > 0 {
		return
	}
	if arr := w.array(); arr != nil && arr.Unsaved() {
		if err := arr.Flush(w.table.Ctx, false); errors.Is(err, zarrcore.ErrFraction) {
			w.table.Kernel.Resized(w.path(), nil)
		}
	}
}

// writers returns how many writable handles there are.
func (w *writing) writers() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, opens := range w.opens {
		n += opens
	}
	return n
}

// opensOf returns how many writable handles of a view there are.
func (w *writing) opensOf(v view.View) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.opens[v]
}

// npyEnded notes that what the last handle of the .npy had made of it has ended.
func (w *writing) npyEnded() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.npyEnds = false
}

// over reports whether the array is neither open for writing nor has anything that is not stored.
func (w *writing) over() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.opens) == 0 && !w.npyEnds && (w.arr == nil || !w.arr.Unsaved())
}

// arrive finds the array at the path to which it was moved, for a request that is about to change
// it. array cannot do so, because it asks no store.
func (w *writing) arrive(ctx context.Context) {
	if arr := w.array(); arr != nil {
		arr.Arrive(ctx)
	}
}

// array returns the array as it is now, as far as that is known, nil if it is not there yet.
func (w *writing) array() *zarrcore.Array {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.arr == nil {
		return nil
	}
	return w.arr.Live()
}

// size returns the size of a view's file.
func (w *writing) size(v view.View) (int64, bool) {
	if in := w.awaiting(v); in != nil {
		return in.Size(), true
	}
	if w.empty(v) {
		return 0, true
	}
	av, ok := v.(view.ArrayView)
	arr := w.array()
	if !ok || arr == nil {
		return 0, false
	}
	head, data, err := av.Parts(arr)
	if err != nil {
		return 0, false
	}
	return int64(len(head)) + w.shown(arr, data), true
}

// shown returns how many bytes of the array the files have that show data, which is the array or
// has its axes reversed. Files in another order than the .npy that is being written have none.
func (w *writing) shown(arr, data *zarrcore.Array) int64 {
	n, ok := w.npy.come.Shown()
	switch {
	case !ok || data.IsSlice():
		return data.Size()
	case w.npy.reverses(arr) != (data != arr):
		return 0
	}
	return min(n, data.Size())
}

// awaiting returns what was written to the view's file if its header is awaited, otherwise nil.
func (w *writing) awaiting(v view.View) *input.Incoming {
	if !view.IsHeaded(v) {
		return nil
	}
	return w.npy.awaiting()
}

// await notes that the array's .npy file is rewritten. When its header is complete, create makes
// the array.
func (w *writing) await(create func(ctx context.Context, shape []int64, t dtype.Type, fortran bool) (*zarrcore.Array, error)) {
	w.npy.await(func(ctx context.Context, header npy.Info, t dtype.Type) (input.ArrayWriter, error) {
		w.npy.come.Make()
		arr, err := create(ctx, header.Shape, t, header.Fortran)
		if err != nil {
			w.npy.come.Settle()
			return nil, err
		}
		w.mu.Lock()
		w.arr = arr
		w.mu.Unlock()
		w.table.Stat.Forget(w.path())
		shown, err := arr.InOrder(header.Fortran)
		if err != nil {
			w.npy.come.Settle()
		}
		return input.OneArray{Array: shown, Seam: &w.npy.seam}, err
	})
}

// timesMade returns how many times a .npy has made w another array; w may be nil.
func (w *writing) timesMade() int {
	if w == nil {
		return 0
	}
	return w.npy.come.Made()
}

// isArriving reports whether a .npy is being written, of which not all has come.
func (w *writing) isArriving() bool {
	_, arriving := w.npy.come.Shown()
	return arriving
}

// isEnded reports whether the array is not there any more.
func (w *writing) isEnded() bool { return w.ended.Load() }
