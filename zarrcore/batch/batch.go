// Package batch stores objects of one array, many at a time. Those of a batch are made of dirty
// chunks and of what is stored, and staged, concurrently. Then they are made durable together, and
// committed, while those of the next batch are made.
package batch

import (
	"cmp"
	"context"
	"errors"
	iofs "io/fs"
	"slices"
	"strings"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/chunk"
	"github.com/zarrfs/zarrfs/zarrcore/durable"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/object"
	"github.com/zarrfs/zarrfs/zarrcore/parallel"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// The size of a batch.
const (
	batchBytes   = 48 << 20 // decoded
	batchObjects = 512
)

// A Source has the dirty chunks of an array. All methods except Freeze may be called concurrently.
type Source interface {
	// Freeze freezes the dirty chunks of the job's object, and says of which generation they are:
	// all exported fields of the job but Number are to be set. What fails is Err.
	Freeze(j *Job)

	// Stored returns the array as it is to be found in the store.
	Stored() *meta.Array

	// Replace calls commit. It puts the object of a bounded grid in the place of one that may have
	// another length.
	Replace(j *Job, commit func() error) error

	// End says that the object is in its place, or why it is not: Err.
	End(j *Job)
}

// A Writer stores objects of one array, one call at a time.
type Writer struct {
	Source  Source
	Home    *catalog.Home // the directory of the array
	Path    string        // of the array
	Store   *store.Store  // the whole one, in which objects are locked
	Durable *durable.Dirs
	Count   *object.Counters

	Workers    int              // encode at once
	Room       *chunk.Semaphore // of the memory in which objects are encoded
	ChunkBytes int64            // decoded, of one object
}

// Write stores the dirty chunks of these objects. What fails stays dirty.
func (w *Writer) Write(ctx context.Context, objects []int64) error {
	var p Pipeline
	w.Feed(ctx, &p, objects)
	return p.End()
}

// A Pipeline commits one batch while the next one is being prepared.
type Pipeline struct {
	objects []int64    // being committed
	before  chan error // their result; nil: nothing is being committed
	err     error      // the first
}

// Feed stores objects. The last batch of them is still being committed when it returns.
func (w *Writer) Feed(ctx context.Context, p *Pipeline, objects []int64) {
	most := max(w.Workers, min(batchObjects, int(batchBytes/max(1, w.ChunkBytes))))
	for len(objects) > 0 && p.err == nil {
		batch := objects[:min(len(objects), most)]
		objects = objects[len(batch):]
		if slices.ContainsFunc(batch, func(n int64) bool { return slices.Contains(p.objects, n) }) {
			p.End() // it was written again meanwhile
		}
		jobs := w.prepareAll(ctx, batch)
		p.End()
		done := make(chan error, 1)
		go func() { done <- w.commitAll(ctx, jobs) }()
		p.objects, p.before = batch, done
	}
}

// End waits until nothing is being committed, and returns the first error.
func (p *Pipeline) End() error {
	if p.before != nil {
		p.err = cmp.Or(p.err, <-p.before)
		p.objects, p.before = nil, nil
	}
	return p.err
}

// IsIdle reports whether nothing is being committed.
func (p *Pipeline) IsIdle() bool { return p.before == nil }

// HasFailed reports whether an object could not be stored, as far as is known without waiting.
func (p *Pipeline) HasFailed() bool { return p.err != nil }

// prepareAll encodes and stages objects, several at once. It locks them in the
// order of their keys: two that lock some of the same objects in different orders
// would wait for each other for ever.
func (w *Writer) prepareAll(ctx context.Context, objects []int64) []*Job {
	jobs := make([]*Job, len(objects))
	for i, n := range objects {
		jobs[i] = &Job{w: w, Number: n}
		w.Source.Freeze(jobs[i])
	}
	slices.SortFunc(jobs, func(i, j *Job) int { return strings.Compare(i.Key, j.Key) })
	for _, j := range jobs {
		if j.Err == nil {
			j.unlock, j.Err = w.Store.Lock(ctx, j.Key)
		}
	}
	// One worker more: at the end of a batch, and while one waits for the disk, none is idle.
	parallel.Each(w.Workers+1, len(jobs), func(i int) {
		if j := jobs[i]; j.Err == nil {
			j.Made.Workers = max(1, w.Workers/len(jobs))
			j.Err = compress.Guard(func() error { return j.prepare(ctx) })
		}
	})
	return jobs
}

// commitAll makes staged objects durable and puts them in their places. It
// returns the first error.
func (w *Writer) commitAll(ctx context.Context, jobs []*Job) error {
	var staged []*store.Staged
	for _, j := range jobs {
		if j.Err == nil && j.staged != nil {
			staged = append(staged, j.staged)
		}
	}
	if err := w.Home.Store.SyncStaged(ctx, staged); err != nil {
		for _, j := range jobs {
			if j.Err == nil {
				j.Err = err
			}
		}
	}
	parallel.Each(w.Workers, len(jobs), func(i int) { jobs[i].putInPlace(ctx) })
	w.checkHome(ctx, jobs)
	parallel.Each(w.Workers, len(jobs), func(i int) { w.Source.End(jobs[i]) })
	if w.Durable.HasTooMany() {
		w.Durable.Sync(ctx, w.Home.Store, w.Path) // an fsync reports the error
	}
	for _, j := range jobs {
		if j.Err != nil {
			return &catalog.Error{Op: "store", Path: w.Path, Key: j.Key, Err: j.Err}
		}
	}
	return nil
}

// checkHome makes sure that what was stored is in the array, before any byte of it
// is forgotten. If the array is no more, nothing counts as stored.
func (w *Writer) checkHome(ctx context.Context, jobs []*Job) {
	err := w.Home.Holds(ctx, w.Source.Stored())
	if err == nil {
		return
	}
	put := map[string]store.Info{}
	for _, j := range jobs {
		if j.Put != nil {
			put[j.Key] = *j.Put
		}
		if j.Err == nil || errors.Is(j.Err, iofs.ErrNotExist) {
			j.Err = err
		}
	}
	if errors.Is(err, catalog.ErrOrphan) {
		w.Home.TakeBack(ctx, put)
	}
}
