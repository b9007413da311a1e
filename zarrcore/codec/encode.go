package codec

import (
	"errors"
	"fmt"
	"slices"

	"github.com/zarrfs/zarrfs/compress"
)

// encoder is a bound codec that encodes: it appends the encoding of src, which it must not change,
// to dst.
type encoder interface {
	encode(dst, src []byte) ([]byte, error)
}

// encodes makes a compress.Encoder a step's encoder.
type encodes struct{ compress.Encoder }

func (e encodes) encode(dst, src []byte) ([]byte, error) { return e.Encode(dst, src) }

// notEncoded is an errors.ErrUnsupported with a text of its own.
type notEncoded string

func (e notEncoded) Error() string { return string(e) }

// Is makes errors.Is find errors.ErrUnsupported.
func (e notEncoded) Is(target error) bool { return target == errors.ErrUnsupported }

// addEncoder appends a step's encoder, or notes that there is none for what it decodes.
func (p *pipeline) addEncoder(s step) {
	switch {
	case s.why != nil:
		p.refuse(s.name, s.why)
	case s.enc != nil:
		p.encs = append(p.encs, s)
	case s.decodes():
		p.refuse(s.name, notEncoded("it is decoded only"))
	}
}

// precede puts filters before all others. They work on each element alone.
func (p *pipeline) precede(filters []step) {
	rest := p.encs
	p.encs = nil
	for _, s := range filters {
		s.size, s.limit = p.size, p.size
		p.addEncoder(s)
	}
	p.encs = append(p.encs, rest...)
}

// refuse notes why chunks cannot be encoded; the first reason counts.
func (p *pipeline) refuse(name string, why error) {
	if p.why != nil {
		return
	}
	p.why = cannotWrite(name, why)
}

// cannotWrite is the errors.ErrUnsupported for a codec that cannot encode.
func cannotWrite(name string, why error) error {
	if !errors.Is(why, errors.ErrUnsupported) {
		why = fmt.Errorf("%w: %w", errors.ErrUnsupported, why)
	}
	return fmt.Errorf("codec %q cannot be written: %w", name, why)
}

// encode appends the encoding of a chunk of p.size bytes to dst. Between two steps the bytes are in
// lent memory.
func (p *pipeline) encode(dst, chunk []byte) ([]byte, error) {
	if p.why != nil {
		return dst, p.why
	}
	if len(p.encs) == 0 {
		return append(dst, chunk...), nil
	}
	last := len(p.encs) - 1
	in := chunk
	var held *buffer
	defer func() { held.release() }()
	for i := range p.encs[:last] {
		next := getBuffer(p.encs[i+1].limit)
		out, err := p.encs[i].enc.encode(next.b[:0], in)
		if err != nil {
			next.release()
			return dst, p.encs[i].failed(err)
		}
		held.release()
		in, held = out, next
	}
	out, err := p.encs[last].enc.encode(slices.Grow(dst, int(p.room())), in)
	if err != nil {
		return dst, p.encs[last].failed(err)
	}
	return out, nil
}

// room is the memory that an encoded chunk is given at first. Most encoders need no more.
func (p *pipeline) room() int64 {
	if p.encoded.size != unknown {
		return p.encoded.size
	}
	return min(p.encoded.limit, p.size+p.size/32+256)
}

func (s *step) failed(err error) error { return fmt.Errorf("codec %q: encoding: %w", s.name, err) }

// Writable returns nil if chunks can be encoded. Otherwise the error wraps errors.ErrUnsupported
// and names the codec at fault.
func (c *Chain) Writable() error {
	if err := c.writableIndexes(); err != nil {
		return err
	}
	return c.chunk.why
}

// writableIndexes is Writable for the indexes of shards alone.
func (c *Chain) writableIndexes() error {
	for i := range c.levels {
		if err := c.levels[i].index.codecs.why; err != nil {
			return fmt.Errorf("codec %q: index_codecs: %w", shardingName, err)
		}
	}
	return nil
}

// EncodedBytes is how many bytes EncodeChunk appends for most chunks; a few need more.
func (c *Chain) EncodedBytes() int64 { return c.chunk.room() }

// EncodeChunk appends the encoding of a chunk, ChunkBytes bytes in C order and in the array's byte
// order, to dst. It does not change the chunk. Where the chain is sharded, the result is for
// Assemble to put into the object.
func (c *Chain) EncodeChunk(dst, chunk []byte) ([]byte, error) {
	if int64(len(chunk)) != c.chunk.size {
		return dst, fmt.Errorf("codec: expected a chunk of %d bytes, found %d",
			c.chunk.size, len(chunk))
	}
	return c.chunk.encode(dst, chunk)
}

// encode makes a planned copy a step.
func (p *permute) encode(dst, src []byte) ([]byte, error) {
	out, room := extend(dst, len(src))
	p.run(room, src)
	return out, nil
}
