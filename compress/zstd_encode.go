package compress

import (
	"sync"

	"github.com/klauspost/compress/zstd"

	own "github.com/zarrfs/zarrfs/compress/zstd"
)

// zstdKind says how an encoder is set up.
type zstdKind struct {
	level    zstd.EncoderLevel
	checksum bool
}

// zstdEncoders keep encoders by their kind: their tables are large.
var zstdEncoders [zstd.SpeedBestCompression + 1][2]sync.Pool

// Encode implements Encoder. Low levels are those of our own encoder; to higher ones, density
// matters more than speed.
func (z Zstd) Encode(dst, src []byte) ([]byte, error) {
	if z.Level <= own.MaxLevel && len(src) <= own.MaxSize {
		return own.Encode(dst, src, z.Level, z.Checksum), nil
	}
	kind := zstdKind{zstd.EncoderLevelFromZstd(z.level()), z.Checksum}
	pool := &zstdEncoders[kind.level][oneIf(z.Checksum)]
	e, ok := pool.Get().(*zstd.Encoder)
	if !ok {
		var err error
		if e, err = newZstdEncoder(kind); err != nil {
			return dst, err
		}
	}
	defer pool.Put(e)
	return e.EncodeAll(src, dst), nil
}

func (z Zstd) level() int {
	if z.Level == 0 {
		return 3
	}
	return z.Level
}

// zstdWindows are how far matches may reach: about what zstd takes. An encoder holds twice that for
// as long as it lives.
var zstdWindows = [...]int{
	zstd.SpeedFastest: 512 << 10, zstd.SpeedDefault: 1 << 20, zstd.SpeedBetterCompression: 2 << 20,
	zstd.SpeedBestCompression: 4 << 20,
}

// newZstdEncoder sets an encoder up. Literals are always entropy-coded: numbers have few matches,
// but far from even bytes.
func newZstdEncoder(kind zstdKind) (*zstd.Encoder, error) {
	return zstd.NewWriter(nil,
		zstd.WithEncoderLevel(kind.level), zstd.WithEncoderCRC(kind.checksum),
		zstd.WithEncoderConcurrency(1),
		zstd.WithAllLitEntropyCompression(true), zstd.WithZeroFrames(true),
		zstd.WithWindowSize(zstdWindows[kind.level]))
}

func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}
