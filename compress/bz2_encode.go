package compress

import (
	"fmt"
	"sync"

	"github.com/dsnet/compress/bzip2"
)

// bz2Encoder is an encoder with what it writes to, so that both are used again.
type bz2Encoder struct {
	out appender
	*bzip2.Writer
}

// bz2Encoders keep encoders by level: they are large.
var bz2Encoders [10]sync.Pool

// Encode implements Encoder.
func (b BZ2) Encode(dst, src []byte) ([]byte, error) {
	level := min(max(b.Level, 1), 9)
	e, ok := bz2Encoders[level].Get().(*bz2Encoder)
	if !ok {
		e = new(bz2Encoder)
		var err error
		if e.Writer, err = bzip2.NewWriter(&e.out, &bzip2.WriterConfig{Level: level}); err != nil {
			return dst, fmt.Errorf("bz2: %w", err)
		}
	}
	e.out.b = dst
	if err := e.Reset(&e.out); err != nil {
		return dst, fmt.Errorf("bz2: %w", err)
	}
	if err := writeAll(e, src); err != nil {
		return dst, fmt.Errorf("bz2: %w", err)
	}
	out := e.out.b
	e.out.b = nil
	bz2Encoders[level].Put(e)
	return out, nil
}
