package codec

import "github.com/zarrfs/zarrfs/compress"

// zstd (v3 extension) holds one or more frames of RFC 8878.
func init() {
	register("zstd", bytesToBytes, compressorBinder(compress.Zstd{}))
	register("numcodecs.zstd", bytesToBytes, compressorBinder(compress.Zstd{}))
}
