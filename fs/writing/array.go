// Package writing is what a mount knows of arrays while programs write to their files. All views of
// an array share it: where bytes of a file go, what a .npy makes of its array, and what is stored
// when.
package writing

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/zarrfs/zarrfs/fs/coherence"
	"github.com/zarrfs/zarrfs/fs/compare"
	"github.com/zarrfs/zarrfs/fs/input"
	"github.com/zarrfs/zarrfs/fs/material"
	"github.com/zarrfs/zarrfs/fs/pathstate"
	"github.com/zarrfs/zarrfs/fs/stat"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/layout/npy"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
)

// Array is what the mount knows of an array while programs write to it, or what they wrote is not
// stored yet. All views of the array share it.
type Array struct {
	table *Arrays

	turns
	npy       npyFile
	row       openRow
	others    others
	resizings resizings

	mu        sync.Mutex
	at        string            // the array's path
	arr       *zarrcore.Array   // nil: a new array, whose .npy header is awaited
	opens     map[view.View]int // writable handles
	rewritten map[view.View]rewritten
	// Files that were created, and nothing was written to them yet: they are empty, and the array
	// is as it was.
	created view.Set

	ended    atomic.Bool     // the array is not there any more
	compared compare.Running // files that programs believe to write

	npyEnds bool // the last handle of the .npy is closed, and what it has made of it is to end
}

// turns keep apart what programs do to an array at the same time.
type turns struct {
	// appending is held from the moment at which the array's end is looked up until bytes are
	// written there. It comes before all other locks.
	appending sync.Mutex

	// ending is held while the rest that the last writer has left is dropped, and while its header
	// of a .npy ends. A program that opens the file then waits. Otherwise what it writes might be
	// taken for that rest, because a file is released some time after its close.
	ending sync.Mutex
	rests  int // last writers that are closed, and the rest of each is to be dropped; Array.mu

	filling sync.Mutex // held while derived files are written from their beginning
}

// awaitRests waits until the rests of the writers that are closed have been dropped.
func (t *turns) awaitRests() {
	t.ending.Lock()
	defer t.ending.Unlock()
}

// Mount is the mount whose arrays are written to.
type Mount struct {
	Ctx      context.Context // ends with the mount
	H        *zarrcore.Hierarchy
	Log      *slog.Logger
	Stat     *stat.Cache
	Kernel   *coherence.Kernel
	Material *material.Files
	Compared *compare.Files
	Ended    func(path string) // is called when the last program that writes to an array has ended
}

// Arrays are the arrays of a mount that are written to.
type Arrays struct {
	Mount
	states  pathstate.Parts[Part]
	remakes remakes
}

// New returns the arrays of a mount that are written to: none yet.
func New(of Mount, states pathstate.Parts[Part]) *Arrays {
	return &Arrays{Mount: of, states: states}
}

// Part is what the mount knows of the array at a path that programs write, or have written.
type Part struct {
	pathstate.Carried[*Array]
	short shortFile // its .npy, if that was closed before all of it had come
}

// Ended implements pathstate.Part.
func (p *Part) Ended() {
	p.Carried.Ended()
	p.short = shortFile{}
}

// IsEmpty implements pathstate.Part.
func (p *Part) IsEmpty() bool { return p.Carried.IsEmpty() && p.short.isEmpty() }

// Find returns the array at path if programs write to it or not all of it is stored, otherwise nil.
func (t *Arrays) Find(path string) *Array { return t.FindAt(pathstate.At(path)) }

// remakes count how often a .npy makes an array of the mount another one.
type remakes struct{ begun, ended atomic.Int64 }

// begin notes that it does, and returns a function that notes that it has done so.
func (r *remakes) begin() (end func()) {
	r.begun.Add(1)
	return func() { r.ended.Add(1) }
}

// Remakes returns how often a .npy has begun to make an array another one, and whether any does so
// now. While none begins, each array stays what it is.
func (t *Arrays) Remakes() (begun int64, running bool) {
	ended := t.remakes.ended.Load() // first: one that ends after that still runs
	begun = t.remakes.begun.Load()
	return begun, ended != begun
}

// Remake notes that a whole .npy is about to be written over the array. It returns a function that
// notes that all of it is there. Readers see nothing of it until then.
func (w *Array) Remake() (end func()) {
	w.npy.come.Make()
	done := w.table.remakes.begin()
	return func() {
		w.npy.come.Made()
		done()
	}
}

