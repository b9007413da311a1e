package codec

import "github.com/zarrfs/zarrfs/compress"

// crc32 (numcodecs) is zlib's CRC, before the bytes unless its location says otherwise.
func init() {
	register("numcodecs.crc32", locatedBinder(func(l compress.Location) compress.Checksum {
		return compress.CRC32{Location: l}
	}))
}
