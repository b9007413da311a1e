package codec

import (
	"fmt"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
)

// Measure finds out how many bytes an object holds that may be shorter than the one that the chain
// is bound to: found of whole, where the codecs of bytes end. The object is not a shard.
func (c *Chain) Measure(src Source) (found, whole int64, err error) {
	if c.Sharded() {
		return 0, 0, fmt.Errorf("%w: a shard of another length than expected", compress.ErrCorrupt)
	}
	return c.chunk.measure(span{src, 0, src.Size()})
}

// measure is Measure.
func (p *pipeline) measure(s span) (found, whole int64, err error) {
	if s.n > p.encoded.limit+slack {
		return 0, 0, fmt.Errorf("%w: %d encoded bytes, expected at most %d", compress.ErrTooLarge, s.n, p.encoded.limit+slack)
	}
	w := work{left: p.moves}
	defer func() { w.release() }()
	buf := w.room(s.n)
	if err := s.read(buf, 0); err != nil {
		return 0, 0, err
	}
	whole = p.encoded.size
	for i := len(p.steps) - 1; i >= 0 && p.steps[i].ofBytes(); i-- {
		some := p.steps[i]
		some.size = unknown
		if buf, err = w.run(&some, buf); err != nil {
			return 0, 0, fmt.Errorf("codec %q: %w", some.name, err)
		}
		whole = p.steps[i].size
	}
	if whole == unknown {
		return 0, 0, fmt.Errorf("%w: what it holds has no known size", compress.ErrCorrupt)
	}
	return int64(len(buf)), whole, nil
}

// ofBytes reports whether the step's codec stands behind the one that makes bytes of the array.
func (s *step) ofBytes() bool {
	return meta.Codec{Name: s.name}.Kind() == meta.BytesToBytes
}
