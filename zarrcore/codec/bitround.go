package codec

// bitround zeroed the low bits of mantissas. There is nothing to undo: the numbers are stored as they are.
func init() {
	register("bitround", arrayToArray, bindNothing)
	register("numcodecs.bitround", arrayToArray, bindNothing)
}

func bindNothing(in state, _ config) (step, state, error) {
	return step{why: notEncoded("it is decoded only")}, in, nil
}
