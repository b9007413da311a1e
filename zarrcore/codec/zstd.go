package codec

import (
	"math"

	"github.com/zarrfs/zarrfs/compress"
)

// zstd (v3 extension) holds one or more frames of RFC 8878.
func init() {
	register("zstd", compressorBinder(compress.Zstd{}, zstdEncoder))
	register("numcodecs.zstd", compressorBinder(compress.Zstd{}, zstdEncoder))
}

// zstdEncoder reads a level of any size, as zstd does.
func zstdEncoder(_ state, cfg config) (compress.Encoder, error) {
	level, err := cfg.integer("level", math.MinInt32, math.MaxInt32)
	if err != nil {
		return nil, err
	}
	checksum, err := cfg.boolean("checksum")
	return compress.Zstd{Level: int(level), Checksum: checksum}, err
}
