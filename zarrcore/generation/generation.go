// Package generation has an array as one version of its metadata describes it: how it is divided
// into chunks and objects, and with which codecs these are stored. It asks no store.
package generation

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"iter"
	"slices"

	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/zarrcore/codec"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/object"
)

// An Array is one generation of an array. It is immutable.
type Array struct {
	ID      uint64 // of the cache; generations whose chunks are the same share it
	Path    string
	Meta    *meta.Array
	Chain   *codec.Chain                 // bound to the data type and the largest object
	Chains  *object.Chains[*codec.Chain] // bound to all objects
	Objects *object.Layout               // which object a chunk is in
	Grid    *layout.Grid                 // of its chunks
	Plain   bool                         // an object is a chunk's bytes as they are
	Fill    *object.Fill
	Ragged  bool        // chunks stand out of it along an axis other than 0
	Size    int64       // bytes; less than the grid has while the last row is being written
	Source  *meta.Array // what is stored, where this one has its axes reversed
}

// New binds the array that m describes. If there is a source, m is source with its axes reversed.
func New(m meta.Array, path string, id uint64, source *meta.Array) (*Array, error) {
	a := &Array{ID: id, Path: path, Meta: &m, Source: source}
	var err error
	if a.Chains, a.Chain, err = object.NewChains(&m, codec.Bind); err != nil {
		return nil, err
	}
	if err := a.setGrids(); err != nil {
		return nil, err
	}
	if err := a.Chains.BindAll(a.Objects.Keys); err != nil {
		return nil, err
	}
	a.Plain = a.Chain.IsPlain() && !a.Chain.IsSharded() // even a shard of one chunk has an index
	a.Fill = object.NewFill(m.Fill)
	return a, nil
}

// setGrids sets the grids of the array's chunks and objects, and what follows from them.
func (a *Array) setGrids() (err error) {
	if a.Objects, err = object.NewLayout(a.Meta, a.Path, a.Chain, a.Source != nil); err != nil {
		return err
	}
	a.Grid = a.Objects.ChunkGrid()
	a.Ragged, a.Size = a.Grid.IsRagged(), a.Grid.Size()
	return nil
}

// WithRows returns the generation of the array that has so many rows, and size bytes, under the
// cache's number id.
func (a *Array) WithRows(rows, size int64, id uint64) (*Array, error) {
	b := *a
	if rows == a.Rows() && id == a.ID {
		b.Size = size
		return &b, nil
	}
	m, err := a.Meta.WithShape(append([]int64{rows}, a.Meta.Shape[1:]...))
	if err != nil {
		return nil, err
	}
	b.Meta, b.ID = m, id
	if err := b.setGrids(); err != nil {
		return nil, err
	}
	if err := b.rebind(a); err != nil {
		return nil, err
	}
	b.Size = size
	return &b, nil
}

// HasRows reports whether the grid has chunks for so many rows, and the codecs fit these.
func (a *Array) HasRows(rows int64) bool {
	if a.Meta.IsRegular() {
		return true
	}
	_, err := a.WithRows(rows, 0, a.ID)
	return err == nil
}

// rebind binds the codecs to objects of an array of another length of axis 0 than before had.
func (a *Array) rebind(before *Array) (err error) {
	if a.Meta.IsRegular() || a.Objects.Rank() == 0 ||
		slices.Equal(a.Objects.Lengths(0), before.Objects.Lengths(0)) {
		return nil
	}
	if a.Chain, err = a.Chains.OfShape(a.Meta.Chunk); err == nil {
		err = a.Chains.BindAll(a.Objects.Keys)
	}
	if err != nil {
		return fmt.Errorf("%w: the codecs do not fit the chunks of %d rows: %v",
			iofs.ErrInvalid, a.Rows(), err)
	}
	return nil
}

// Rows returns the length of axis 0; 1 without axes.
func (a *Array) Rows() int64 {
	if len(a.Meta.Shape) == 0 {
		return 1
	}
	return a.Meta.Shape[0]
}

