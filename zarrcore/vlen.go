package zarrcore

import (
	"context"
	"errors"
	"io"

	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/lines"
	"github.com/zarrfs/zarrfs/zarrcore/live"
	"github.com/zarrfs/zarrfs/zarrcore/vlenarray"
)

// This file shows the arrays of package vlenarray. Their elements have no fixed size.

type (
	// A VlenArray is an array whose elements have no fixed size.
	VlenArray = vlenarray.Array
	// A LineReader reads the lines of an array: one for each element, in C order.
	LineReader = vlenarray.LineReader
	// A Count is what counting an array has found.
	Count = lines.Count
)

// ErrVlen is wrapped by OpenArray's error for an array that OpenVlen opens.
var ErrVlen = live.ErrVlen

// ErrNotVlen is wrapped by OpenVlen's error for an array that OpenArray opens.
var ErrNotVlen = vlenarray.ErrNotVlen

// ErrChanged says that the array's objects have changed since it was opened. Its lines are no
// longer where they were.
var ErrChanged = lines.ErrChanged

// vlens opens such arrays, and writes them.
type vlens struct{ table *vlenarray.Table }

// newVlens returns the table of such arrays.
func (h *Hierarchy) newVlens() vlens {
	return vlens{vlenarray.NewTable(vlenarray.Options{
		Store: h.store, Catalog: h.catalog, Memory: h.shared.Memory, Scratch: h.scratch,
		Objects: h.shared.Objects, Count: h.shared.Count, Durable: &h.undurable,
		Workers: h.opt.Workers, KeepFill: h.opt.KeepFill, ReadOnly: h.opt.ReadOnly,
		Fresh: h.opt.Fresh, NextID: h.arrays.NextID,
	})}
}

// OpenVlen returns the array at path as it is stored now. Its errors are as
// those of OpenArray, which opens all other arrays.
func (h *vlens) OpenVlen(ctx context.Context, path string) (*VlenArray, error) {
	return h.table.Open(ctx, path)
}

// SizeVlen returns the array at path as OpenVlen does, for its size. A large one is as it was
// when it was last opened, or counted, if that is not long ago: no object is looked at.
func (h *vlens) SizeVlen(ctx context.Context, path string) (*VlenArray, error) {
	return h.table.Size(ctx, path)
}

// IsVlenInUse reports whether a program has the array at path open, whose elements have no fixed
// size.
func (h *vlens) IsVlenInUse(path string) bool { return h.table.IsInUse(path) }

// WriteLines makes lines, as a LineReader gives them, all elements of the array
// at path; see [vlenarray.Table.WriteLines].
func (h *vlens) WriteLines(
	ctx context.Context, path string, text io.ReaderAt, size int64, durable bool) error {
	return h.table.WriteLines(ctx, path, text, size, durable)
}

// AppendLines is WriteLines for lines that become further rows of the array.
func (h *vlens) AppendLines(
	ctx context.Context, path string, text io.ReaderAt, size int64, durable bool) error {
	return h.table.AppendLines(ctx, path, text, size, durable)
}

// WriteFixed makes strings of fixed width the elements of the array at path; see
// [vlenarray.Table.WriteFixed].
func (h *vlens) WriteFixed(ctx context.Context, path string, data *io.SectionReader,
	t dtype.Type, shape []int64, durable bool) error {
	return h.table.WriteFixed(ctx, path, data, t, shape, durable)
}

// Readable returns why the data of the array at path cannot be read, by OpenArray or OpenVlen; nil
// if it can.
func (h *Hierarchy) Readable(ctx context.Context, path string) error {
	_, err := h.OpenArray(ctx, path)
	if errors.Is(err, ErrVlen) {
		_, err = h.OpenVlen(ctx, path)
	}
	return err
}
