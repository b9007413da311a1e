package live

import (
	"context"
	"slices"

	"github.com/zarrfs/zarrfs/zarrcore/object"
	"github.com/zarrfs/zarrfs/zarrcore/scan"
)

// clearPlain is the number of bytes up to which Clear does not look for holes: to
// write is cheaper.
const clearPlain = 16 << 20

// Clear makes bytes [off, off+n) of the live array, as far as it has them, zero.
// What is a hole already is not touched: a hole may have exbibytes.
func (a *Array) Clear(ctx context.Context, off, n int64) error {
	if a.slice != nil {
		return a.slice.clear(ctx, off, n)
	}
	if err := a.arrived(ctx).saveOther(ctx); err != nil {
		return err
	}
	live := a.Live()
	end := live.Size()
	if n < end-off {
		end = off + n
	}
	c := clearing{live, off, end}
	if end-off <= clearPlain || !live.gen.Fill.IsZero() {
		return c.write(ctx, off, end)
	}
	return c.run(ctx)
}

// A clearing makes bytes [off, end) of an array zero, without writing to holes.
type clearing struct {
	*Array
	off, end int64
}

// run clears the chunks that may be stored or dirty.
func (c *clearing) run(ctx context.Context) error {
	objects, err := c.occupied(ctx)
	for _, obj := range objects {
		c.gen.Objects.EachChunk(obj, func(chunk, _ int64) {
			if err == nil && chunk < c.gen.Grid.Chunks() {
				err = c.chunk(ctx, chunk)
			}
		})
	}
	return err
}

// occupied returns the objects that are dirty or stored. Those that are dirty are
// looked for first, for they may become stored meanwhile.
func (c *clearing) occupied(ctx context.Context) ([]int64, error) {
	objects := c.gen.Objects.Holders(c.draft.set.Numbers())
	err := scan.Each(ctx, c.of.Store, c.gen.Objects.Keys, func(n int64) {
		objects = append(objects, n)
	})
	slices.Sort(objects)
	return slices.Compact(objects), err
}

// chunk clears what is to be cleared of a chunk.
func (c *clearing) chunk(ctx context.Context, chunk int64) error {
	box := c.gen.Grid.Box(chunk)
	slab := c.gen.Grid.Slab(c.gen.Grid.SlabOfChunk(chunk))
	if box.Off >= c.end || slab.Off+slab.Len <= c.off {
		return nil
	}
	for at := range box.Runs() {
		if err := c.write(ctx, max(at, c.off), min(at+box.RunLen, c.end)); err != nil {
			return err
		}
	}
	return nil
}

// write writes zero bytes to [off, end).
func (c *clearing) write(ctx context.Context, off, end int64) error {
	for off < end {
		if err := ctx.Err(); err != nil {
			return c.draft.fail("write", err)
		}
		k := min(end-off, int64(len(object.Zeros)))
		if _, err := c.WriteAt(ctx, object.Zeros[:k], off); err != nil {
			return err
		}
		off += k
	}
	return nil
}

// NextData returns the first stretch [start, end) of the array at or after byte off that may hold
// stored data. It is as coarse as whole slabs of objects. If there is none, start is Size. What is
// not in such a stretch is not stored and shows zero bytes. Where the fill value is not zero
// everything counts as data, and so it does where the store's listings are dear.
func (a *Array) NextData(ctx context.Context, off int64) (start, end int64, err error) {
	if a.slice != nil {
		return a.slice.nextData(ctx, off)
	}
	size := a.Size()
	if off >= size {
		return size, size, nil
	}
	if !a.lineage.isClean() || a.watch.IsDear() { // what is dirty is in no scan
		return off, size, nil
	}
	s, err := a.watch.Scan(ctx, scan.Age)
	if err != nil {
		return 0, 0, err
	}
	if !s.IsWhole() || !a.gen.Fill.IsZero() {
		return off, size, nil
	}
	start, end = s.NextData(a.gen.Objects, off, size)
	return start, end, nil
}
