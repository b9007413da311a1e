package zarrcore

import (
	"cmp"
	"context"
	"errors"
	iofs "io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/chunk"
	"github.com/zarrfs/zarrfs/zarrcore/codec"
	"github.com/zarrfs/zarrfs/zarrcore/dirty"
	"github.com/zarrfs/zarrfs/zarrcore/object"
	"github.com/zarrfs/zarrfs/zarrcore/parallel"
	"github.com/zarrfs/zarrfs/zarrcore/store"
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
	d       *draft
	number  int64
	a       *Array // the generation that was frozen
	key     string
	chain   *codec.Chain
	frozen  []*dirty.Frozen
	staged  *store.Staged // nil: the object is to be deleted
	cond    store.If
	put     *store.Info     // of the object, once it is in its place
	same    bool            // the object stays as it is
	unlock  func()          // nil: the object is not locked
	workers int             // that encode its chunks
	mu      sync.Mutex      // guards buffers
	buffers []*encodeBuffer // in use by prepare
	opened  []*dirty.Frozen // in use by prepare
	bytes   int64           // that the draft's backlog has for it
	back    *aheadObject    // not nil: these rows of it are taken back
	err     error
}

// storeObjects stores the dirty chunks of these objects. What fails stays dirty.
// The caller holds flushing.
func (d *draft) storeObjects(ctx context.Context, objects []int64) error {
	var p pipeline
	d.feed(ctx, &p, objects)
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
func (d *draft) feed(ctx context.Context, p *pipeline, objects []int64) {
	most := max(d.h.workers, min(batchObjects, int(batchBytes/max(1, d.live.Load().objects.ChunkBytes()))))
	for len(objects) > 0 && p.err == nil {
		batch := objects[:min(len(objects), most)]
		objects = objects[len(batch):]
		if slices.ContainsFunc(batch, func(n int64) bool { return slices.Contains(p.objects, n) }) {
			p.end() // it was written again meanwhile
		}
		jobs := d.prepareAll(ctx, batch)
		p.end()
		done := make(chan error, 1)
		go func() { done <- d.commitAll(ctx, jobs) }()
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
func (d *draft) prepareAll(ctx context.Context, objects []int64) []*job {
	jobs := make([]*job, len(objects))
	for i, n := range objects {
		jobs[i] = &job{d: d, number: n}
		jobs[i].freeze()
	}
	slices.SortFunc(jobs, func(i, j *job) int { return strings.Compare(i.key, j.key) })
	for _, j := range jobs {
		if j.err == nil {
			j.unlock, j.err = d.h.store.Lock(ctx, j.key)
		}
	}
	parallel.Each(d.h.workers+1, len(jobs), func(i int) { // one more: at the end of a batch, and while one waits for the disk, none is idle
		if j := jobs[i]; j.err == nil {
			j.workers = max(1, d.h.workers/len(jobs))
			j.err = compress.Guard(func() error { return j.prepare(ctx) })
		}
	})
	return jobs
}

// freeze freezes the object's dirty chunks. The generation that counts is the one
// of this moment: a row that was appended since the flush began is frozen too.
func (j *job) freeze() {
	d := j.d
	d.mu.Lock()
	defer d.mu.Unlock()
	j.a = d.live.Load()
	a := j.a
	j.key = a.objects.Key(j.number)
	a.objects.EachChunk(j.number, func(chunk, _ int64) {
		f, err := d.set.Freeze(chunk)
		if f != nil {
			j.frozen = append(j.frozen, f)
		}
		j.err = cmp.Or(j.err, err)
		j.bytes += d.complete.remove(chunk, j.number)
	})
}

// prepare reads what is needed of the stored object, encodes, and stages.
func (j *job) prepare(ctx context.Context) (err error) {
	if j.chain, err = j.a.chains.Of(j.a.objects.Keys, j.number, j.a.objects.Length(j.number)); err != nil {
		return err
	}
	var old *object.Reader
	if j.covers(true) {
		j.cond = store.If{}
	} else if old, err = j.open(ctx); err != nil {
		return err
	}
	if old != nil {
		defer old.Close()
	}
	defer j.free()
	object, err := j.object(old)
	if errors.Is(err, compress.ErrCorrupt) && j.covers(false) { // of what nobody can read no row is lost
		object, err = j.object(nil)
	}
	if err != nil || object == nil {
		return err
	}
	j.d.h.count.Stored.Add(int64(len(object)))
	j.staged, err = j.d.home.Store.Stage(ctx, j.key, object)
	return err
}

// object makes the new object; nil if it is to be deleted, or stays as it is.
func (j *job) object(old *object.Reader) ([]byte, error) {
	pieces, err := j.encode(old)
	if j.same = len(pieces) == 0; j.same || err != nil {
		return nil, err
	}
	return j.assemble(old, pieces)
}

// assemble makes the object of its chunks; nil if it is to be deleted.
func (j *job) assemble(old *object.Reader, pieces []codec.Piece) ([]byte, error) {
	if !j.chain.Sharded() {
		return pieces[0].Data, nil
	}
	var src codec.Source
	if old != nil && !j.relaid(old) {
		src = old
	}
	object := j.buffer()
	var empty bool
	var err error
	object.b, empty, err = j.chain.Assemble(object.b, src, pieces)
	if err != nil || empty {
		return nil, err
	}
	return object.b, nil
}

// buffer returns memory for encoded bytes, until free.
func (j *job) buffer() *encodeBuffer {
	b := getEncodeBuffer()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.buffers = append(j.buffers, b)
	return b
}

// free gives back what encoding needed.
func (j *job) free() {
	for _, b := range j.buffers {
		putEncodeBuffer(b)
	}
	for _, f := range j.opened {
		f.Close()
	}
	j.buffers, j.opened = nil, nil
}

// covers reports that all of the object that lies in the array is dirty. If grown is
// set, that goes for the array with whole objects along its rows, so that what is stored
// does not matter: else rows behind the array's end may be there, which others have
// appended.
func (j *job) covers(grown bool) bool {
	if int64(len(j.frozen)) != j.a.objects.ChunksIn(j.number, grown) {
		return false
	}
	inside := j.a.grid.Inside
	if grown {
		inside = j.a.objects.BytesGrown
	}
	return !slices.ContainsFunc(j.frozen, func(f *dirty.Frozen) bool { return f.Covered() < inside(f.Number) })
}

// open opens the stored object, which must not change until it is replaced; nil
// if there is none.
func (j *job) open(ctx context.Context) (*object.Reader, error) {
	src, err := j.a.opener().Open(ctx, j.d.home.Store, j.number, j.key)
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

// relaid reports that the stored object has another length than the new one, or rows
// that do not count, so that no chunk of it stays as it is.
func (j *job) relaid(old *object.Reader) bool {
	return !old.Fits(j.a.objects.Keys)
}

// encode encodes the dirty chunks, and what a cut has changed of others.
func (j *job) encode(old *object.Reader) ([]codec.Piece, error) {
	var todo []func() (codec.Piece, error)
	frozen := j.frozen
	j.a.objects.EachChunk(j.number, func(n, inner int64) {
		if len(frozen) > 0 && frozen[0].Number == n {
			f := frozen[0]
			frozen = frozen[1:]
			todo = append(todo, func() (codec.Piece, error) { return j.encodeChunk(f, inner, old) })
			return
		}
		switch cut := j.cutIn(n); {
		case old == nil || cut == j.a.grid.BytesOf(n) && !j.relaid(old): // it stays as it is
		case cut == 0:
			todo = append(todo, func() (codec.Piece, error) { return codec.Piece{Inner: inner}, nil })
		default:
			todo = append(todo, func() (codec.Piece, error) { return j.encodeCut(n, inner, old) })
		}
	})
	return j.run(todo)
}

// run encodes chunks, several at once where there are fewer objects than workers.
func (j *job) run(todo []func() (codec.Piece, error)) ([]codec.Piece, error) {
	pieces := make([]codec.Piece, len(todo))
	var failed atomic.Pointer[error]
	parallel.Each(max(1, j.workers), len(todo), func(i int) {
		if failed.Load() != nil {
			return
		}
		err := compress.Guard(func() (err error) {
			pieces[i], err = todo[i]()
			return err
		})
		if err != nil {
			failed.CompareAndSwap(nil, &err)
		}
	})
	if err := failed.Load(); err != nil {
		return nil, *err
	}
	return pieces, nil
}

// encodeChunk encodes the dirty bytes of a chunk over those that are stored.
func (j *job) encodeChunk(f *dirty.Frozen, inner int64, old *object.Reader) (codec.Piece, error) {
	if j.a.plain {
		j.opened = append(j.opened, f) // its memory is the encoded chunk
	} else {
		defer f.Close()
	}
	size := j.a.grid.BytesOf(f.Number)
	buf, err := f.Open(size)
	if err != nil {
		return codec.Piece{}, err
	}
	if f.Covered() < size {
		base := j.d.h.mem.Get(size)
		defer j.d.h.mem.Put(base)
		if f.Covered() >= j.a.objects.BytesGrown(f.Number) {
			old = nil // only padding is missing
		}
		if err := j.base(base, f.Number, inner, old); err != nil {
			return codec.Piece{}, err
		}
		f.Gaps(size, func(lo, hi int64) { copy(buf[lo:hi], base[lo:hi]) })
	}
	return j.piece(buf, inner)
}

// encodeCut encodes a chunk of which only the cut is new.
func (j *job) encodeCut(n, inner int64, old *object.Reader) (codec.Piece, error) {
	base := j.buffer()
	size := j.a.grid.BytesOf(n)
	base.b = slices.Grow(base.b, int(size))[:size]
	if err := j.base(base.b, n, inner, old); err != nil {
		return codec.Piece{}, err
	}
	return j.piece(base.b, inner)
}

// cutIn is Array.cutIn, but of an object that is taken back it is where that begins.
func (j *job) cutIn(chunk int64) int64 {
	if j.back != nil {
		return j.a.bytesBefore(chunk, j.back.from)
	}
	return j.a.cutIn(chunk)
}

// base fills dst with a chunk as it is stored, or was meant to be: what is cut
// of it is fill value.
func (j *job) base(dst []byte, n, inner int64, old *object.Reader) error {
	fill := j.a.meta.Fill
	cut := j.cutIn(n)
	if old == nil || cut == 0 {
		layout.Repeat(dst, fill)
		return nil
	}
	j.d.h.count.Chunks.Add(1)
	j.d.h.count.Bytes.Add(int64(len(dst)))
	err := old.Decode(dst, inner)
	if object.IsMissing(err) {
		cut, err = 0, nil
	}
	layout.Repeat(dst[cut:], fill)
	return err
}

// piece encodes a chunk, unless it is nothing but fill value: that is what a
// missing chunk says too.
func (j *job) piece(chunk []byte, inner int64) (codec.Piece, error) {
	if !j.d.h.keepFill && j.a.fill.Fills(chunk) {
		return codec.Piece{Inner: inner}, nil
	}
	j.d.h.count.Encoded.Add(1)
	if j.a.plain {
		return codec.Piece{Inner: inner, Data: chunk}, nil
	}
	b := j.buffer()
	var err error
	b.b, err = j.chain.EncodeChunk(b.b, chunk)
	return codec.Piece{Inner: inner, Data: b.b}, err
}

// commitAll makes staged objects durable and puts them in their places. It
// returns the first error.
func (d *draft) commitAll(ctx context.Context, jobs []*job) error {
	var staged []*store.Staged
	for _, j := range jobs {
		if j.err == nil && j.staged != nil {
			staged = append(staged, j.staged)
		}
	}
	if err := d.home.Store.SyncStaged(ctx, staged); err != nil {
		for _, j := range jobs {
			if j.err == nil {
				j.err = err
			}
		}
	}
	parallel.Each(d.h.workers, len(jobs), func(i int) { jobs[i].settle(ctx) })
	d.checkHome(ctx, jobs)
	parallel.Each(d.h.workers, len(jobs), func(i int) { jobs[i].finish() })
	if d.h.undurable.TooMany() {
		d.h.undurable.Sync(ctx, d.home.Store, d.path) // fsync tells what is the matter
	}
	var first error
	for _, j := range jobs {
		if j.err != nil && first == nil {
			first = &Error{Op: "store", Path: d.path, Key: j.key, Err: j.err}
		}
	}
	return first
}

// checkHome makes sure that what was stored is in the array, before any byte of it
// is forgotten. If the array is no more, nothing counts as stored.
func (d *draft) checkHome(ctx context.Context, jobs []*job) {
	a := d.live.Load()
	stored := a.meta
	if a.source != nil {
		stored = a.source
	}
	err := d.home.Holds(ctx, stored)
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
		d.home.TakeBack(ctx, put)
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
			j.err = j.d.home.Store.SyncStaged(ctx, []*store.Staged{j.staged})
		}
	}
	j.release()
}

// finish forgets the bytes that are stored, or makes them dirty again. Those of rows that
// the document is to count wait for that.
func (j *job) finish() {
	defer j.d.relax(j.bytes)
	switch {
	case j.err != nil:
		j.thaw()
	case !j.d.holds(j):
		j.d.stored(j)
	}
}

// thaw makes the bytes dirty again.
func (j *job) thaw() {
	for _, f := range j.frozen {
		if err := f.Thaw(); err != nil {
			j.err = errors.Join(j.err, err)
		}
	}
}

func (j *job) commit(ctx context.Context) error {
	if j.same {
		return nil
	}
	if j.a.objects.Bounded() {
		return j.relay(func() error { return j.replace(ctx) })
	}
	return j.replace(ctx)
}

// replace puts the object in its place, or takes away the one that is there.
func (j *job) replace(ctx context.Context) error {
	if j.staged == nil {
		return j.d.deleteObject(ctx, j.key, j.cond)
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

// stored lets everybody see the stored object, however the array is seen, and
// only then forgets the dirty bytes. That the object is fresh comes first: who
// loads it afterwards must not take it for one from before the cut, and who has
// done so already is made to forget it.
func (d *draft) stored(j *job) {
	d.h.undurable.Note(d.path, j.key)
	d.mu.Lock()
	d.cuts.stored(j.number)
	d.noteAhead(j, false)
	d.mu.Unlock()
	live := d.live.Load()
	j.a.objects.EachChunk(j.number, func(n, _ int64) {
		d.h.cache.Forget(chunk.ID{Array: j.a.id, Chunk: n})
		if live.id != j.a.id {
			d.h.cache.Forget(chunk.ID{Array: live.id, Chunk: n})
		}
	})
	live.changed()
	d.changedForLater()
	for _, f := range j.frozen {
		f.Stored()
	}
}

// relax takes bytes from the backlog and lets waiting writers go on.
func (d *draft) relax(bytes int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.complete.backlog -= bytes
	d.settled.Broadcast()
}

// An encodeBuffer is recycled memory for an object that is being put together.
type encodeBuffer struct{ b []byte }

var encodeBuffers = sync.Pool{New: func() any { return new(encodeBuffer) }}

func getEncodeBuffer() *encodeBuffer {
	e := encodeBuffers.Get().(*encodeBuffer)
	e.b = e.b[:0]
	return e
}

func putEncodeBuffer(e *encodeBuffer) { encodeBuffers.Put(e) }
