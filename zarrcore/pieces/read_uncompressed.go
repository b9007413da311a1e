package pieces

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/zarrcore/chunk"
	"github.com/zarrfs/zarrfs/zarrcore/object"
)

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
