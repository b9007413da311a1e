package live

import (
	"cmp"
	"context"
	"errors"
	iofs "io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/chunk"
	"github.com/zarrfs/zarrfs/zarrcore/merge"
	"github.com/zarrfs/zarrfs/zarrcore/object"
	"github.com/zarrfs/zarrfs/zarrcore/parallel"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/unstored"
)

// Objects are stored in batches: those of a batch are encoded concurrently, made
// durable together, and then put in their places, while the next batch is being
// encoded.
const (
	batchBytes   = 48 << 20 // decoded
	batchObjects = 512
	maxConflicts = 100 // other writers replaced an object this often while it was being merged
)

// A job is one object on its way to the store.
type job struct {
	s      *storer
	number int64
	a      *Array // the generation that was frozen
	key    string
	made   *merge.Object
	staged *store.Staged // nil: the object is to be deleted
	cond   store.If
	put    *store.Info           // of the object, once it is in its place
	same   bool                  // the object stays as it is
	unlock func()                // nil: the object is not locked
	bytes  int64                 // that the draft's backlog has for it
	back   *unstored.AheadObject // not nil: these rows of it are taken back
	err    error
}

// merges returns the object of that number of the array a, to be made.
func (j *job) merges(a *Array) *merge.Object {
	return &merge.Object{
		Array: merge.Array{
			Objects: a.gen.Objects, Grid: a.gen.Grid, Element: a.gen.Meta.Fill, Fill: a.gen.Fill, Plain: a.gen.Plain,
			KeepFill: a.h.of.KeepFill, Memory: a.h.of.Shared.Memory, Count: a.h.of.Shared.Count,
		},
		Number: j.number, CutIn: j.cutIn,
	}
}

// bind finds the codecs with which the object is to be encoded.
func (j *job) bind() (err error) {
	a := j.a.gen.Objects
	j.made.Chain, err = j.a.gen.Chains.Of(a.Keys, j.number, a.Length(j.number))
	return err
}

// storeObjects stores the dirty chunks of these objects. What fails stays dirty.
// The caller holds flushing.
func (s *storer) storeObjects(ctx context.Context, objects []int64) error {
	var p pipeline
	s.feed(ctx, &p, objects)
	return p.end()
}

// A pipeline commits one batch while the next one is being prepared.
type pipeline struct {
	objects []int64    // being committed
	before  chan error // their result; nil: nothing is being committed
	err     error      // the first
}

// feed stores objects, the last batch of which it leaves to be committed. The
// caller holds flushing until that has ended too.
func (s *storer) feed(ctx context.Context, p *pipeline, objects []int64) {
	most := max(s.h.of.Workers, min(batchObjects, int(batchBytes/max(1, s.live.Load().gen.Objects.ChunkBytes()))))
	for len(objects) > 0 && p.err == nil {
		batch := objects[:min(len(objects), most)]
		objects = objects[len(batch):]
		if slices.ContainsFunc(batch, func(n int64) bool { return slices.Contains(p.objects, n) }) {
			p.end() // it was written again meanwhile
		}
		jobs := s.prepareAll(ctx, batch)
		p.end()
		done := make(chan error, 1)
		go func() { done <- s.commitAll(ctx, jobs) }()
		p.objects, p.before = batch, done
	}
}

// end waits until nothing is being committed, and returns the first error.
func (p *pipeline) end() error {
	if p.before != nil {
		p.err = cmp.Or(p.err, <-p.before)
		p.objects, p.before = nil, nil
	}
	return p.err
}

