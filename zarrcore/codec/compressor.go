package codec

import "github.com/zarrfs/zarrfs/compress"

// compressor makes a compress.Decoder, which keeps to the limit of the memory it is given, a step.
type compressor struct{ compress.Decoder }

func (c compressor) decode(dst, src []byte) (int, error) { return c.Decode(dst, src) }

// An encoderMaker makes the encoder that a configuration describes. After an error the array can
// still be read, because the configuration of a compressor matters to encoding only.
type encoderMaker func(in state, cfg config) (compress.Encoder, error)

// compressorBinder binds a decoder that needs no configuration.
func compressorBinder(d compress.Decoder, m encoderMaker) binder {
	return func(in state, cfg config) (step, state, error) {
		s := step{move: compressor{d}}
		e, err := m(in, cfg)
		if err != nil {
			s.why = err
		} else {
			s.enc = encodes{e}
		}
		return s, in.compressed(), nil
	}
}

// leveled is the encoderMaker of a compressor whose only parameter is a level, from lo to hi.
func leveled(lo, hi int64, at func(level int) compress.Encoder) encoderMaker {
	return func(_ state, cfg config) (compress.Encoder, error) {
		level, err := cfg.integer("level", lo, hi)
		return at(int(level)), err
	}
}
