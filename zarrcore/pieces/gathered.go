package pieces

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/zarrcore/chunk"
	"github.com/zarrfs/zarrfs/zarrcore/object"
)

// This file serves reads at random that have many runs. A request of a megabyte
// has a million where chunks are one element wide, so they are not listed: they
// are gone through chunk by chunk, and a batch of them is copied at a time.

// batchRuns is how many runs are listed at once; runBytes is what one takes.
const (
	batchRuns = 4096
	runBytes  = 32
)

// batchRoom returns about how many bytes of memory it takes to gather bytes
// [off, off+n) beside the buffer for them.
func (a *Array) batchRoom(off, n int64) int64 {
	room := int64(batchRuns * runBytes)
	left := a.batchNeeds()
	for chunk := range a.gen.Grid.ChunksIn(off, n) {
		if left--; left < 0 {
			break
		}
		var part int64
		if a.gen.Chain.CanDecodePart() { // otherwise all of the chunk is decoded
			first, end := a.gen.Grid.Hull(chunk, off, n)
			part = end - first
		}
		room += a.pinRoom(chunk, part)
	}
	return room
}

// batchNeeds is how many chunks a batch has at most.
func (a *Array) batchNeeds() int { return min(a.pinnable(), batchRuns) }

// gathered returns n bytes in one buffer. runs are where they lie in the array; those of a chunk
// should come together. The Off of the first run is off.
func (a *Array) gathered(
	ctx context.Context, off, n int64, runs iter.Seq[layout.Run],
) (*Pieces, error) {
	buf, release := chunk.Buffer(n)
	read := a.readStored
	if a.draft.IsBusy() {
		read = a.readOver
	}
	if err := read(ctx, buf, off, runs); err != nil {
		release()
		return nil, err
	}
	return inBuffer(buf, release), nil
}

// readStored copies runs to buf, which begins at byte off of the array. Those of a
// chunk come together.
func (a *Array) readStored(
	ctx context.Context, buf []byte, off int64, runs iter.Seq[layout.Run],
) error {
	b := runBatch{most: a.batchNeeds()}
	for r := range runs {
		if b.isFull(r) {
			if err := a.copyBatch(ctx, buf, off, &b); err != nil {
				return err
			}
		}
		b.add(r)
	}
	return a.copyBatch(ctx, buf, off, &b)
}

// A runBatch is some runs, those of a chunk together, and their chunks.
type runBatch struct {
	most  int // chunks
	runs  []layout.Run
	needs []need
}

// continues reports whether r lies in the chunk of the last run.
func (b *runBatch) continues(r layout.Run) bool {
	return len(b.needs) > 0 && b.needs[len(b.needs)-1].chunk == r.Chunk
}

// isFull reports whether there is no room for r.
func (b *runBatch) isFull(r layout.Run) bool {
	return len(b.runs) == batchRuns || len(b.needs) == b.most && !b.continues(r)
}

func (b *runBatch) add(r layout.Run) {
	b.runs = append(b.runs, r)
	if b.continues(r) {
		b.needs[len(b.needs)-1].extend(r)
		return
	}
	b.needs = append(b.needs, need{chunk: r.Chunk, off: r.ChunkOff, n: r.Len})
}

// copyBatch copies the runs of b to buf, which begins at byte off of the array, and
// empties b.
func (a *Array) copyBatch(ctx context.Context, buf []byte, off int64, b *runBatch) error {
	if err := a.pinAll(ctx, b.needs); err != nil {
		return err
	}
	i := 0
	var some [][]byte
	for _, r := range b.runs {
		if b.needs[i].chunk != r.Chunk {
			i++
		}
		some = a.appendRun(some[:0], &b.needs[i], r)
		copyAll(buf[r.Off-off:], some)
	}
	unpin(b.needs)
	clear(b.needs)
	b.runs, b.needs = b.runs[:0], b.needs[:0]
	return nil
}

// plainCached is a size in bytes. Chunks that are stored as they are are read past the cache, but
// reads up to this size go through it. For so few bytes, opening the object costs more than copying
// them.
const plainCached = 64 << 10

// readsPlain reports whether n bytes are read past the cache: there is nothing to
// decode, and the store's own page cache keeps them better than we could. A remote
// store has none.
func (a *Array) readsPlain(n int64) bool {
	return a.gen.Plain && n > plainCached && !a.gen.Objects.IsBounded() && !a.remote
}

// errBusy says that not all of an array is stored any more, so that a read takes more memory.
var errBusy = errors.New("not all is stored")

// plain returns bytes [off, off+n), which lie in objects as they are. They take no memory but that
// of the reply. It is errBusy if the array has become busy, also while the read waited.
func (a *Array) plain(ctx context.Context, off, n int64) (*Pieces, error) {
	if a.draft.IsBusy() {
		return nil, errBusy
	}
	buf, release := chunk.Buffer(n)
	if err := a.readPlain(ctx, buf, off); err != nil {
		release()
		return nil, err
	}
	return inBuffer(buf, release), nil
}

// readPlain reads bytes of chunks that are stored as they are, from byte off on.
func (a *Array) readPlain(ctx context.Context, buf []byte, off int64) error {
	for chunk := range a.gen.Grid.ChunksIn(off, int64(len(buf))) {
		if err := a.readPlainChunk(ctx, buf, off, chunk); err != nil {
			return err
		}
	}
	return nil
}

// readPlainChunk reads the bytes of one chunk into buf, which begins at byte off of the array.
func (a *Array) readPlainChunk(ctx context.Context, buf []byte, off, chunk int64) error {
	runs := a.gen.Grid.RunsOf(chunk, off, int64(len(buf)))
	err := a.withObject(ctx, chunk, object.Part{}, func(src *object.Reader, _ int64) error {
		if size := a.gen.Grid.BytesOf(chunk); src.Size() != size {
			return fmt.Errorf("%w: expected %d encoded bytes, found %d", compress.ErrCorrupt, size,
				src.Size())
		}
		for r := range runs {
			if n, err := src.ReadAt(buf[r.Off-off:][:r.Len], r.ChunkOff); err == io.EOF {
				return fmt.Errorf("%w: object ends at byte %d, expected %d", compress.ErrCorrupt,
					r.ChunkOff+int64(n), src.Size())
			} else if err != nil {
				return err
			}
		}
		return nil
	})
	if err != object.ErrMissing {
		return err
	}
	for r := range runs {
		copyAll(buf[r.Off-off:], a.gen.Fill.Append(nil, r.ChunkOff, r.Len))
	}
	return nil
}