// prepareAll encodes and stages objects, several at once. It locks them in the
// order of their keys: two that lock some of the same objects in different orders
// would wait for each other for ever.
func (s *storer) prepareAll(ctx context.Context, objects []int64) []*job {
	jobs := make([]*job, len(objects))
	for i, n := range objects {
		jobs[i] = &job{s: s, number: n}
		jobs[i].freeze()
	}
	slices.SortFunc(jobs, func(i, j *job) int { return strings.Compare(i.key, j.key) })
	for _, j := range jobs {
		if j.err == nil {
			j.unlock, j.err = s.h.of.Store.Lock(ctx, j.key)
		}
	}
	parallel.Each(s.h.of.Workers+1, len(jobs), func(i int) { // one more: at the end of a batch, and while one waits for the disk, none is idle
		if j := jobs[i]; j.err == nil {
			j.made.Workers = max(1, s.h.of.Workers/len(jobs))
			j.err = compress.Guard(func() error { return j.prepare(ctx) })
		}
	})
	return jobs
}

// freeze freezes the object's dirty chunks. The generation that counts is the one
// of this moment: a row that was appended since the flush began is frozen too.
func (j *job) freeze() {
	d := j.s.draft
	d.mu.Lock()
	defer d.mu.Unlock()
	j.a = d.live.Load()
	a := j.a
	j.key, j.made = a.gen.Objects.Key(j.number), j.merges(a)
	a.gen.Objects.EachChunk(j.number, func(chunk, _ int64) {
		f, err := d.set.Freeze(chunk)
		if f != nil {
			j.made.Frozen = append(j.made.Frozen, f)
		}
		j.err = cmp.Or(j.err, err)
		j.bytes += d.complete.Remove(chunk, j.number)
	})
}

// prepare reads what is needed of the stored object, encodes, and stages.
func (j *job) prepare(ctx context.Context) (err error) {
	if err := j.bind(); err != nil {
		return err
	}
	var old *object.Reader
	if j.made.Covers(true) {
		j.cond = store.If{}
	} else if old, err = j.open(ctx); err != nil {
		return err
	}
	if old != nil {
		defer old.Close()
	}
	defer j.made.Free()
	var object []byte
	object, j.same, err = j.made.Make(old)
	if errors.Is(err, compress.ErrCorrupt) && j.made.Covers(false) { // of what nobody can read no row is lost
		object, j.same, err = j.made.Make(nil)
	}
	if err != nil || object == nil {
		return err
	}
	j.s.h.of.Shared.Count.Stored.Add(int64(len(object)))
	j.staged, err = j.s.home.Store.Stage(ctx, j.key, object)
	return err
}

// cutIn is Array.cutIn, but of an object that is taken back it is where that begins.
func (j *job) cutIn(chunk int64) int64 {
	if j.back != nil {
		return j.a.gen.BytesBefore(chunk, j.back.From)
	}
	return j.a.cutIn(chunk)
}