// WholeRows returns how many rows the array has, without a last one that is not whole.
func (a *Array) WholeRows() int64 {
	if row := a.Grid.RowBytes(); row > 0 {
		return a.Size / row
	}
	return a.Rows()
}

// Tail returns the bytes behind the last whole row, and those of a row.
func (a *Array) Tail() (tail, row int64) {
	if row = a.Grid.RowBytes(); row > 0 {
		tail = a.Size % row
	}
	return tail, row
}

// BytesBefore returns how many bytes of a chunk, padding included, are of rows before row.
func (a *Array) BytesBefore(chunk, row int64) int64 {
	first, end, bytes := a.Grid.Rows(chunk)
	return (min(max(row, first), end) - first) * bytes
}

// RunsByChunk yields the runs of bytes [off, off+n), all those of a chunk together.
func (a *Array) RunsByChunk(off, n int64) iter.Seq[layout.Run] {
	return func(yield func(layout.Run) bool) {
		for chunk := range a.Grid.ChunksIn(off, n) {
			for r := range a.Grid.RunsOf(chunk, off, n) {
				if !yield(r) {
					return
				}
			}
		}
	}
}

// Longer returns the generation of the array that has so many bytes. Where chunks get another
// length it has the number that newID returns.
func (a *Array) Longer(size int64, newID func() uint64) (*Array, error) {
	row := a.Grid.RowBytes()
	if row == 0 || a.Source != nil {
		found := fmt.Sprintf("it has %d bytes, byte %d was to be written", a.Size, size-1)
		return nil, a.Fixed(found)
	}
	rows := (size-1)/row + 1
	id := a.ID
	if a.Objects.IsBounded() && rows != a.Rows() {
		id = newID() // the last chunks have another length
	}
	b, err := a.WithRows(rows, size, id)
	if errors.Is(err, meta.ErrInvalid) || errors.Is(err, layout.ErrInvalid) {
		err = fmt.Errorf("%w: %w", object.ErrFixedSize, err)
	}
	return b, err
}

// Fixed returns the error for a size that the array cannot have.
func (a *Array) Fixed(found string) error {
	if a.Source == nil {
		return fmt.Errorf("%w: %s", object.ErrFixedSize, found)
	}
	return fmt.Errorf("%w: %s: in Fortran order a row of axis 0 is not contiguous, so the file "+
		"cannot change its length; resize the .raw file, or set the shape in the .json file",
		object.ErrFixedSize, found)
}

// Outlasts reports whether another program has only appended rows, so that m describes the array.
// The new rows are behind the last one, and what was written in Fortran order keeps its place.
// Programs with the array open go on with the shape that they know.
func (a *Array) Outlasts(m *meta.Array) bool {
	return a.Source.SameLayout(m) && m.Shape[0] >= a.Source.Shape[0]
}

// Stored returns the metadata of what is stored, in C order.
func (a *Array) Stored() *meta.Array {
	if a.Source != nil {
		return a.Source
	}
	return a.Meta
}

// Matches reports whether a stored document, m, is that of the array, of which so many rows are
// stored. What does not concern the data may differ.
func (a *Array) Matches(m *meta.Array, rows int64) bool {
	if a.Source != nil {
		return a.Source.SameLayout(m) && slices.Equal(a.Source.Shape, m.Shape)
	}
	return a.Meta.SameLayout(m) && (len(m.Shape) == 0 || m.Shape[0] == rows)
}

// Straddles reports whether a document of so many rows counts some rows of an object, but not all.
func (a *Array) Straddles(obj, rows int64) bool {
	first, end, _ := a.Objects.Rows(obj)
	return first < rows && rows < min(end, a.Rows())
}

// Uncounted returns which rows of an object a document of so many rows does not count.
func (a *Array) Uncounted(obj, rows int64) (from, end int64) {
	if a.Source != nil || len(a.Meta.Shape) == 0 {
		return 0, 0
	}
	from, end, _ = a.Objects.Rows(obj)
	return max(from, rows), min(end, a.Rows())
}
