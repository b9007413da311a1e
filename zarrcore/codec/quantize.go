package codec

// quantize (numcodecs) rounded floats to some decimal digits. That is not undone: decoding only converts astype to dtype.
func init() { register("numcodecs.quantize", arrayToArray, bindQuantize) }

func bindQuantize(in state, cfg config) (step, state, error) {
	s, out, err := bindCast(in, cfg, "dtype", "astype")
	s.why = notEncoded("it is decoded only")
	return s, out, err
}
