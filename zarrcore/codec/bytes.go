package codec

// The bytes codec writes elements one after the other. The views show an array in the byte order that its bytes codec
// stores (meta resolves it), so decoding has nothing to do. In v2 it only marks where the filters end.
func init() {
	register("bytes", arrayToBytes, bindBytes)
	register("endian", arrayToBytes, bindBytes) // its name in early v3 stores
}

func bindBytes(in state, cfg config) (step, state, error) {
	if _, err := cfg.oneOf("endian", "little", "little", "big"); err != nil {
		return step{}, in, err
	}
	out := in
	out.array = false
	return step{}, out, nil
}
