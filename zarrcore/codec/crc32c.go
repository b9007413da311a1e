package codec

import "github.com/zarrfs/zarrfs/compress"

// crc32c (v3 core) stands behind the bytes, and needs no configuration; that of numcodecs may have
// another location.
func init() {
	register("crc32c", func(in state, _ config) (step, state, error) {
		return checksumStep(compress.CRC32C{}, in)
	})
	register("numcodecs.crc32c", locatedBinder(func(l compress.Location) compress.Checksum {
		return compress.CRC32C{Location: l}
	}))
}
