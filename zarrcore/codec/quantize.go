package codec

// quantize (numcodecs) rounded floats to some decimal digits. That is not undone: decoding only converts astype to dtype.
func init() { register("numcodecs.quantize", arrayToArray, bindQuantize) }

func bindQuantize(in state, cfg config) (step, state, error) {
	return bindCast(in, cfg, "dtype", "astype")
}