// open opens the stored object, which must not change until it is replaced; nil
// if there is none.
func (j *job) open(ctx context.Context) (*object.Reader, error) {
	src, err := j.a.reads.Opener().Open(ctx, j.s.home.Store, j.number, j.key)
	if errors.Is(err, object.ErrMissing) {
		j.cond = store.If{Version: store.Absent}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	j.cond = store.If{Version: src.Info().Version}
	return src, nil
}

// commitAll makes staged objects durable and puts them in their places. It
// returns the first error.
func (s *storer) commitAll(ctx context.Context, jobs []*job) error {
	var staged []*store.Staged
	for _, j := range jobs {
		if j.err == nil && j.staged != nil {
			staged = append(staged, j.staged)
		}
	}
	if err := s.home.Store.SyncStaged(ctx, staged); err != nil {
		for _, j := range jobs {
			if j.err == nil {
				j.err = err
			}
		}
	}
	parallel.Each(s.h.of.Workers, len(jobs), func(i int) { jobs[i].settle(ctx) })
	s.checkHome(ctx, jobs)
	parallel.Each(s.h.of.Workers, len(jobs), func(i int) { jobs[i].finish() })
	if s.h.of.Durable.TooMany() {
		s.h.of.Durable.Sync(ctx, s.home.Store, s.path) // an fsync reports the error
	}
	var first error
	for _, j := range jobs {
		if j.err != nil && first == nil {
			first = &catalog.Error{Op: "store", Path: s.path, Key: j.key, Err: j.err}
		}
	}
	return first
}

// checkHome makes sure that what was stored is in the array, before any byte of it
// is forgotten. If the array is no more, nothing counts as stored.
func (s *storer) checkHome(ctx context.Context, jobs []*job) {
	err := s.home.Holds(ctx, s.live.Load().gen.Stored())
	if err == nil {
		return
	}
	put := map[string]store.Info{}
	for _, j := range jobs {
		if j.put != nil {
			put[j.key] = *j.put
		}
		if j.err == nil || errors.Is(j.err, iofs.ErrNotExist) {
			j.err = err
		}
	}
	if errors.Is(err, catalog.ErrOrphan) {
		s.home.TakeBack(ctx, put)
	}
}

// settle puts the object in its place. If another writer was faster, it is
// merged again. It stays locked meanwhile: that writer took no lock.
func (j *job) settle(ctx context.Context) {
	for tries := 0; j.err == nil; tries++ {
		j.err = j.commit(ctx)
		if !errors.Is(j.err, store.ErrConflict) || tries == maxConflicts {
			break
		}
		j.discard()
		time.Sleep(time.Duration(rand.Int64N(int64(min(tries+1, 10)) * int64(time.Millisecond))))
		if j.err = compress.Guard(func() error { return j.prepare(ctx) }); j.err == nil && j.staged != nil {
			j.err = j.s.home.Store.SyncStaged(ctx, []*store.Staged{j.staged})
		}
	}
	j.release()
}

// finish forgets the bytes that are stored, or makes them dirty again. Those of rows that
// the document is to count wait for that.
func (j *job) finish() {
	defer j.s.relax(j.bytes)
	switch {
	case j.err != nil:
		j.thaw()
	case !j.s.holds(j):
		j.s.stored(j)
	}
}

// thaw makes the bytes dirty again.
func (j *job) thaw() {
	for _, f := range j.made.Frozen {
		if err := f.Thaw(); err != nil {
			j.err = errors.Join(j.err, err)
		}
	}
}

func (j *job) commit(ctx context.Context) error {
	if j.same {
		return nil
	}
	if j.a.gen.Objects.Bounded() {
		return j.relay(func() error { return j.replace(ctx) })
	}
	return j.replace(ctx)
}

// replace puts the object in its place, or takes away the one that is there.
func (j *job) replace(ctx context.Context) error {
	if j.staged == nil {
		return j.s.deleteObject(ctx, j.key, j.cond)
	}
	info, err := j.staged.Commit(ctx, j.cond)
	if err == nil {
		j.put = &info
	}
	return err
}

// release gives back what the job holds of the store.
func (j *job) release() {
	j.discard()
	if j.unlock != nil {
		j.unlock()
		j.unlock = nil
	}
}

// discard forgets what was staged.
func (j *job) discard() {
	if j.staged != nil {
		j.staged.Discard()
		j.staged = nil
	}
}

// stored lets everybody see the stored object, however the array is seen, and only then forgets
// the dirty bytes. That the object is fresh is noted first. A reader that loads it afterwards must
// not take it for one from before the cut. What readers have loaded already is forgotten.
func (d *draft) stored(j *job) {
	d.h.of.Durable.Note(d.path, j.key)
	d.mu.Lock()
	d.cuts.Stored(j.number)
	d.noteAhead(j, false)
	d.mu.Unlock()
	live := d.live.Load()
	j.a.gen.Objects.EachChunk(j.number, func(n, _ int64) {
		d.h.of.Shared.Cache.Forget(chunk.ID{Array: j.a.gen.ID, Chunk: n})
		if live.gen.ID != j.a.gen.ID {
			d.h.of.Shared.Cache.Forget(chunk.ID{Array: live.gen.ID, Chunk: n})
		}
	})
	live.changed()
	d.changedForLater()
	for _, f := range j.made.Frozen {
		f.Stored()
	}
}

// relax takes bytes from the backlog and lets waiting writers go on.
func (d *draft) relax(bytes int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.complete.Backlog -= bytes
	d.settled.Broadcast()
}