// FindAt is Find for the path that where returns, also if a rename comes just then.
func (t *Arrays) FindAt(where func() string) *Array {
	w := t.states.Copy(where).It
	if w == nil || !w.isOver() {
		return w
	}
	return t.forget(w, where)
}

// forget forgets an array of which all is stored, unless programs write to it again. It returns
// what is at the path that where returns then.
func (t *Arrays) forget(found *Array, where func() string) (w *Array) {
	t.Stat.Forget(found.Path()) // it may have been stored by itself
	t.states.Follow(where, func(p *Part) {
		if p.It == found && found.isOver() {
			p.short = found.npy.short(found.Live())
			p.It = nil
		}
		w = p.It
	})
	return w
}

// AwaitEnds waits until the kernel knows the ends that programs have given the files of an array so
// far, or ctx ends. It is the array at the path that where returns.
func (t *Arrays) AwaitEnds(ctx context.Context, where func() string) {
	if w := t.FindAt(where); w != nil {
		w.resizings.await(ctx)
	}
}

// All returns the arrays that are written to.
func (t *Arrays) All() (all []*Array) {
	t.states.Each("", func(_ string, p *Part) {
		if p.It != nil {
			all = append(all, p.It)
		}
	})
	return all
}

// Open counts a writable handle of a view of the array at the path that where returns. arr is nil
// where a new array's header is awaited.
func (t *Arrays) Open(where func() string, arr *zarrcore.Array, v view.ArrayView) *Array {
	w := t.count(where, arr, v)
	w.awaitRests()
	return w
}

// Join counts a writable handle as Open does, but only if there is one of that view already.
// Otherwise it returns nil. A release that comes then is not the last one.
func (t *Arrays) Join(where func() string, v view.ArrayView) (w *Array) {
	t.states.Follow(where, func(p *Part) {
		if p.It == nil {
			return
		}
		p.It.mu.Lock()
		defer p.It.mu.Unlock()
		if p.It.opens[v] > 0 {
			p.It.opens[v]++
			w = p.It
		}
	})
	if w != nil {
		w.awaitRests()
	}
	return w
}

func (t *Arrays) count(where func() string, arr *zarrcore.Array, v view.ArrayView) (w *Array) {
	size, changed := sizeOf(arr)
	t.states.Follow(where, func(p *Part) {
		if p.It == nil || p.It.IsOfOther(arr) {
			p.It = &Array{table: t, at: where(), opens: make(map[view.View]int),
				npy: npyFile{view: view.Headed()}, row: openRow{by: make(map[*Handle]rowShare)}}
			p.It.row.of, p.It.others.of = p.It, p.It
			p.It.npy.resume(p.short, size, changed)
			p.short = shortFile{}
		}
		w = p.It
		w.mu.Lock()
		defer w.mu.Unlock()
		if arr != nil {
			w.arr = arr
		}
		w.opens[v]++
	})
	return w
}

// IsOfOther reports whether programs write to an array of which another program has given the name
// to arr. They go on with what they have opened, and get errors.
func (w *Array) IsOfOther(arr *zarrcore.Array) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.arr != nil && arr != nil && w.arr.IsOtherThan(arr)
}

// Moved notes that the array has another path.
func (w *Array) Moved(to string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at = to
}

// Ended notes that the array is not there any more. Programs that have a file of it open for
// writing go on without effect. A file of many arrays is there still: see partWriter.
func (w *Array) Ended() { w.ended.Store(true) }

// Path returns the array's path.
func (w *Array) Path() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at
}

// Close counts the end of a writable handle. With the last handle goes what was written to a .npy
// file that never became complete.
func (w *Array) Close(v view.ArrayView) {
	w.mu.Lock()
	w.opens[v]--
	last := w.opens[v] == 0
	untouched := last && w.created&view.SetOf(v) != 0
	if last {
		delete(w.opens, v)
		w.created &^= view.SetOf(v)
		delete(w.rewritten, v)
		w.compared.End(v)
	}
	ended := len(w.opens) == 0
	if ended {
		w.rests++
	}
	w.npyEnds = w.npyEnds || last && view.IsHeaded(v)
	w.mu.Unlock()
	if untouched {
		w.table.Kernel.Resized(w.Path(), nil)
	}
	if ended {
		w.end()
	}
	if last && view.IsHeaded(v) {
		w.endNpy()
	}
	w.table.FindAt(w.Path) // forgets it where all is stored
	if ended {
		w.table.Ended(w.Path())
	}
}

