package zarrcore

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"slices"

	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/vlen"
)

// This file takes what programs write of an array whose elements have no fixed
// size: lines of JSON, or strings of fixed width. All of it is read and held
// against the array before anything of the array changes; vlen_write.go stores
// it.

// WriteLines makes lines, as a LineReader gives them, all elements of the array
// at path. Axis 0 becomes as long as they are rows; what is no whole row is
// ErrFraction. A line that is no element is an error that names it and wraps
// fs.ErrInvalid. After such an error nothing has changed. If durable is set it
// survives a power cut.
func (h *Hierarchy) WriteLines(ctx context.Context, path string, text io.ReaderAt, size int64, durable bool) error {
	return h.writeLines(ctx, path, io.NewSectionReader(text, 0, size), false, durable)
}

// AppendLines is WriteLines for lines that become further rows of the array.
func (h *Hierarchy) AppendLines(ctx context.Context, path string, text io.ReaderAt, size int64, durable bool) error {
	return h.writeLines(ctx, path, io.NewSectionReader(text, 0, size), true, durable)
}

// again goes back to the beginning: what another writer was faster with is tried
// once more.
func again(r *io.SectionReader) error {
	_, err := r.Seek(0, io.SeekStart)
	return err
}

func (h *Hierarchy) writeLines(ctx context.Context, path string, text *io.SectionReader, further, durable bool) error {
	return h.takeInto(ctx, path, durable, func(v *VlenArray, s *spool) (from, rows int64, err error) {
		if err := again(text); err != nil {
			return 0, 0, err
		}
		if err := v.spoolLines(ctx, s, text); err != nil {
			return 0, 0, err
		}
		if further {
			from = v.a.rows()
		}
		rows, err = v.rowsOf(s.n)
		return from, from + rows, err
	})
}

// WriteFixed makes strings of fixed width the elements of the array at path:
// data has them in C order, as elements of type t, and they are as many as an
// array of that shape has. Axis 0 may get another length. An element that reads
// as such a string already stays what it is: NULs at its end do not show in it.
func (h *Hierarchy) WriteFixed(ctx context.Context, path string, data *io.SectionReader, t dtype.Type, shape []int64, durable bool) error {
	return h.takeInto(ctx, path, durable, func(v *VlenArray, s *spool) (from, rows int64, err error) {
		own := v.a.meta.Shape
		if err := again(data); err != nil {
			return 0, 0, err
		}
		switch {
		case t.Kind != dtype.Unicode && t.Kind != dtype.Bytes, (t.Kind == dtype.Bytes) != (v.Kind() == vlen.Binary), v.Kind().Unit() == 0:
			return 0, 0, fmt.Errorf("elements of type %s cannot become %s: %w", t.NumPy(), v.Kind(), errors.ErrUnsupported)
		case len(shape) != len(own) || len(own) > 0 && !slices.Equal(shape[1:], own[1:]):
			return 0, 0, fmt.Errorf("%w: expected shape %v but for the length of axis 0, found %v", iofs.ErrInvalid, own, shape)
		}
		same, err := v.spoolFixed(ctx, s, data, t, shape)
		if err != nil || same && slices.Equal(shape, own) {
			return v.a.rows(), v.a.rows(), err
		}
		rows = 1
		if len(shape) > 0 {
			rows = shape[0]
		}
		return 0, rows, nil
	})
}

// takeInto lets fill fill a spool with rows [from, rows) of the array at path,
// which then has no others behind them, and stores them.
func (h *Hierarchy) takeInto(ctx context.Context, path string, durable bool, fill func(v *VlenArray, s *spool) (from, rows int64, err error)) error {
	defer h.vlens.turns.wait(path)()
	defer h.vlens.storing.use(path)()
	for tries := 0; ; tries++ {
		err := h.takeOnce(ctx, path, durable, fill)
		if !errors.Is(err, store.ErrConflict) || tries == maxConflicts {
			return err
		}
	}
}

// maxLine is the longest line that is taken, in bytes.
const maxLine = pyjson.MaxSize

