package codec

import "github.com/zarrfs/zarrfs/compress"

// gzip (v3 core) holds one or more members of RFC 1952.
func init() {
	at := leveled(-1, 9, func(level int) compress.Encoder { return compress.Gzip{Level: level} })
	register("gzip", compressorBinder(compress.Gzip{}, at))
	register("numcodecs.gzip", compressorBinder(compress.Gzip{}, at))
}
