package codec

import "github.com/zarrfs/zarrfs/compress"

// gzip (v3 core) holds one or more members of RFC 1952.
func init() {
	register("gzip", bytesToBytes, compressorBinder(compress.Gzip{}))
	register("numcodecs.gzip", bytesToBytes, compressorBinder(compress.Gzip{}))
}
