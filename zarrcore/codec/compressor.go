package codec

import "github.com/zarrfs/zarrfs/compress"

// compressor makes a compress.Decoder, which keeps to the limit of the memory it is given, a step.
type compressor struct{ compress.Decoder }

func (c compressor) decode(dst, src []byte) (int, error) { return c.Decode(dst, src) }

// compressorBinder binds a decoder that needs no configuration: levels matter to encoding only.
func compressorBinder(d compress.Decoder) binder {
	return func(in state, _ config) (step, state, error) {
		return step{move: compressor{d}}, in.compressed(), nil
	}
}
