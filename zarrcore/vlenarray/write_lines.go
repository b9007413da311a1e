package vlenarray

import (
	"context"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"slices"

	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/lines"
	"github.com/zarrfs/zarrfs/zarrcore/object"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/vlen"
)

// This file takes what programs write: lines of JSON, or strings of fixed width. Package lines
// reads all of it and checks it before anything of the array changes; write.go stores it.

// WriteLines replaces all elements of the array at path by lines, as a LineReader gives them. Axis
// 0 gets as many rows as the lines fill. Lines that do not fill a row are ErrFraction. For a line
// that is not an element, the error names the line and wraps fs.ErrInvalid. After such an error
// nothing has changed. If durable is set, what is written survives a power cut.
func (t *Table) WriteLines(
	ctx context.Context, path string, text io.ReaderAt, size int64, durable bool) error {
	return t.writeLines(ctx, path, io.NewSectionReader(text, 0, size), false, durable)
}

// AppendLines is WriteLines for lines that become further rows of the array.
func (t *Table) AppendLines(
	ctx context.Context, path string, text io.ReaderAt, size int64, durable bool) error {
	return t.writeLines(ctx, path, io.NewSectionReader(text, 0, size), true, durable)
}

// AcceptsLine returns why the array cannot have an element that a line of JSON, without its line
// feed, spells; nil if it can.
func (v *Array) AcceptsLine(line []byte) error { return lines.Accepts(v.source, line) }

// again goes back to the beginning: what another writer was faster with is tried
// once more.
func again(r *io.SectionReader) error {
	_, err := r.Seek(0, io.SeekStart)
	return err
}

func (t *Table) writeLines(
	ctx context.Context, path string, text *io.SectionReader, further, durable bool) error {
	fill := func(v *Array, s *lines.Spool) (from, rows int64, err error) {
		if err := again(text); err != nil {
			return 0, 0, err
		}
		if err := lines.TakeLines(ctx, v.source, s, text); err != nil {
			return 0, 0, err
		}
		if further {
			from = v.a.rows()
		}
		rows, err = v.rowsOf(s.Len())
		return from, from + rows, err
	}
	return t.takeInto(ctx, path, durable, fill)
}

// WriteFixed makes strings of fixed width the elements of the array at path:
// data has them in C order, as elements of type dt, and they are as many as an
// array of that shape has. Axis 0 may get another length. An element that reads
// as such a string already stays what it is: NULs at its end do not show in it.
func (t *Table) WriteFixed(ctx context.Context, path string, data *io.SectionReader,
	dt dtype.Type, shape []int64, durable bool) error {
	fill := func(v *Array, s *lines.Spool) (from, rows int64, err error) {
		if err := again(data); err != nil {
			return 0, 0, err
		}
		if err := v.acceptsFixed(dt, shape); err != nil {
			return 0, 0, err
		}
		n := int64(1)
		for _, d := range shape {
			n *= d
		}
		same, err := lines.TakeFixed(ctx, v.source, s, data, dt, n)
		if err != nil || same && slices.Equal(shape, v.a.meta.Shape) {
			return v.a.rows(), v.a.rows(), err
		}
		rows = 1
		if len(shape) > 0 {
			rows = shape[0]
		}
		return 0, rows, nil
	}
	return t.takeInto(ctx, path, durable, fill)
}

// acceptsFixed returns why the array cannot have the elements of an array of strings of type t and
// of that shape; nil if it can.
func (v *Array) acceptsFixed(t dtype.Type, shape []int64) error {
	own := v.a.meta.Shape
	fixed := t.Kind == dtype.Unicode || t.Kind == dtype.Bytes
	binary := t.Kind == dtype.Bytes
	switch {
	case !fixed, binary != (v.Kind() == vlen.Binary), v.Kind().Unit() == 0:
		return fmt.Errorf("elements of type %s cannot become %s: %w",
			t.NumPy(), v.Kind(), errors.ErrUnsupported)
	case len(shape) != len(own) || len(own) > 0 && !slices.Equal(shape[1:], own[1:]):
		return fmt.Errorf("%w: expected shape %v except the length of axis 0, found %v",
			iofs.ErrInvalid, own, shape)
	}
	return nil
}

// A filler fills a spool with rows [from, rows) of an array, which then has no others behind them.
type filler func(v *Array, s *lines.Spool) (from, rows int64, err error)

// takeInto stores the rows of the array at path with which fill fills a spool.
func (t *Table) takeInto(ctx context.Context, path string, durable bool, fill filler) error {
	defer t.writers.Lock(path)()
	end, err := t.storing.Use(ctx, path)
	if err != nil {
		return err
	}
	defer end()
	for tries := 0; ; tries++ {
		err := t.takeOnce(ctx, path, durable, fill)
		if !errors.Is(err, store.ErrConflict) || tries == maxConflicts {
			return err
		}
	}
}

// rowsOf returns how many rows of the array n elements are.
func (v *Array) rowsOf(n int64) (int64, error) {
	row := int64(1)
	for i, d := range v.a.meta.Shape {
		if i > 0 {
			row *= d
		}
	}
	switch {
	case len(v.a.meta.Shape) == 0 && n != 1, row == 0 && n > 0:
		return 0, fmt.Errorf("%w: expected %d lines, found %d", object.ErrFraction, v.Len(), n)
	case row == 0:
		return v.a.rows(), nil
	case n%row != 0:
		return 0, fmt.Errorf("%w: found %d lines, a row has %d", object.ErrFraction, n, row)
	}
	return n / row, nil
}
