package zipstore

import (
	"bufio"
	"compress/flate"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"io/fs"
	"sync"
	"sync/atomic"

	"github.com/zarrfs/zarrfs/compress/inflate"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// oneRead is up to how many bytes a member is read together with its local header, and kept while
// it is open: one request in place of two, where the zip file is far away.
const oneRead = 64 << 10

// oneRequest is oneRead for members of a zip file behind a network of which most is wanted.
const oneRequest = 16 << 20

// slack is how many bytes the extra field of a local header may have in that one read.
const slack = 64

// object is an opened member.
type object struct {
	*archive
	ctx    context.Context
	member *member
	key    string
	once   int64 // up to how many bytes it is read together with its local header
	closed atomic.Bool

	mu     sync.Mutex
	data   int64  // offset of the member's bytes in the zip file; 0: not known yet
	packed []byte // the member's bytes, if they are few
	stream *stream
}

// Size is the object's length in bytes.
func (o *object) Size() int64 { return o.member.size }

// Info describes the object.
func (o *object) Info() store.Info { return o.describe(o.key, o.member) }

// Rights are those to the zip file.
func (o *object) Rights() store.Rights { return o.rights }

// Close ends the use of the object.
func (o *object) Close() error {
	if o.closed.Swap(true) {
		return fs.ErrClosed
	}
	o.release()
	return nil
}

// ReadAt reads full or fails, as io.ReaderAt says. A whole member is compared with its checksum.
func (o *object) ReadAt(p []byte, off int64) (int, error) {
	if err := o.ctx.Err(); err != nil {
		return 0, err
	}
	if o.closed.Load() {
		return 0, fs.ErrClosed
	}
	return store.ReadInside(p, off, o.member.size, func(inside []byte) error {
		return o.read(inside, off)
	})
}

// read fills p, which lies inside the object.
func (o *object) read(p []byte, off int64) error {
	if len(p) == 0 {
		return nil
	}
	data, packed, err := o.locate()
	if err != nil {
		return err
	}
	whole, isDeflated := int64(len(p)) == o.member.size, o.member.method == deflated
	switch {
	case isDeflated && whole:
		err = o.inflate(p, data, packed)
	case isDeflated:
		err = o.skim(p, off, data)
	case packed != nil:
		copy(p, packed[off:])
	default:
		err = o.fetch(p, data+off)
	}
	switch {
	case err != nil:
		return err
	case whole:
		return o.check(crc32.ChecksumIEEE(p))
	default:
		return o.changed(o.ctx) // no checksum has shown it
	}
}

// locate finds where the member's bytes are. Few bytes are returned, too.
func (o *object) locate() (data int64, packed []byte, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.data != 0 {
		return o.data, o.packed, nil
	}
	m := o.member
	length := int64(localLen)
	if m.packed <= o.once {
		length = min(localLen+int64(len(m.name))+slack+m.packed, o.file.Size()-m.header)
	}
	buf := make([]byte, length)
	if err := o.fetch(buf, m.header); err != nil {
		return 0, nil, err
	}
	le := binary.LittleEndian
	if sig := le.Uint32(buf); sig != localSig || le.Uint16(buf[8:]) != m.method {
		return 0, nil, o.corrupt("no header of the member is at byte %d", m.header)
	}
	nameLen, extraLen := int64(le.Uint16(buf[26:])), int64(le.Uint16(buf[28:]))
	skip := localLen + nameLen + extraLen
	if m.header+skip+m.packed > o.file.Size() {
		return 0, nil, o.corrupt("the member ends beyond the file of %d bytes", o.file.Size())
	}
	o.data = m.header + skip
	if end := skip + m.packed; m.packed <= o.once && end <= length {
		o.packed = buf[skip:end]
	}
	return o.data, o.packed, nil
}

// fetch reads bytes of the zip file.
func (o *object) fetch(p []byte, off int64) error {
	err := store.ReadRanges(o.ctx, o.file, []store.Span{{Off: off, P: p}})
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return o.corrupt("the file ends before byte %d", off+int64(len(p)))
	case errors.Is(err, store.ErrChanged):
		o.doubt()
		return ErrChanged
	}
	return err
}

// ReadAt of a packed member reads the zip file, for a decoder.
func (p packed) ReadAt(b []byte, off int64) (int, error) {
	if err := p.fetch(b, off); err != nil {
		return 0, err
	}
	return len(b), nil
}

// packed is an object as its bytes are in the zip file.
type packed struct{ *object }

// ahead is how many bytes of a packed member a decoder reads at once.
const ahead = 256 << 10

// corrupt is an error, which says so if the zip file has changed meanwhile.
func (o *object) corrupt(format string, args ...any) error {
	if err := o.changed(o.ctx); err != nil {
		return err
	}
	return invalid("it is corrupt: %s", fmt.Sprintf(format, args...))
}

// check compares the checksum of the whole object.
func (o *object) check(crc uint32) error {
	if crc != o.member.crc {
		return o.corrupt("checksum %08x is expected, found %08x", o.member.crc, crc)
	}
	return nil
}

// inflate decodes the whole member into p. It takes no more memory besides than p has.
func (o *object) inflate(p []byte, data int64, packed []byte) error {
	if packed == nil {
		packed = make([]byte, o.member.packed)
		if err := o.fetch(packed, data); err != nil {
			return err
		}
	}
	n, _, err := inflate.Decode(p, packed)
	switch {
	case err != nil:
		return o.corrupt("%v", err)
	case n < len(p):
		return o.corrupt("%d bytes are expected, found %d", len(p), n)
	}
	return nil
}

// stream decodes a member in order.
type stream struct {
	io.Reader
	crc hash.Hash32
	pos int64 // of the next byte
}

// skim decodes part of a deflated member. It keeps no more of it than DEFLATE's window, so that a
// member may be larger than memory. Reading in order is fast; going back begins again.
func (o *object) skim(p []byte, off, data int64) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.stream
	if s == nil || s.pos > off {
		s = &stream{crc: crc32.NewIEEE()}
		bytes := io.NewSectionReader(packed{o}, data, o.member.packed)
		ahead := bufio.NewReaderSize(bytes, int(min(ahead, o.member.packed)))
		s.Reader = io.TeeReader(flate.NewReader(ahead), s.crc)
		o.stream = s
	}
	err := s.skip(o.ctx, off-s.pos)
	if err == nil {
		var n int
		n, err = io.ReadFull(s, p)
		s.pos += int64(n)
	}
	if err != nil {
		o.stream = nil
		if o.ctx.Err() != nil {
			return o.ctx.Err()
		}
		return o.corrupt("%v", noEOF(err))
	}
	if s.pos == o.member.size {
		return o.check(s.crc.Sum32())
	}
	return nil
}

// skip passes n bytes by, or ends with ctx.
func (s *stream) skip(ctx context.Context, n int64) error {
	const step = 1 << 20
	for n > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		m, err := io.CopyN(io.Discard, s, min(n, step))
		s.pos += m
		n -= m
		if err != nil {
			return err
		}
	}
	return nil
}
