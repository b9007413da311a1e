// Package pieces serves reads at random of an array: what programs have written and is not stored,
// and decoded chunks of what is stored, in memory that is shared with the cache.
package pieces

import (
	"context"
	"errors"
	"runtime"
	"slices"

	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/chunk"
	"github.com/zarrfs/zarrfs/zarrcore/dirty"
	"github.com/zarrfs/zarrfs/zarrcore/generation"
	"github.com/zarrfs/zarrfs/zarrcore/object"
	"github.com/zarrfs/zarrfs/zarrcore/parallel"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// Shared is what the arrays of a hierarchy share.
type Shared struct {
	Store    *store.Store
	Cache    *chunk.Cache
	Requests *chunk.Patient   // of the memory of reads
	Encoded  *chunk.Semaphore // of the encoded bytes of chunks that are decoded
	Large    *chunk.Semaphore // of 1: taken while a chunk is decoded that is larger than the cache
	Memory   *chunk.Memory
	Objects  *object.Shared
	Count    *object.Counters
}

// Retire forgets a generation of an array that is no longer current: its chunks, and which users
// may read its objects.
func (s *Shared) Retire(generation uint64) {
	s.Cache.Drop(generation)
	s.Objects.Retire(generation)
}

// A Draft says what this process has made of an array since it was opened. All methods may be
// called concurrently.
type Draft interface {
	// IsBusy reports whether something is not stored, so that reads must look for it.
	IsBusy() bool

	// CutIn returns the byte of a chunk from which on what is stored does not count, because those
	// rows were cut: its size where none were.
	CutIn(chunk int64) int64

	// Epoch returns the epoch in which a cached chunk must have been compared with its object to be
	// used.
	Epoch() uint64

	// IsPast reports whether another generation of the array has taken the place of this one.
	IsPast() bool

	// Stay returns ErrMoved if the array is at another path by now. The object of a chunk that is
	// missing may be on its way there. It is an error, too, if the chunk is missing because another
	// program has renamed, removed or truncated the array.
	Stay(ctx context.Context, chunk int64, isMissing bool) error
}

// ErrMoved says that the array is at another path by now.
var ErrMoved = errors.New("the array was moved")

// An Array is one generation of an array, for reads at random. It implements chunk.Backing and
// band.Decoder. All methods may be called concurrently.
type Array struct {
	loader
	dirty *dirty.Set
	stack stack
}

// A loader loads chunks of one generation of an array from their objects.
type loader struct {
	*Shared
	gen     *generation.Array
	draft   Draft
	lengths *object.Lengths // of stored objects
	remote  bool            // each object is a round trip
	ahead   run
}

// New returns the array of that generation. What is dirty is in set.
func New(
	shared *Shared, gen *generation.Array, draft Draft, set *dirty.Set, lengths *object.Lengths,
) *Array {
	return &Array{
		loader: loader{
			Shared: shared, gen: gen, draft: draft, lengths: lengths,
			remote: shared.Store.Traits().Remote,
		},
		dirty: set,
	}
}

// Pieces are the bytes of a read, in order, in memory that is shared with the
// cache: they must not be written to, nor used after Release. Pieces must not be copied.
type Pieces struct {
	Bufs [][]byte

	only    [1][]byte // most reads need no more: Bufs is a slice of it then
	needs   []need    // chunks of Bufs: Release unpins those that are pinned
	release func()    // gives back other memory of Bufs; may be nil

	requests *chunk.Semaphore // nil: it holds no room there
	room     int64
}

// Of returns pieces that release ends the use of. It may be nil.
func Of(bufs [][]byte, release func()) *Pieces { return &Pieces{Bufs: bufs, release: release} }

// inBuffer returns a buffer as pieces, which release gives back.
func inBuffer(buf []byte, release func()) *Pieces {
	p := &Pieces{release: release}
	p.Bufs = append(p.only[:0], buf)
	return p
}

// Release ends the use of the bytes.
func (p *Pieces) Release() {
	unpin(p.needs)
	if p.release != nil {
		p.release()
	}
	if p.requests != nil {
		p.requests.Release(p.room)
	}
	*p = Pieces{}
}

// This file serves reads at random: the runs of the request, each a slice of a
// pinned chunk. What has many runs is gathered batch by batch: see read_many_runs.go.

// maxSlices is how many slices a reply has at most: what has more runs, or more
// parts of the cache's memory, is gathered into one buffer.
const maxSlices = 64

// requestShare: the chunks that one request keeps in memory at once take at
// most this part of the budget, or are one. Shared.Requests bounds all requests.
const requestShare = 4

// loadsAtOnce is how many chunks of one request load at once. One goroutine for
// each of many small chunks would cost more than it gains.
var loadsAtOnce = 2 * runtime.NumCPU()

// remoteLoadsAtOnce is loadsAtOnce in a remote store, where most of them wait.
const remoteLoadsAtOnce = 128

// A need is the part of one chunk that a request touches.
type need struct {
	chunk   int64
	off, n  int64 // hull of the runs, in the chunk
	pin     chunk.Pin
	pinned  bool
	failure error
}

// needBytes is about how many bytes a chunk takes beside its own while it is pinned.
const needBytes = 512

// Read returns bytes [off, off+n). They must lie in the array. The array is read at the path that
// it had when it was opened. Chunks that are missing in the cache load in parallel. The request
// waits until its memory fits beside that of the others, and keeps the memory until its bytes are
// released. Before it waits, it lists only a few runs.
func (a *Array) Read(ctx context.Context, off, n int64) (*Pieces, error) {
	if a.readsPlain(n) && !a.draft.IsBusy() {
		p, err := a.within(ctx, n, func() (*Pieces, error) { return a.plain(ctx, off, n) })
		if err != errBusy {
			return p, err
		}
	}
	l := a.few(off, n)
	return a.within(ctx, a.room(off, n, l), func() (*Pieces, error) {
		if l != nil && !a.draft.IsBusy() {
			return a.slices(ctx, n, l)
		}
		return a.gathered(ctx, off, n, a.gen.RunsByChunk(off, n))
	})
}

// within calls read when so many bytes of memory fit beside those of the other requests. The pieces
// have them until they are released.
func (a *Array) within(
	ctx context.Context, room int64, read func() (*Pieces, error),
) (*Pieces, error) {
	from, err := a.Requests.Acquire(ctx, room)
	if err != nil {
		return nil, &catalog.Error{Op: "read", Path: a.gen.Path, Err: err}
	}
	p, err := read()
	if err != nil {
		from.Release(room)
		return nil, err
	}
	p.requests, p.room = from, room
	return p, nil
}

// A listedRun is a run of a request, and the place of its chunk among the needs of the request.
type listedRun struct {
	layout.Run
	need int
}

// A list has the runs of a request and their chunks, and becomes the pieces of its reply. Small
// requests are as quick as the kernel can ask, so that each piece of memory counts: a list has room
// for one run, as most of them have.
type list struct {
	Pieces
	runs []listedRun
	most int // needs that it may have

	firstRun  [1]listedRun
	firstNeed [1]need
}

// someRuns is how many runs a list has room for once it has more than one.
const someRuns = 4

// newList returns an empty list.
func (a *Array) newList() *list {
	l := &list{most: a.pinnable()}
	l.runs, l.needs = l.firstRun[:0], l.firstNeed[:0]
	return l
}

// few lists the runs of bytes [off, off+n) and their chunks, if there are few: all chunks can be
// pinned at once, and all runs can be slices of one reply. Otherwise it returns nil.
func (a *Array) few(off, n int64) *list {
	l := a.newList()
	for r := range a.gen.Grid.Runs(off, n) {
		if !l.add(r) {
			return nil
		}
	}
	return l
}

// add adds a run. It reports whether there are few runs with it.
func (l *list) add(r layout.Run) bool {
	switch len(l.runs) {
	case maxSlices:
		return false
	case 1:
		l.runs, l.needs = slices.Grow(l.runs, someRuns-1), slices.Grow(l.needs, someRuns-1)
	}
	i := needOf(l.needs, r.Chunk)
	if i < 0 && len(l.needs) == l.most {
		return false
	}
	if i < 0 {
		i = len(l.needs)
		l.needs = append(l.needs, need{chunk: r.Chunk, off: r.ChunkOff, n: r.Len})
	}
	l.needs[i].extend(r)
	l.runs = append(l.runs, listedRun{r, i})
	return true
}

// needOf returns the place of a chunk in a short list, -1 if it is not there.
func needOf(needs []need, chunk int64) int {
	for i := range needs { // slices.IndexFunc would copy each of them
		if needs[i].chunk == chunk {
			return i
		}
	}
	return -1
}

// extend adds a run of the same chunk.
func (nd *need) extend(r layout.Run) {
	end := max(nd.off+nd.n, r.ChunkOff+r.Len)
	nd.off = min(nd.off, r.ChunkOff)
	nd.n = end - nd.off
}

// room returns about how many bytes of memory a request takes: its reply, and what it keeps pinned
// at once. l is nil if its runs are not listed.
func (a *Array) room(off, n int64, l *list) int64 {
	if l == nil {
		return n + a.batchRoom(off, n)
	}
	for i := range l.needs {
		n += a.pinRoom(l.needs[i].chunk, l.needs[i].n)
	}
	return n
}

// pinRoom returns about how many bytes a chunk takes that is decoded because n
// bytes of it are needed: all of it, or a few times what is needed where the
// codecs can decode a part; see decode.
func (a *Array) pinRoom(chunk, n int64) int64 {
	size := a.gen.Grid.BytesOf(chunk)
	if a.gen.Chain.CanDecodePart() {
		size = min(size, partialShare*(n+partGrain))
	}
	return needBytes + size
}

// memoryOf returns about how many bytes of memory so many whole chunks take.
func (a *loader) memoryOf(chunks int64) int64 {
	return chunks * (needBytes + a.gen.Grid.ChunkBytes())
}

// pinnable is how many chunks one request may keep in memory at once.
func (a *Array) pinnable() int {
	return int(max(1, a.Memory.Budget()/requestShare/a.memoryOf(1)))
}

// slices returns runs as slices of their chunks, which are pinned until the reply
// is released.
func (a *Array) slices(ctx context.Context, n int64, l *list) (*Pieces, error) {
	if err := a.pinAll(ctx, l.needs); err != nil {
		return nil, err
	}
	l.Bufs = slices.Grow(l.only[:0], len(l.runs))
	for i := range l.runs {
		l.Bufs = a.appendRun(l.Bufs, &l.needs[l.runs[i].need], l.runs[i].Run)
	}
	if len(l.Bufs) > maxSlices {
		return l.gather(n), nil
	}
	return &l.Pieces, nil
}

// appendRun appends the bytes of a run, whose chunk is pinned, to bufs.
func (a *Array) appendRun(bufs [][]byte, nd *need, r layout.Run) [][]byte {
	if nd.pin.IsFill() {
		return a.gen.Fill.Append(bufs, r.ChunkOff, r.Len)
	}
	return nd.pin.Slices(bufs, r.ChunkOff, r.Len)
}

// pinAll pins all needs, or none if one fails. Only what is not in the cache is
// worth a goroutine.
func (a *Array) pinAll(ctx context.Context, needs []need) error {
	epoch := a.draft.Epoch()
	var missing []*need
	for i := range needs {
		nd := &needs[i]
		nd.pin, nd.pinned = a.Cache.Peek(chunk.ID{Array: a.gen.ID, Chunk: nd.chunk}, nd.off, nd.n,
			epoch)
		if !nd.pinned {
			missing = append(missing, nd)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	a.fetchTogether(ctx, missing)
	a.loadAll(ctx, missing, epoch)
	for _, nd := range missing {
		if nd.failure != nil {
			unpin(needs)
			return nd.failure
		}
	}
	return nil
}

// loadAll pins needs that have to be loaded, a few per goroutine at a time.
func (a *Array) loadAll(ctx context.Context, needs []*need, epoch uint64) {
	atOnce := loadsAtOnce
	if a.remote {
		atOnce = remoteLoadsAtOnce
	}
	parallel.Each(atOnce, len(needs), func(i int) {
		nd := needs[i]
		id := chunk.ID{Array: a.gen.ID, Chunk: nd.chunk}
		nd.pin, nd.failure = a.Cache.Get(ctx, id, a.gen.Grid.BytesOf(nd.chunk), nd.off, nd.n, epoch,
			a)
		nd.pinned = nd.failure == nil
	})
}

func unpin(needs []need) {
	for i := range needs {
		if needs[i].pinned {
			needs[i].pin.Release()
			needs[i].pinned = false
		}
	}
}

// gather copies the pieces into one buffer and releases them: a reply of
// hundreds of slices costs more than the copy.
func (p *Pieces) gather(n int64) *Pieces {
	defer p.Release()
	buf, release := chunk.Buffer(n)
	return inBuffer(buf[:copyAll(buf, p.Bufs)], release)
}

// copyAll copies bufs to dst, one behind the other, and returns how many bytes that are.
func copyAll(dst []byte, bufs [][]byte) (n int) {
	for _, b := range bufs {
		n += copy(dst[n:], b)
	}
	return n
}
