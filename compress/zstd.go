package compress

import (
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Zstd decodes one or more Zstandard frames (RFC 8878), with or without content sizes, checksums and skippable frames between them.
type Zstd struct{}

// Windows are only limited by the format: nothing is allocated for them, as the window of a one-shot decoder is its destination.
const (
	zstdMaxWindow = 1<<41 + 7<<38
	zstdMaxMemory = 1 << 62
)

// zstdSpare is the room behind the destination that lets the library write whole words without checks: a block and some slack.
const zstdSpare = 128<<10 + 4096

// zstdDecoders keeps decoders without goroutines of their own, so one that the pool forgets is just garbage.
var zstdDecoders = sync.Pool{New: func() any {
	d, err := zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecodeAllCapLimit(true),
		zstd.WithDecoderMaxMemory(zstdMaxMemory),
		zstd.WithDecoderMaxWindow(zstdMaxWindow))
	if err != nil {
		return err
	}
	return d
}}

// Decode implements Decoder.
func (Zstd) Decode(dst, src []byte) (int, error) {
	if len(src) == 0 {
		return 0, corrupt("zstd object of 0 bytes, expected a frame")
	}
	decoder, ok := zstdDecoders.Get().(*zstd.Decoder)
	if !ok {
		return 0, errors.New("zstd: the library refuses our options")
	}
	defer zstdDecoders.Put(decoder)
	room := min(cap(dst), len(dst)+zstdSpare)
	out, err := decoder.DecodeAll(src, dst[:0:room])
	if len(out) > len(dst) || errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		return 0, tooLarge("zstd", len(dst))
	}
	if err != nil {
		return 0, fmt.Errorf("zstd: %w after %d of at most %d bytes: %w", ErrCorrupt, len(out), len(dst), err)
	}
	if len(out) > 0 && &out[0] != &dst[0] {
		copy(dst, out) // not known to happen: the library only grows destinations beyond their capacity
	}
	return len(out), nil
}
