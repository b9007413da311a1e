// Package band assembles contiguous stretches of the flat array ahead of
// sequential readers. So a read is one slice of memory, and the reader's thread does no work.
//
// A band is a group of whole slabs: about a megabyte where chunks are small,
// one slab where it is larger. Each chunk of a band is decoded once, by one of
// the shared workers, and scattered to its place. The bands of an array are
// shared by all who read it: four readers at once decode once. A band lives
// while a reader stands in it or before it. Its memory is then reused for the
// next one, because touching fresh memory costs as much as decoding. Where
// bands do not fit the memory budget they live in unlinked scratch files.
//
// Why bands: a C-order scan of 1024³ float32 in chunks of 128³ needs 512 MiB of chunks at once, a
// slab. Decoding chunk by chunk with a smaller cache would decode each chunk up to 128 times.
// decode_amplification in .zarrfs/status.json is the share of decoding that was done twice.
//
// A chunk that is larger than the memory's budget is decoded in a scratch file, too, and one at a
// time.
//
// # Lock order
//
// Set.mu, then chunk.Cache.mu and chunk.Memory.mu through Memory.Reserve. No
// lock is held while decoding.
package band

import (
	"context"
	"log/slog"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/zarrcore/chunk"
)

// A Decoder decodes the chunks of one array.
type Decoder interface {
	// DecodeChunk decodes all of chunk n into dst. The length of dst is the chunk's size, and its
	// capacity beyond that may be used as scratch. fill reports whether the chunk is not stored:
	// dst then means nothing.
	DecodeChunk(ctx context.Context, n int64, dst []byte) (fill bool, err error)

	// IsPlain reports whether chunks are stored as they are, so that nothing is decoded twice where
	// they are read part by part.
	IsPlain() bool
}

// A Pool is what the bands of all arrays of a mount share.
type Pool struct {
	Memory  *chunk.Memory
	Scratch *Scratch
	Log     *slog.Logger
	workers chan struct{} // a token per decode in flight
	apart   int64         // bytes by which the requests of one reader may be out of order

	chunks atomic.Int64 // decoded for bands
	bytes  atomic.Int64 // decoded for bands, padding left out
	mapped atomic.Int64 // bytes of regions in memory
}

// leastApart is how many bytes requests may be apart where nobody reads ahead:
// large reads send several of them at once.
const leastApart = 2 << 20

// NewPool returns a pool of the given number of decode workers; 0 means one
// for each CPU. So many bytes are read ahead of a reader.
func NewPool(
	mem *chunk.Memory, scratch *Scratch, workers int, readAhead int64, log *slog.Logger,
) *Pool {
	if workers <= 0 {
		workers = runtime.NumCPU()
	}
	return &Pool{Memory: mem, Scratch: scratch, Log: log, workers: make(chan struct{}, workers),
		apart: max(leastApart, 2*readAhead)}
}

// Follows reports whether a request at byte off can belong to the sequence of a
// reader whose furthest request ended at byte pos. They arrive in any order, and
// two windows of its read-ahead are under way at once.
func (p *Pool) Follows(off, pos int64) bool { return pos-p.apart <= off && off <= pos+p.apart }

// hangs is how long a worker may take for a batch until it is taken for one that
// waits for the store.
const hangs = time.Second

// Do runs f as one of the pool's workers, so that decoding for bands never takes more than its
// share of CPUs and memory. Reads at random decode beside them. A worker that waits for a hanging
// store needs no CPU. Another one takes the place of such a worker, as the bands of other arrays
// would otherwise wait too.
func (p *Pool) Do(f func()) {
	p.workers <- struct{}{}
	hung := time.AfterFunc(hangs, func() { <-p.workers })
	defer func() {
		if hung.Stop() {
			<-p.workers
		}
	}()
	f()
}

// Workers returns the number of decodes that may run at once.
func (p *Pool) Workers() int { return cap(p.workers) }

// Decoded returns the chunks decoded for bands so far, and their bytes without
// the padding of edge chunks.
func (p *Pool) Decoded() (chunks, bytes int64) { return p.chunks.Load(), p.bytes.Load() }

// The bands of an array, as integers.
const (
	target   = 1 << 20  // small slabs are grouped to bands of at least this many bytes
	smallest = 2 << 20  // an array smaller than this is not worth bands
	large    = 32 << 20 // of bands this large only one is prepared ahead
)

// A plan says how an array is cut into bands and where they live.
type plan struct {
	grid    *layout.Grid
	slabs   int64 // slabs in a band
	count   int64 // bands in the array
	size    int64 // bytes of a full band
	ahead   int64 // bands prepared ahead of a reader
	scratch bool  // bands live in scratch files
	exceeds bool  // one chunk alone is more than memory may hold
}

// newPlan returns the plan for an array, or false where bands do not serve it:
// it is small, or one slab exceeds both memory and scratch.
func newPlan(g *layout.Grid, p *Pool) (plan, bool) {
	if g.Size() < smallest || g.ChunkBytes() > p.Memory.Largest() {
		return plan{}, false
	}
	slab := g.SlabBytes()
	pl := plan{grid: g, slabs: (target-1)/slab + 1,
		exceeds: g.ChunkBytes() > p.Memory.Budget()}
	pl.slabs = min(pl.slabs, g.Slabs())
	pl.count = (g.Slabs()-1)/pl.slabs + 1 // arrays of 2^63-1 one-byte chunks are legal
	pl.size = slab * pl.slabs
	first := g.Slab(0)
	pl.ahead = aheadOf((first.End-first.First)*pl.slabs, pl.size, int64(p.Workers()))
	pl.ahead = min(pl.ahead, pl.count-1)
	// fewer ahead are better than scratch
	if room := p.Memory.Budget()/pl.size - 1; room >= min(pl.ahead, 1) {
		pl.ahead = min(pl.ahead, room)
		return pl, true
	}
	pl.scratch = true
	if pl.exceeds { // one region more is for a chunk that is decoded
		return pl, p.Scratch.fits(pl.ahead+2, max(pl.size, g.ChunkBytes()))
	}
	return pl, p.Scratch.fits(pl.ahead+1, pl.size)
}

// atOnce returns how many chunks are decoded at once.
func (s *Set) atOnce() int {
	if s.exceeds {
		return 1
	}
	return s.pool.Workers()
}

// aheadOf says how many bands of so many chunks and bytes to prepare: enough to keep the workers
// busy, but no more, or the CPU's caches are lost. Decoding a band of one chunk occupies a
// processor for milliseconds, and the reader may have to wait for that processor. A few more bands
// make up for the wait.
func aheadOf(chunks, bytes, workers int64) int64 {
	switch {
	case bytes >= large:
		return 1
	case chunks == 1:
		return workers + 3
	}
	return 2
}

// of returns the number of the band that holds byte off.
func (p *plan) of(off int64) int64 { return p.grid.SlabOf(off) / p.slabs }

// stretch returns the bytes [off, end) and chunks [first, last) of a band.
func (p *plan) stretch(idx int64) (off, end, first, last int64) {
	a := p.grid.Slab(idx * p.slabs)
	z := p.grid.Slab(min((idx+1)*p.slabs, p.grid.Slabs()) - 1)
	return a.Off, z.Off + z.Len, a.First, z.End
}
