package codec

import "github.com/zarrfs/zarrfs/compress"

// base64 (numcodecs) writes bytes in RFC 4648's standard alphabet, with padding.
func init() { register("numcodecs.base64", bindBase64) }

func bindBase64(in state, _ config) (step, state, error) {
	out := in.compressed() // decoders accept line ends, so the size is not fixed
	out.limit = (in.limit+2)/3*4 + in.limit/32 + 256
	return step{move: compressor{compress.Base64{}}, enc: encodes{compress.Base64{}}}, out, nil
}
