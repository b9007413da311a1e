package codec

import "github.com/zarrfs/zarrfs/compress"

// zlib holds one stream of RFC 1950.
func init() {
	at := leveled(-1, 9, func(level int) compress.Encoder { return compress.Zlib{Level: level} })
	register("numcodecs.zlib", compressorBinder(compress.Zlib{}, at))
}
