package codec

import "github.com/zarrfs/zarrfs/compress"

// bz2 holds one or more bzip2 streams.
func init() {
	at := leveled(1, 1, 9, func(level int) compress.Encoder { return compress.BZ2{Level: level} })
	register("numcodecs.bz2", bytesToBytes, compressorBinder(compress.BZ2{}, at))
}
