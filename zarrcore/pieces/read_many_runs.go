package pieces

import (
	"context"
	"iter"

	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/zarrcore/chunk"
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
