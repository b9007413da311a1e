package codec

import (
	"math"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/compress/blosc"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// blosc (v3 core) holds one buffer of c-blosc 1. All that decoding needs is in the buffer's header,
// so none of the configuration matters to it. Alone behind the bytes codec, its blocks are decoded
// apart (part.go).
func init() {
	register(bloscName, compressorBinder(blosc.Decoder{}, bloscEncoder))
	register("numcodecs.blosc", compressorBinder(blosc.Decoder{}, bloscEncoder))
}

const bloscName = "blosc"

// bloscEncoder reads a configuration of v3's blosc or of numcodecs' blosc. numcodecs takes the size
// of an element from what it encodes.
func bloscEncoder(in state, cfg config) (compress.Encoder, error) {
	name, err := cfg.oneOf("cname", "", meta.BloscNames...)
	if err != nil {
		return nil, err
	}
	e := blosc.Encoder{Inner: bloscInner[name]}
	if e.Shuffle, err = cfg.bloscShuffle(); err != nil {
		return nil, err
	}
	level, err := cfg.integer("clevel", 0, 9)
	if err != nil {
		return nil, err
	}
	blockSize, err := cfg.integer("blocksize", 0, math.MaxInt32)
	if err != nil {
		return nil, err
	}
	typeSize, err := cfg.integerOr("typesize", min(in.item(), math.MaxInt32), 1, math.MaxInt32)
	e.Level, e.BlockSize, e.TypeSize = int(level), int(blockSize), int(typeSize)
	return e, err
}

// bloscInner has each of meta.BloscNames.
var bloscInner = map[string]blosc.Inner{
	"blosclz": blosc.BloscLZ, "lz4": blosc.LZ4, "lz4hc": blosc.LZ4HC, "snappy": blosc.Snappy,
	"zlib": blosc.Zlib, "zstd": blosc.Zstd,
}

// bloscShuffle reads a shuffle, which is a number in v2 and a word in v3.
func (c config) bloscShuffle() (blosc.Shuffle, error) {
	if c.get("shuffle").Kind() == pyjson.Number {
		n, err := c.integer("shuffle", -1, 2)
		return blosc.Shuffle(n), err
	}
	words := map[string]blosc.Shuffle{
		"auto": blosc.AutoShuffle, "noshuffle": blosc.NoShuffle, "shuffle": blosc.ByteShuffle,
		"bitshuffle": blosc.BitShuffle,
	}
	word, err := c.oneOf("shuffle", "", "noshuffle", "shuffle", "bitshuffle", "auto")
	return words[word], err
}
