package codec

import (
	"math"

	"github.com/zarrfs/zarrfs/compress"
)

// lz4 as numcodecs writes it: the decoded size and one raw LZ4 block, not LZ4's frame format.
func init() { register("numcodecs.lz4", compressorBinder(compress.LZ4{}, lz4Encoder)) }

func lz4Encoder(_ state, cfg config) (compress.Encoder, error) {
	acceleration, err := cfg.integer("acceleration", math.MinInt32, math.MaxInt32)
	return compress.LZ4{Acceleration: int(acceleration)}, err
}
