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

// bloscEncoder reads a configuration of v3's blosc, or in v2 of numcodecs' blosc. The two have
// different defaults.
func bloscEncoder(in state, cfg config) (compress.Encoder, error) {
	e := blosc.Encoder{TypeSize: int(min(in.item(), math.MaxInt32))}
	name := "zstd"
	if in.v2 {
		name, e.Shuffle = "lz4", blosc.ByteShuffle
	} else {
		e.Shuffle = blosc.AutoShuffle
	}
	name, err := cfg.oneOf("cname", name, meta.BloscNames...)
	if err != nil {
		return nil, err
	}
	e.Inner = bloscInner[name]
	level, err := cfg.integer("clevel", 5, 0, 9)
	if err != nil {
		return nil, err
	}
	e.Level = int(level)
	if e.Shuffle, err = cfg.bloscShuffle(e.Shuffle); err != nil {
		return nil, err
	}
	blockSize, err := cfg.integer("blocksize", 0, 0, math.MaxInt32)
	if err != nil {
		return nil, err
	}
	e.BlockSize = int(blockSize)
	typeSize, err := cfg.integer("typesize", int64(e.TypeSize), 1, math.MaxInt32)
	e.TypeSize = int(typeSize)
	return e, err
}

// bloscInner has each of meta.BloscNames.
var bloscInner = map[string]blosc.Inner{
	"blosclz": blosc.BloscLZ, "lz4": blosc.LZ4, "lz4hc": blosc.LZ4HC, "snappy": blosc.Snappy,
	"zlib": blosc.Zlib, "zstd": blosc.Zstd,
}

// bloscShuffle reads a shuffle, which is a number in v2 and a word in v3.
func (c config) bloscShuffle(missing blosc.Shuffle) (blosc.Shuffle, error) {
	if c.get("shuffle").Kind() == pyjson.Number {
		n, err := c.integer("shuffle", 0, -1, 2)
		return blosc.Shuffle(n), err
	}
	words := map[string]blosc.Shuffle{
		"auto": blosc.AutoShuffle, "noshuffle": blosc.NoShuffle, "shuffle": blosc.ByteShuffle,
		"bitshuffle": blosc.BitShuffle, "": missing,
	}
	word, err := c.oneOf("shuffle", "", "noshuffle", "shuffle", "bitshuffle", "auto")
	return words[word], err
}
