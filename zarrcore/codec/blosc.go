package codec

import "github.com/zarrfs/zarrfs/compress/blosc"

// blosc (v3 core) holds one buffer of c-blosc 1. All that decoding needs is in the buffer's header, so none of the
// configuration matters. Alone behind the bytes codec, its blocks are decoded apart (part.go).
func init() {
	register(bloscName, bytesToBytes, compressorBinder(blosc.Decoder{}))
	register("numcodecs.blosc", bytesToBytes, compressorBinder(blosc.Decoder{}))
}

const bloscName = "blosc"
