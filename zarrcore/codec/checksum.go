package codec

import "github.com/zarrfs/zarrfs/compress"

// checksum makes a compress.Checksum of four bytes a step.
type checksum struct{ compress.Checksum }

func (c checksum) decodeInPlace(buf []byte) ([]byte, error) { return c.Strip(buf) }

func checksumStep(c compress.Checksum, in state) (step, state, error) {
	return step{place: checksum{c}, enc: encodes{c}}, in.bytes(4), nil
}

// locatedBinder binds a checksum whose configuration may give its location: before or behind the
// bytes.
func locatedBinder(at func(compress.Location) compress.Checksum) binder {
	return func(in state, cfg config) (step, state, error) {
		where, err := cfg.oneOf("location", "", "start", "end")
		if err != nil {
			return step{}, in, err
		}
		locations := map[string]compress.Location{"": compress.Default, "start": compress.Start,
			"end": compress.End}
		return checksumStep(at(locations[where]), in)
	}
}