// spoolLines checks lines and adds what they say to s.
func (v *VlenArray) spoolLines(ctx context.Context, s *spool, text io.Reader) error {
	r := bufio.NewReaderSize(text, 256<<10)
	var long, element []byte
	for number := int64(1); ; number++ {
		line, err := readLine(r, &long)
		if err == io.EOF {
			return nil
		}
		if err == nil {
			element, err = v.elementOf(element[:0], line)
		}
		if err == nil {
			err = s.add(element)
		}
		if err == nil && number%4096 == 0 {
			err = ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		if cap(long) > bigLine || cap(element) > bigLine {
			long, element = nil, nil // one long line among many short ones
		}
	}
}

// bigLine is from how many bytes on the memory of a line is not kept.
const bigLine = 4 << 20

// elementOf appends the element that a line says.
func (v *VlenArray) elementOf(dst, line []byte) ([]byte, error) {
	element, err := v.Kind().AppendElement(dst, line, v.chain.Fill().Item)
	if err == nil {
		err = v.chain.Accepts(element[len(dst):])
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", iofs.ErrInvalid, err)
	}
	return element, err
}

// readLine returns the next line without its line feed, which the last one may
// lack; io.EOF behind it. long is memory for lines that the reader's own does
// not hold.
func readLine(r *bufio.Reader, long *[]byte) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if err == nil {
		return line[:len(line)-1], nil
	}
	*long = append((*long)[:0], line...)
	for err == bufio.ErrBufferFull && len(*long) <= maxLine {
		line, err = r.ReadSlice('\n')
		*long = append(*long, line...)
	}
	switch {
	case len(*long) > maxLine:
		return nil, fmt.Errorf("%w: expected at most %d bytes, found more", iofs.ErrInvalid, maxLine)
	case err == io.EOF && len(*long) > 0:
		return *long, nil
	case err != nil:
		return nil, err
	}
	return (*long)[:len(*long)-1], nil
}

// rowsOf returns how many rows of the array n elements are.
func (v *VlenArray) rowsOf(n int64) (int64, error) {
	row := int64(1)
	for i, d := range v.a.meta.Shape {
		if i > 0 {
			row *= d
		}
	}
	switch {
	case len(v.a.meta.Shape) == 0 && n != 1, row == 0 && n > 0:
		return 0, fmt.Errorf("%w: expected %d lines, found %d", ErrFraction, v.Len(), n)
	case row == 0:
		return v.a.rows(), nil
	case n%row != 0:
		return 0, fmt.Errorf("%w: found %d lines, a row has %d", ErrFraction, n, row)
	}
	return n / row, nil
}

// spoolFixed adds strings of fixed width to s, each as the array has it already
// if that reads the same. It reports whether all do.
func (v *VlenArray) spoolFixed(ctx context.Context, s *spool, data io.Reader, t dtype.Type, shape []int64) (same bool, err error) {
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	same = true
	r := bufio.NewReaderSize(data, 256<<10)
	given, have := make([]byte, t.Size), make([]byte, t.Size)
	var element []byte
	for i := range n {
		if _, err := io.ReadFull(r, given); err != nil {
			return false, fmt.Errorf("element %d of %d: %w", i, n, err)
		}
		littleEndian(given, t)
		stored, err := v.showing(ctx, i, given, have)
		if err != nil {
			return false, err
		}
		if element = append(element[:0], stored...); stored == nil {
			element, err = v.stringOf(element, given)
		}
		if err != nil {
			return false, fmt.Errorf("element %d: %w", i, err)
		}
		same = same && stored != nil
		if err := s.add(element); err != nil {
			return false, err
		}
	}
	return same, nil
}

// showing returns element i as it is stored, not nil, if it shows as the string
// of fixed width given; have is memory of that width.
func (v *VlenArray) showing(ctx context.Context, i int64, given, have []byte) ([]byte, error) {
	if i >= v.Len() {
		return nil, nil
	}
	run := v.a.grid.RunAt(i)
	e, err := v.elements(ctx, run.Chunk)
	if err != nil {
		return nil, err
	}
	k := run.ChunkOff
	if e == nil {
		e, k = v.chain.Fill(), 0
	}
	if w := e.Width(k); w < 0 || w*v.Kind().Unit() > int64(len(given)) {
		return nil, nil
	}
	if e.PutFixed(have, k); !bytes.Equal(given, have) {
		return nil, nil
	}
	return e.At(k), nil
}

// stringOf appends the element that a string of fixed width says.
func (v *VlenArray) stringOf(dst, given []byte) ([]byte, error) {
	element, err := v.Kind().AppendFixed(dst, given)
	if err == nil {
		err = v.chain.Accepts(element[len(dst):])
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", iofs.ErrInvalid, err)
	}
	return element, err
}

// littleEndian turns the characters of a big-endian type around.
func littleEndian(item []byte, t dtype.Type) {
	if t.Kind != dtype.Unicode || t.Order != dtype.Big {
		return
	}
	for ; len(item) >= 4; item = item[4:] {
		binary.LittleEndian.PutUint32(item, binary.BigEndian.Uint32(item))
	}
}
