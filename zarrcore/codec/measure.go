package codec

import (
	"encoding/binary"
	"fmt"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
)

// This file measures objects along axis 0, in arrays whose objects end at the array's end. A killed
// process may have left an object longer than the document says. The length of an object follows
// from its bytes, or from its index if it is a shard. Chunks and index fill the shard exactly. They
// do so with one number of entries only, because each further entry takes 16 bytes.

// Check returns compress.ErrCorrupt for a shard whose index is for another number of chunks than
// the chain expects. The chain is sharded.
func (c *Chain) Check(src Source) error {
	_, err := c.levels[0].index.find(span{src, 0, src.Size()})
	return err
}

// Measure finds out how much an object holds. It may have another length than the chain is bound
// to, and Whole is what one of that length holds. Objects that are not sharded must hold no more.
func (c *Chain) Measure(src Source) (found int64, err error) {
	s := span{src, 0, src.Size()}
	if c.IsSharded() {
		return c.levels[0].index.measure(s)
	}
	return c.chunk.measure(s)
}

// Whole is what an object holds: the bytes where the codecs of bytes end, or the chunks of a
// shard. It is negative where that is not known.
func (c *Chain) Whole() int64 {
	if c.IsSharded() {
		return c.levels[0].index.n
	}
	i, shard := c.chunk.arrayEnd()
	switch {
	case shard != nil:
		return shard.index.n
	case i < len(c.chunk.steps):
		return c.chunk.steps[i].size
	}
	return c.chunk.encoded.size
}

// arrayEnd returns where the steps of the codecs of bytes begin, and the shard before them, if any.
func (p *pipeline) arrayEnd() (i int, shard *wholeShard) {
	for i = len(p.steps); i > 0 && p.steps[i-1].isOfBytes(); {
		i--
	}
	if i > 0 {
		shard, _ = p.steps[i-1].move.(*wholeShard)
	}
	return i, shard
}

// measure is Measure.
func (p *pipeline) measure(s span) (found int64, err error) {
	if s.n > p.encoded.limit+slack {
		return 0, fmt.Errorf("%w: %d encoded bytes, expected at most %d",
			compress.ErrTooLarge, s.n, p.encoded.limit+slack)
	}
	end, shard := p.arrayEnd()
	if end == len(p.steps) && shard == nil {
		return s.n, nil
	}
	w := work{left: p.moves}
	defer func() { w.release() }()
	buf := w.room(s.n)
	if err := s.read(buf, 0); err != nil {
		return 0, err
	}
	for i := len(p.steps) - 1; i >= end; i-- {
		some := p.steps[i]
		some.size = unknown
		if buf, err = w.run(&some, buf); err != nil {
			return 0, fmt.Errorf("codec %q: %w", some.name, err)
		}
	}
	if shard != nil {
		return shard.index.measure(span{memory(buf), 0, int64(len(buf))})
	}
	return int64(len(buf)), nil
}

// isOfBytes reports whether the step's codec turns bytes into bytes.
func (s *step) isOfBytes() bool {
	return meta.Codec{Name: s.name}.Kind() == meta.BytesToBytes
}

// measure returns for how many chunks the index of a shard is.
func (r *indexReader) measure(shard span) (int64, error) {
	room := shard.n - (r.codecs.encoded.size - 16*r.n) // without a checksum
	raw := make([]byte, max(0, min(room, maxIndex))/16*16)
	at := int64(0)
	if !r.atStart {
		at = max(0, room-int64(len(raw)))
	}
	if err := shard.read(raw, at); err != nil {
		return 0, err
	}
	chunks := int64(0)
	for n := int64(1); 16*n <= int64(len(raw)) && chunks <= room; n++ {
		entry := raw[16*(n-1):]
		if !r.atStart {
			entry = raw[int64(len(raw))-16*n:]
		}
		if chunks = r.entry(entry).added(chunks, room); chunks+16*n == room {
			return n, nil
		}
	}
	return 0, fmt.Errorf("%w: the shard has no index of any number of chunks", compress.ErrCorrupt)
}

// entry returns an entry as it stands in an index.
func (r *indexReader) entry(b []byte) indexEntry {
	if r.big {
		return indexEntry{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])}
	}
	return indexEntry{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])}
}
