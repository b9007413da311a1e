package lines

import (
	"encoding/binary"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/zarrcore/band"
	"github.com/zarrfs/zarrfs/zarrcore/vlen"
)

// Spool holds elements on their way into an array: the bytes of all elements one after the other,
// and where each element ends. What memory has no room for is in scratch. It is filled first, by
// one goroutine, and then read by several.
type Spool struct {
	data, ends spoolFile
	n          int64 // elements
}

// NewSpool returns an empty spool, which the caller closes.
func NewSpool(scratch *band.Scratch) *Spool {
	return &Spool{data: spoolFile{scratch: scratch}, ends: spoolFile{scratch: scratch}}
}

// Len returns the number of elements.
func (s *Spool) Len() int64 { return s.n }

// Size returns the bytes of all elements.
func (s *Spool) Size() int64 { return s.data.size }

// Close frees what the spool holds.
func (s *Spool) Close() {
	s.data.close()
	s.ends.close()
}

// Add appends an element.
func (s *Spool) Add(element []byte) error {
	if err := s.data.append(element); err != nil {
		return err
	}
	s.n++
	var end [8]byte
	binary.LittleEndian.PutUint64(end[:], uint64(s.data.size))
	return s.ends.append(end[:])
}

// bounds returns where k elements from first on begin, and where each of them
// ends.
func (s *Spool) bounds(first, k int64) ([]uint64, error) {
	all := make([]uint64, k+1)
	raw := make([]byte, 8*(k+1))
	from := raw
	if first == 0 {
		from = raw[8:] // the first element begins at 0
	}
	if err := s.ends.read(from, max(0, 8*(first-1))); err != nil {
		return nil, err
	}
	for i := range all {
		all[i] = binary.LittleEndian.Uint64(raw[8*i:])
	}
	return all, nil
}

// Bytes returns how many bytes k elements from first on have.
func (s *Spool) Bytes(first, k int64) (int64, error) {
	ends, err := s.bounds(first, k)
	if err != nil {
		return 0, err
	}
	return int64(ends[k] - ends[0]), nil
}

// Load appends as many elements as there are spans, from first on, to e's data,
// and sets the spans to where they are. Its data may have limit bytes at most.
func (s *Spool) Load(e *vlen.Elements, spans []vlen.Span, first, limit int64) error {
	ends, err := s.bounds(first, int64(len(spans)))
	if err != nil {
		return err
	}
	start, size := int64(ends[0]), int64(ends[len(spans)]-ends[0])
	at := int64(len(e.Data))
	if at+size > limit {
		return fmt.Errorf("%w: the elements of a chunk have %d bytes, expected at most %d",
			compress.ErrTooLarge, at+size, limit)
	}
	e.Data = slices.Grow(e.Data, int(size))[:at+size]
	if err := s.data.read(e.Data[at:], start); err != nil {
		return err
	}
	for i := range spans {
		spans[i] = vlen.Span{Off: uint32(at + int64(ends[i]) - start),
			Len: uint32(ends[i+1] - ends[i])}
	}
	return nil
}

// spoolMemory is how much of a spool's file is kept in memory.
const spoolMemory = 1 << 20

// A spoolFile is bytes that are appended, and then read. The last of them, and
// all of a small one, are in memory.
type spoolFile struct {
	scratch *band.Scratch
	file    *os.File // nil until memory is full
	size    int64    // of all
	tail    []byte   // what the file does not have yet
}

func (f *spoolFile) append(b []byte) error {
	if len(f.tail)+len(b) > spoolMemory && len(f.tail) > 0 {
		if err := f.spill(); err != nil {
			return err
		}
	}
	f.tail = append(f.tail, b...)
	f.size += int64(len(b))
	return nil
}

// spill writes the tail to the file.
func (f *spoolFile) spill() (err error) {
	n := int64(len(f.tail))
	if !f.scratch.Reserve(n) {
		return fmt.Errorf("scratch space for what is written: %w", unix.ENOSPC)
	}
	written := f.size - n
	if f.file == nil {
		f.file, err = f.scratch.Create()
	}
	if err == nil {
		_, err = f.file.WriteAt(f.tail, written)
	}
	if err != nil {
		f.scratch.Release(n)
		return fmt.Errorf("scratch space for what is written: %w", err)
	}
	f.tail = f.tail[:0]
	return nil
}

// read reads all of p at off, which are there.
func (f *spoolFile) read(p []byte, off int64) error {
	spilled := f.size - int64(len(f.tail))
	if n := min(int64(len(p)), spilled-off); n > 0 {
		if _, err := f.file.ReadAt(p[:n], off); err != nil {
			return fmt.Errorf("read back from scratch: %w", err)
		}
		p, off = p[n:], off+n
	}
	if len(p) > 0 {
		copy(p, f.tail[off-spilled:])
	}
	return nil
}

func (f *spoolFile) close() {
	if f.file != nil {
		f.file.Close() // its content is not needed any more
		f.scratch.Release(f.size - int64(len(f.tail)))
		f.file = nil
	}
	f.size, f.tail = 0, nil
}
