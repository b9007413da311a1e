package codec

import "github.com/zarrfs/zarrfs/zarrcore/dtype"

// The bytes codec writes elements one after the other. The views show an array in the byte order
// that its bytes codec stores (meta resolves it). So decoding only extends narrow integers, whose
// upper bits are arbitrary where they are stored. In v2 it only marks where the filters end.
func init() {
	register("bytes", bindBytes)
	register("endian", bindBytes) // its name in early v3 stores
}

func bindBytes(in state, cfg config) (step, state, error) {
	if _, err := cfg.oneOf("endian", "little", "little", "big"); err != nil {
		return step{}, in, err
	}
	out := in
	out.array = false
	if in.typ.HasNarrow() {
		return step{place: widening{in.typ}, enc: widening{in.typ}}, out, nil
	}
	return step{}, out, nil
}

// widening extends the narrow integers of a chunk of the type to their bytes, both ways.
type widening struct{ dtype.Type }

func (w widening) decodeInPlace(buf []byte) ([]byte, error) {
	w.Widen(buf, 0)
	return buf, nil
}

func (w widening) encode(dst, src []byte) ([]byte, error) {
	out, room := extend(dst, len(src))
	copy(room, src)
	w.Widen(room, 0)
	return out, nil
}
