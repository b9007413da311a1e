package zarrcore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sort"
	"sync"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/zarrcore/chunk"
)

// This file serves reads at random: the runs of the request, each a slice of a
// pinned chunk.

// maxSlices is how many slices a reply has at most: more are gathered into one
// buffer.
const maxSlices = 64

// requestShare: the chunks that one request keeps in memory at once take at
// most this part of the budget, or are one. Hierarchy.requests bounds all requests.
const requestShare = 4

// parallel is how many chunks of one request load at once. One goroutine for
// each of many small chunks would cost more than it gains.
var parallel = 2 * runtime.NumCPU()

// A need is the part of one chunk that a request touches.
type need struct {
	chunk   int64
	off, n  int64 // hull of the runs, in the chunk
	pin     chunk.Pin
	pinned  bool
	failure error
}

// pieces returns bytes [off, off+n), which lie in the array. Chunks that are
// missing in the cache load in parallel.
func (a *Array) pieces(ctx context.Context, off, n int64) (*Pieces, error) {
	p, err := a.piecesHere(ctx, off, n)
	if errors.Is(err, errMoved) {
		a.Arrive(ctx)
		if live := a.Live(); live != a && off+n <= live.Size() {
			return live.pieces(ctx, off, n)
		}
	}
	if err == nil {
		a.h.count.served.Add(n)
	}
	return p, err
}

// piecesHere is pieces at the path that the array had when it was opened. The
// request waits until its memory fits beside that of the others, and has it until
// its bytes are released.
func (a *Array) piecesHere(ctx context.Context, off, n int64) (*Pieces, error) {
	a.draft.yieldEarlier(ctx)
	if err := a.draft.yield(ctx); err != nil {
		return nil, err
	}
	var runs []layout.Run
	for r := range a.grid.Runs(off, n) {
		runs = append(runs, r)
	}
	needs, byChunk := needsOf(runs)
	room := n + a.decoded(needs)
	if err := a.h.requests.Acquire(ctx, room); err != nil {
		return nil, &Error{Op: "read", Path: a.path, Err: err}
	}
	p, err := a.piecesOf(ctx, off, n, runs, needs, byChunk)
	if err != nil {
		a.h.requests.Release(room)
		return nil, err
	}
	release := p.release
	p.release = func() {
		release()
		a.h.requests.Release(room)
	}
	return p, nil
}

// decoded returns about how many bytes a request decodes and keeps at once for
// needs: whole chunks, or a few times what is needed where the codecs can decode
// a part; see decode.
func (a *Array) decoded(needs []need) (bytes int64) {
	for i := range needs[:min(len(needs), a.pinnable())] {
		size := a.grid.BytesOf(needs[i].chunk)
		if a.chain.Partial() {
			size = min(size, partialShare*(needs[i].n+partGrain))
		}
		bytes += size
	}
	return bytes
}

// piecesOf is piecesHere once there is room for the request.
func (a *Array) piecesOf(ctx context.Context, off, n int64, runs []layout.Run, needs []need, byChunk func(int64) int) (*Pieces, error) {
	if a.draft.busy.Load() {
		return a.readOver(ctx, off, n)
	}
	if a.plain && n > plainCached && !a.objects.Bounded() {
		return a.readPlain(ctx, runs, n)
	}
	if a.pinnable() < len(needs) {
		buf, release := buffer(n)
		if err := a.readStored(ctx, buf, off, runs); err != nil {
			release()
			return nil, err
		}
		return &Pieces{Bufs: [][]byte{buf}, release: release}, nil
	}
	if err := a.pinAll(ctx, needs); err != nil {
		return nil, err
	}
	p := &Pieces{Bufs: make([][]byte, 0, len(runs)), release: func() { unpin(needs) }}
	for _, r := range runs {
		p.Bufs = a.appendRun(p.Bufs, &needs[byChunk(r.Chunk)], r)
	}
	if len(p.Bufs) > maxSlices {
		return p.gather(n), nil
	}
	return p, nil
}

// pinnable is how many chunks one request may keep in memory at once.
func (a *Array) pinnable() int {
	return int(max(1, a.h.mem.Budget()/requestShare/max(a.grid.ChunkBytes(), 1)))
}

// readStored copies runs to buf, which begins at byte off of the array. It keeps
// no more chunks in memory at once than it should: a megabyte may need a byte of
// each of a million chunks.
func (a *Array) readStored(ctx context.Context, buf []byte, off int64, runs []layout.Run) error {
	needs, byChunk := needsOf(runs)
	sort.SliceStable(runs, func(i, j int) bool { return byChunk(runs[i].Chunk) < byChunk(runs[j].Chunk) })
	batch := a.pinnable()
	for first := 0; first < len(needs); first += batch {
		some := needs[first:min(first+batch, len(needs))]
		if err := a.pinAll(ctx, some); err != nil {
			return err
		}
		for len(runs) > 0 && byChunk(runs[0].Chunk) < first+len(some) {
			r := runs[0]
			a.copyRun(buf[r.Off-off:], &needs[byChunk(r.Chunk)], r)
			runs = runs[1:]
		}
		unpin(some)
	}
	return nil
}

func (a *Array) copyRun(dst []byte, nd *need, r layout.Run) {
	for _, b := range a.appendRun(nil, nd, r) {
		dst = dst[copy(dst, b):]
	}
}

