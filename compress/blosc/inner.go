package blosc

import (
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/snappy"
	"github.com/pierrec/lz4/v4"

	"github.com/zarrfs/zarrfs/compress"
)

// lz4Acceleration is c-blosc's.
func lz4Acceleration(level int) int { return 10 - level }

// encodeStream compresses src into dst, which is shorter, and returns the length; 0 if dst is too
// short.
func (e Encoder) encodeStream(dst, src []byte) (int, error) {
	switch e.Inner {
	case BloscLZ:
		return encodeBloscLZ(dst, src, e.Level), nil
	case LZ4:
		return compress.EncodeLZ4Stream(dst, src, lz4Acceleration(e.Level)), nil
	case LZ4HC:
		return encodeLZ4HC(dst, src, e.Level)
	}
	mem := streams.Get().(*[]byte)
	defer streams.Put(mem)
	out, err := e.appendStream((*mem)[:0], src)
	if err != nil {
		return 0, err
	}
	*mem = out
	if len(out) > len(dst) {
		return 0, nil
	}
	return copy(dst, out), nil
}

// streams lends memory to compressors that know no limit.
var streams = sync.Pool{New: func() any { return new([]byte) }}

// appendStream compresses src by a compressor that knows no limit.
func (e Encoder) appendStream(dst, src []byte) ([]byte, error) {
	switch e.Inner {
	case Snappy:
		return snappy.Encode(dst[:cap(dst)], src), nil
	case Zlib:
		return compress.Zlib{Level: e.Level}.Encode(dst, src)
	case Zstd:
		return compress.Zstd{Level: zstdLevels[e.Level]}.Encode(dst, src)
	}
	return dst, errors.New("blosc: no such inner compressor")
}

// zstdLevels are zstd's levels for blosc's. That of blosc's 3 would be 5, but is 3: of blocks of
// bits, zstd.Encode makes less at 3, and sooner, than the encoder of higher levels.
var zstdLevels = [10]int{1, 1, 3, 3, 7, 9, 11, 13, 20, 22}

// lz4hcEncoders keeps encoders for their tables, 384 KiB each.
var lz4hcEncoders = sync.Pool{New: func() any { return new(lz4.CompressorHC) }}

// lz4hcDepths are how many candidates for a match are tried at each level, as in LZ4_compress_HC.
var lz4hcDepths = [10]lz4.CompressionLevel{4, 4, 4, 4, 8, 16, 32, 64, 128, 256}

func encodeLZ4HC(dst, src []byte, level int) (int, error) {
	e := lz4hcEncoders.Get().(*lz4.CompressorHC)
	defer lz4hcEncoders.Put(e)
	e.Level = lz4hcDepths[level]
	n, err := e.CompressBlock(src, dst)
	if errors.Is(err, lz4.ErrInvalidSourceShortBuffer) {
		return 0, nil
	}
	return n, err
}

// decodeStream decodes one stream, which must fill dst.
func (h Header) decodeStream(dst, src []byte) error {
	if len(src) == len(dst) { // did not get shorter, so is stored
		copy(dst, src)
		return nil
	}
	var n int
	var err error
	switch h.codec() {
	case codecBloscLZ:
		n, err = decodeBloscLZ(dst, src)
	case codecLZ4:
		n, err = lz4.UncompressBlock(src, dst[:len(dst):len(dst)])
	case codecSnappy:
		n, err = decodeSnappy(dst, src)
	case codecZlib:
		n, err = compress.Zlib{}.Decode(dst, src)
	case codecZstd:
		n, err = compress.Zstd{}.Decode(dst, src)
	default:
		err = errors.New("no such inner codec")
	}
	if err != nil {
		return fmt.Errorf("%d bytes do not decode to %d: %w", len(src), len(dst), err)
	}
	if n != len(dst) {
		return fmt.Errorf("%d bytes decode to %d, expected %d", len(src), n, len(dst))
	}
	return nil
}

// decodeSnappy asks for the length first: the library would allocate what does
// not fit.
func decodeSnappy(dst, src []byte) (int, error) {
	n, err := snappy.DecodedLen(src)
	if err != nil || n != len(dst) {
		return n, err
	}
	out, err := snappy.Decode(dst[:n:n], src)
	return len(out), err
}
