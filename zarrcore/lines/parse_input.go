package lines

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	iofs "io/fs"

	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// This file reads what programs write of an array: lines of JSON, or strings of fixed width. All of
// it is checked before anything of the array changes.

// maxLine is the longest line that is taken, in bytes.
const maxLine = pyjson.MaxSize

// TakeLines checks lines of JSON and adds their elements to s. If a line is not an element, the
// error names the line and wraps fs.ErrInvalid.
func TakeLines(ctx context.Context, src Source, s *Spool, text io.Reader) error {
	r := bufio.NewReaderSize(text, 256<<10)
	var long, element []byte
	for number := int64(1); ; number++ {
		line, err := readLine(r, &long)
		if err == io.EOF {
			return nil
		}
		if err == nil {
			element, err = elementOf(src, element[:0], line)
		}
		if err == nil {
			err = s.Add(element)
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

// Accepts returns why a line, without its line feed, is not an element of src; nil if it is one.
// The error wraps fs.ErrInvalid.
func Accepts(src Source, line []byte) error {
	_, err := elementOf(src, nil, line)
	return err
}

// elementOf appends the element that a line spells.
func elementOf(src Source, dst, line []byte) ([]byte, error) {
	element, err := src.Fill().Kind.AppendElement(dst, line, src.Fill().Item)
	return accepted(src, dst, element, err)
}

// accepted returns an element that was appended to dst, or why it is invalid.
func accepted(src Source, dst, element []byte, err error) ([]byte, error) {
	if err == nil {
		err = src.Accepts(element[len(dst):])
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
		return nil, fmt.Errorf("%w: expected at most %d bytes, found more", iofs.ErrInvalid,
			maxLine)
	case err == io.EOF && len(*long) > 0:
		return *long, nil
	case err != nil:
		return nil, err
	}
	return (*long)[:len(*long)-1], nil
}

// TakeFixed adds n strings of fixed width to s, which are elements of type t. Each becomes the
// element that the array has already, if that reads the same. It reports whether all do.
func TakeFixed(
	ctx context.Context, src Source, s *Spool, data io.Reader, t dtype.Type, n int64,
) (same bool, err error) {
	same = true
	r := bufio.NewReaderSize(data, 256<<10)
	given, have := make([]byte, t.Size), make([]byte, t.Size)
	var element []byte
	for i := range n {
		if _, err := io.ReadFull(r, given); err != nil {
			return false, fmt.Errorf("element %d of %d: %w", i, n, err)
		}
		littleEndian(given, t)
		stored, err := showing(ctx, src, i, given, have)
		if err != nil {
			return false, err
		}
		if element = append(element[:0], stored...); stored == nil {
			element, err = stringOf(src, element, given)
		}
		if err != nil {
			return false, fmt.Errorf("element %d: %w", i, err)
		}
		same = same && stored != nil
		if err := s.Add(element); err != nil {
			return false, err
		}
	}
	return same, nil
}

// showing returns element i as it is stored, not nil, if it shows as the string of fixed width
// given. have is memory of that width.
func showing(ctx context.Context, src Source, i int64, given, have []byte) ([]byte, error) {
	if i >= src.Grid().Size() {
		return nil, nil
	}
	run := src.Grid().RunAt(i)
	e, err := src.Elements(ctx, run.Chunk)
	if err != nil {
		return nil, err
	}
	k := run.ChunkOff
	if e == nil {
		e, k = src.Fill(), 0
	}
	if w := e.Width(k); w < 0 || w*e.Kind.Unit() > int64(len(given)) {
		return nil, nil
	}
	if e.PutFixed(have, k); !bytes.Equal(given, have) {
		return nil, nil
	}
	return e.At(k), nil
}

// stringOf appends the element that a string of fixed width spells.
func stringOf(src Source, dst, given []byte) ([]byte, error) {
	element, err := src.Fill().Kind.AppendFixed(dst, given)
	return accepted(src, dst, element, err)
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
