package codec

import "github.com/zarrfs/zarrfs/compress"

// adler32 (numcodecs) is zlib's checksum, before the bytes unless its location says otherwise.
func init() {
	register("numcodecs.adler32", locatedBinder(func(l compress.Location) compress.Checksum {
		return compress.Adler32{Location: l}
	}))
}