// endNpy ends what the writers of the .npy file have made of it, unless another has opened it.
func (w *Array) endNpy() {
	w.ending.Lock()
	defer w.ending.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.npyEnds = false
	}()
	if w.OpensOf(w.npy.view) > 0 {
		return
	}
	npy := viewFile{w, w.npy.view}
	before := npy.extent()
	c := w.npy.come.Came()
	if c.Header < c.Reach && c.Reach < c.Whole {
		name := w.Path() + "." + w.npy.view.Name()
		w.table.Log.Warn("only a part of the file was written, the rest is the fill value",
			"file", name, "written", c.Reach, "bytes", c.Whole)
	}
	w.npy.come.Settle()
	if w.npy.forget() {
		w.table.Kernel.Resized(w.Path(), nil)
	}
	if c.GoesOn() {
		w.npy.come.Resume(c.Behind(npy.extent().Head))
	}
	if npy.extent() != before { // readers see all of it
		w.others.changed(nil, npy, before, view.Everything)
	}
}

// end drops an incomplete last row after the last writer closed. Its close has already reported it,
// and so does the log. Until then the array is not forgotten. Otherwise the next writer would not
// wait, and lose the row that it has begun.
func (w *Array) end() {
	w.ending.Lock()
	defer w.ending.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.rests--
	}()
	if w.Writers() > 0 {
		return
	}
	if arr := w.Live(); arr != nil && arr.IsUnsaved() {
		if err := arr.Flush(w.table.Ctx, false); errors.Is(err, zarrcore.ErrFraction) {
			w.table.Kernel.Resized(w.Path(), nil)
		}
	}
}

// Writers returns how many writable handles there are.
func (w *Array) Writers() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, opens := range w.opens {
		n += opens
	}
	return n
}

// OpensOf returns how many writable handles of a view there are.
func (w *Array) OpensOf(v view.View) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.opens[v]
}

// isOver reports whether the array is neither open for writing nor has anything that is not stored.
func (w *Array) isOver() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.opens) == 0 && !w.npyEnds && w.rests == 0 &&
		(w.arr == nil || !w.arr.IsUnsaved())
}

// Arrive finds a moved array at its new path, for a request that is about to change the array. Live
// cannot do so, because it does not ask the store.
func (w *Array) Arrive(ctx context.Context) {
	if arr := w.Live(); arr != nil {
		arr.Arrive(ctx)
	}
}

// Live returns the array as it is now, as far as that is known, nil if it is not there yet.
func (w *Array) Live() *zarrcore.Array {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.arr == nil {
		return nil
	}
	return w.arr.Live()
}

// Size returns the size of a view's file.
func (w *Array) Size(v view.View) (int64, bool) {
	if in := w.Awaiting(v); in != nil && !in.IsDone() {
		return in.Size(), true
	}
	if w.IsEmpty(v) {
		return 0, true
	}
	av, ok := v.(view.ArrayView)
	arr := w.Live()
	if !ok || arr == nil {
		return 0, false
	}
	e, err := w.npy.extentOf(av, arr)
	return e.Size(), err == nil
}

// Awaiting returns what was written to the view's file if its header is awaited, otherwise nil.
func (w *Array) Awaiting(v view.View) *input.Incoming {
	if !view.IsHeaded(v) {
		return nil
	}
	return w.npy.awaiting()
}

// ExpectHeader notes that the array's .npy file is rewritten. When its header is complete, create
// makes the array.
func (w *Array) ExpectHeader(
	create func(ctx context.Context, shape []int64, t dtype.Type, fortran bool) (*zarrcore.Array,
		error),
) {
	w.npy.expectHeader(func(ctx context.Context, header npy.Info, t dtype.Type, text []byte) (
		input.ArrayWriter, error,
	) {
		w.table.Compared.Arrives(w.Path(), w.npy.view, text)
		w.npy.come.Make()
		defer w.table.remakes.begin()()
		arr, err := create(ctx, header.Shape, t, header.Fortran)
		if err != nil {
			w.npy.come.Made()
			return nil, err
		}
		w.mu.Lock()
		w.arr = arr
		w.mu.Unlock()
		w.table.Stat.Forget(w.Path())
		shown, err := arr.InOrder(header.Fortran)
		if err != nil {
			w.npy.come.Made()
		}
		return input.OneArray{Array: shown, Seam: &w.npy.seam}, err
	})
}

// IsArriving reports whether a .npy is being written, of which not all has come.
func (w *Array) IsArriving() bool {
	_, arriving := w.npy.come.Shown()
	return arriving
}

// IsEnded reports whether the array is not there any more.
func (w *Array) IsEnded() bool { return w.ended.Load() }
