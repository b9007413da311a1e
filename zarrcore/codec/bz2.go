package codec

import "github.com/zarrfs/zarrfs/compress"

// bz2 holds one or more bzip2 streams.
func init() { register("numcodecs.bz2", bindBZ2) }

var bindAnyBZ2 = compressorBinder(compress.BZ2{},
	leveled(1, 9, func(level int) compress.Encoder { return compress.BZ2{Level: level} }))

// bindBZ2 allows for what other compressors do not add: each block, of 100 kB at least, has up to
// six tables of 258 codes, and a code takes up to 39 bits there.
func bindBZ2(in state, cfg config) (step, state, error) {
	s, out, err := bindAnyBZ2(in, cfg)
	out.limit = in.limit + in.limit/8 + 8<<10
	return s, out, err
}
