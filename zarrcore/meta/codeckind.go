package meta

import "slices"

// CodecKind is a codec's place in a chain: arrays become arrays, then once bytes, then bytes become other bytes.
type CodecKind uint8

// The kinds of codecs.
const (
	ArrayToArray CodecKind = iota
	ArrayToBytes
	BytesToBytes
)

// arrayCodecs and serializers are the names of the codecs that are given arrays. All others are given bytes.
var (
	arrayCodecs = []string{"transpose", "reshape", "zarrs.squeeze", "bitround", "scale_offset", "cast_value",
		"numcodecs.astype", "numcodecs.bitround", "numcodecs.categorize", "numcodecs.delta", "numcodecs.fixedscaleoffset",
		"numcodecs.packbits", "numcodecs.quantize"}
	serializers = []string{"bytes", "endian", "sharding_indexed", "packbits", "vlen-utf8", "vlen-bytes", "vlen-array", "zfp",
		"numcodecs.vlen-utf8", "numcodecs.vlen-bytes", "numcodecs.vlen-array", "numcodecs.json2", "numcodecs.json",
		"numcodecs.zfpy", "numcodecs.pcodec", "n5_default"}
)

// Kind returns the kind of codec, by its name.
func (c Codec) Kind() CodecKind {
	switch {
	case slices.Contains(arrayCodecs, c.Name):
		return ArrayToArray
	case slices.Contains(serializers, c.Name):
		return ArrayToBytes
	}
	return BytesToBytes
}