// appendRun appends the bytes of a run, whose chunk is pinned, to bufs.
func (a *Array) appendRun(bufs [][]byte, nd *need, r layout.Run) [][]byte {
	if nd.pin.Fill() {
		return a.appendFill(bufs, r.ChunkOff, r.Len)
	}
	return nd.pin.Slices(bufs, r.ChunkOff, r.Len)
}

// needsOf lists the chunks of runs, each once, and returns a function from a
// chunk's number to its place in the list.
func needsOf(runs []layout.Run) (needs []need, byChunk func(chunk int64) int) {
	at := map[int64]int{}
	for _, r := range runs {
		i, ok := at[r.Chunk]
		if !ok {
			at[r.Chunk] = len(needs)
			needs = append(needs, need{chunk: r.Chunk, off: r.ChunkOff, n: r.Len})
			continue
		}
		nd := &needs[i]
		end := max(nd.off+nd.n, r.ChunkOff+r.Len)
		nd.off = min(nd.off, r.ChunkOff)
		nd.n = end - nd.off
	}
	last := 0
	return needs, func(chunk int64) int {
		if needs[last].chunk != chunk {
			last = at[chunk]
		}
		return last
	}
}

// pinAll pins all needs, or none if one fails. Only what is not in the cache is
// worth a goroutine.
func (a *Array) pinAll(ctx context.Context, needs []need) error {
	epoch := a.checked()
	var missing []*need
	for i := range needs {
		nd := &needs[i]
		nd.pin, nd.pinned = a.h.cache.Peek(chunk.ID{Array: a.id, Chunk: nd.chunk}, nd.off, nd.n, epoch)
		if !nd.pinned {
			missing = append(missing, nd)
		}
	}
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
	each(parallel, len(needs), func(i int) {
		nd := needs[i]
		id := chunk.ID{Array: a.id, Chunk: nd.chunk}
		nd.pin, nd.failure = a.h.cache.Get(ctx, id, a.grid.BytesOf(nd.chunk), nd.off, nd.n, epoch, a)
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

// appendFill appends n bytes of fill value to bufs, beginning as at byte off
// of a chunk.
func (a *Array) appendFill(bufs [][]byte, off, n int64) [][]byte {
	page := a.fill()
	size := int64(len(page))
	for phase := off % a.grid.ItemSize(); n > 0; phase = 0 {
		take := min(n, size-phase)
		bufs = append(bufs, page[phase:phase+take])
		n -= take
	}
	return bufs
}

// gatherBufs recycles the buffers of gather.
var gatherBufs = sync.Pool{New: func() any { return new([]byte) }}

// buffer returns a recycled buffer of n bytes and the way to give it back.
func buffer(n int64) (buf []byte, release func()) {
	b := gatherBufs.Get().(*[]byte)
	if int64(cap(*b)) < n {
		*b = make([]byte, n)
	}
	return (*b)[:n], func() { gatherBufs.Put(b) }
}

// gather copies the pieces into one buffer and releases them: a reply of
// hundreds of slices costs more than the copy.
func (p *Pieces) gather(n int64) *Pieces {
	defer p.Release()
	buf, release := buffer(n)
	at := 0
	for _, b := range p.Bufs {
		at += copy(buf[at:], b)
	}
	return &Pieces{Bufs: [][]byte{buf[:at]}, release: release}
}

// plainCached is the size, in bytes, up to which reads of chunks that are stored
// as they are go through the cache all the same: opening the object costs more
// than copying so little.
const plainCached = 64 << 10

// readPlain reads runs of chunks that are stored as they are: there is nothing
// to decode, and the store's own page cache keeps them better than we could.
func (a *Array) readPlain(ctx context.Context, runs []layout.Run, n int64) (*Pieces, error) {
	buf, release := buffer(n)
	var at int64
	for i := 0; i < len(runs); {
		same := i
		for same < len(runs) && runs[same].Chunk == runs[i].Chunk {
			same++
		}
		end := at
		for _, r := range runs[i:same] {
			end += r.Len
		}
		if err := a.readRuns(ctx, buf[at:end], runs[i:same]); err != nil {
			release()
			return nil, err
		}
		i, at = same, end
	}
	return &Pieces{Bufs: [][]byte{buf}, release: release}, nil
}

// readRuns reads the runs of one chunk into p.
func (a *Array) readRuns(ctx context.Context, p []byte, runs []layout.Run) error {
	err := a.withObject(ctx, runs[0].Chunk, func(src *source, _ int64) error {
		if size := a.grid.BytesOf(runs[0].Chunk); src.Size() != size {
			return fmt.Errorf("%w: expected %d encoded bytes, found %d", compress.ErrCorrupt, size, src.Size())
		}
		at := int64(0)
		for _, r := range runs {
			if n, err := src.ReadAt(p[at:at+r.Len], r.ChunkOff); err == io.EOF {
				return fmt.Errorf("%w: object ends at byte %d, expected %d", compress.ErrCorrupt, r.ChunkOff+int64(n), src.Size())
			} else if err != nil {
				return err
			}
			at += r.Len
		}
		return nil
	})
	if err == errFill {
		at := int64(0)
		for _, r := range runs {
			for _, b := range a.appendFill(nil, r.ChunkOff, r.Len) {
				at += int64(copy(p[at:], b))
			}
		}
		return nil
	}
	return err
}
