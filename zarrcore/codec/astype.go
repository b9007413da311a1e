package codec

// astype (numcodecs) stores numbers of decode_dtype as encode_dtype.
func init() { register("numcodecs.astype", bindAsType) }

func bindAsType(in state, cfg config) (step, state, error) {
	if !cfg.get("encode_dtype").Exists() {
		return step{}, in, cfg.expected("encode_dtype", "a NumPy dtype")
	}
	return bindCast(in, cfg, "decode_dtype", "encode_dtype")
}

// bindCast binds a filter that does nothing but convert numbers.
func bindCast(in state, cfg config, dtypeKey, astypeKey string) (step, state, error) {
	p, out, err := bindPair(in, cfg, dtypeKey, astypeKey)
	if err != nil || p.to == p.from {
		return step{}, out, err
	}
	return filterStep(p, caster{p}, caster{p.back()}), out, nil
}

type caster struct{ pair }

func (c caster) compute(dst, src []byte) { cast(dst, src, c.to, c.from) }
