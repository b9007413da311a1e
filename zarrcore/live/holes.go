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
	now := a.arrived(ctx)
	if err := now.lineage.yield(ctx, now.draft); err != nil {
		return err
	}
	live := a.Live()
	end := live.Size()
	if n < end-off {
		end = off + n
	}
	if end-off <= clearPlain || !live.gen.Fill.IsZero() {
		return a.writeZeros(ctx, off, end)
	}
	objects, err := live.occupied(ctx)
	for _, obj := range objects {
		live.gen.Objects.EachChunk(obj, func(chunk, _ int64) {
			if err == nil && chunk < live.gen.Grid.Chunks() {
				err = clearChunk(ctx, live, chunk, off, end)
			}
		})
	}
	return err
}

// occupied returns the objects that are dirty or stored. Those that are dirty are
// looked for first, for they may become stored meanwhile.
func (a *Array) occupied(ctx context.Context) ([]int64, error) {
	objects := a.gen.Objects.Holders(a.draft.set.Numbers())
	err := scan.Each(ctx, a.of.Store, a.gen.Objects.Keys, func(n int64) {
		objects = append(objects, n)
	})
	slices.Sort(objects)
	return slices.Compact(objects), err
}

// clearChunk makes zero what lies in [off, end) of a chunk.
func clearChunk(ctx context.Context, a *Array, chunk, off, end int64) error {
	box := a.gen.Grid.Box(chunk)
	if slab := a.gen.Grid.Slab(a.gen.Grid.SlabOfChunk(chunk)); box.Off >= end || slab.Off+slab.Len <= off {
		return nil
	}
	for at := range box.Runs() {
		if err := a.writeZeros(ctx, max(at, off), min(at+box.RunLen, end)); err != nil {
			return err
		}
	}
	return nil
}

// writeZeros writes zero bytes to [off, end).
func (a *Array) writeZeros(ctx context.Context, off, end int64) error {
	for off < end {
		if err := ctx.Err(); err != nil {
			return a.draft.fail("write", err)
		}
		k := min(end-off, int64(len(object.Zeros)))
		if _, err := a.WriteAt(ctx, object.Zeros[:k], off); err != nil {
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
	if !a.lineage.clean() || a.watch.IsDear() { // what is dirty is in no scan
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
