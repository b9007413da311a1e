package lines

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/zarrfs/zarrfs/zarrcore/vlen"
)

// Reader reads the lines of an array: one for each element, in C order, as package vlen spells
// them. Its methods may be called concurrently.
type Reader struct {
	src   Source
	index *Index

	mu   sync.Mutex
	elem int64 // where the last read ended: in this element's line,
	at   int64 // which begins at this byte
}

// NewReader returns a reader of the lines of the array that the index is of.
func NewReader(x *Index) *Reader { return &Reader{src: x.src, index: x} }

// closeBy is how far behind a read another may begin that goes on from there
// rather than by the index, in bytes.
const closeBy = 4 << 20

// ReadAt reads up to len(p) bytes from byte off of the lines; less only at the end, which is
// io.EOF. A program that reads in order has each chunk decoded when it comes to it; a read
// elsewhere first counts what lies before it.
func (r *Reader) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, fmt.Errorf("%w: offset %d", ErrRange, off)
	}
	elem, at, err := r.seek(ctx, off)
	if err != nil {
		return 0, err
	}
	w := lineWriter{src: r.src, index: r.index, ctx: ctx, p: p, skip: off - at, elem: elem, at: at}
	err = w.write()
	r.mu.Lock()
	r.elem, r.at = w.elem, w.at
	r.mu.Unlock()
	if err == nil && w.n < len(p) {
		err = io.EOF
	}
	return w.n, err
}

// seek returns an element at or before byte off of the lines, and where its line
// begins.
func (r *Reader) seek(ctx context.Context, off int64) (elem, at int64, err error) {
	x := r.index
	for {
		r.mu.Lock()
		elem, at = r.elem, r.at
		r.mu.Unlock()
		stretch, start, known := x.find(off)
		if at <= off && (off-at < closeBy || known) && at >= start {
			return elem, at, nil
		}
		_, all := x.Counted()
		if known || all {
			return min(stretch*x.per, r.src.Grid().Size()), start, nil
		}
		if err := x.CountSome(ctx); err != nil {
			return 0, 0, err
		}
	}
}

// A lineWriter writes lines, one element after the other.
type lineWriter struct {
	src   Source
	index *Index
	ctx   context.Context
	p     []byte
	n     int   // bytes written
	skip  int64 // bytes of lines yet to come that stand before p
	elem  int64 // the next element,
	at    int64 // and where its line begins; when all is done, those of the line in which p ended
	line  []byte
}

// write writes lines until p is full or there are no more.
func (w *lineWriter) write() error {
	for w.n < len(w.p) && w.elem < w.src.Grid().Size() {
		run := w.src.Grid().RunAt(w.elem)
		e, err := w.src.Elements(w.ctx, run.Chunk)
		if err != nil {
			return err
		}
		if w.ahead(run.Off + run.Len); e == nil {
			err = w.fill(run.Len)
		} else {
			err = w.run(e, run.ChunkOff, run.Len)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// run writes n elements from element i of e on.
func (w *lineWriter) run(e *vlen.Elements, i, n int64) error {
	for k := i; k < i+n && w.n < len(w.p); k++ {
		size := e.LineLen(k)
		if size > w.skip {
			w.line = e.AppendLine(w.line[:0], k)
			if !w.put(w.line) {
				return nil
			}
		} else {
			w.skip -= size
		}
		if err := w.next(size); err != nil {
			return err
		}
	}
	return nil
}

// fill writes n lines of the fill value.
func (w *lineWriter) fill(n int64) error {
	w.line = w.src.Fill().AppendLine(w.line[:0], 0)
	size := int64(len(w.line))
	for ; n > 0 && w.n < len(w.p); n-- {
		if size > w.skip {
			if !w.put(w.line) {
				return nil
			}
		} else {
			w.skip -= size
		}
		if err := w.next(size); err != nil {
			return err
		}
	}
	return nil
}

// put writes a line, except what is to be skipped of it; it reports whether all of it fitted.
func (w *lineWriter) put(line []byte) bool {
	part := line[w.skip:]
	k := copy(w.p[w.n:], part)
	w.n += k
	w.skip = 0
	return k == len(part)
}

// next goes to the next element, and holds the end of each stretch against the
// index: an object may have been replaced since it was counted.
func (w *lineWriter) next(size int64) error {
	w.elem++
	w.at += size
	x := w.index
	if w.elem%x.per != 0 && w.elem != w.src.Grid().Size() {
		return nil
	}
	if end, known := x.end((w.elem - 1) / x.per); known && end != w.at {
		return fmt.Errorf("%w: expected element %d at byte %d of the lines, found it at %d",
			ErrChanged, w.elem, end, w.at)
	}
	return nil
}

// ahead begins to load the chunk of element next, which will be needed soon.
func (w *lineWriter) ahead(next int64) {
	if next >= w.src.Grid().Size() {
		return
	}
	w.src.Prefetch(w.ctx, w.src.Grid().RunAt(next).Chunk)
}

// ReadFixed reads up to len(p) bytes from byte off of the array as strings of a
// fixed width, one after the other in C order: width characters of UTF-32, or
// width bytes, padded with NUL. Less is read only at the end, which is io.EOF.
func ReadFixed(ctx context.Context, src Source, p []byte, off, width int64) (int, error) {
	size := width * src.Fill().Kind.Unit()
	if off < 0 || size <= 0 {
		return 0, fmt.Errorf("%w: strings of %d bytes at offset %d", ErrRange, size, off)
	}
	item := make([]byte, size)
	n := 0
	for n < len(p) && off/size < src.Grid().Size() {
		run := src.Grid().RunAt(off / size)
		e, err := src.Elements(ctx, run.Chunk)
		if err != nil {
			return n, err
		}
		for k := run.ChunkOff; k < run.ChunkOff+run.Len && n < len(p); k++ {
			from, i := e, k
			if e == nil {
				from, i = src.Fill(), 0
			}
			if w := from.Width(i); w < 0 || w > width {
				return n, fmt.Errorf("%w: expected strings of at most %d, found one of %d",
					ErrChanged, width, w)
			}
			from.PutFixed(item, i)
			part := copy(p[n:], item[off%size:])
			n += part
			off += int64(part)
		}
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}
