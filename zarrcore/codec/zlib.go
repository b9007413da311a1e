package codec

import "github.com/zarrfs/zarrfs/compress"

// zlib holds one stream of RFC 1950.
func init() { register("numcodecs.zlib", bytesToBytes, compressorBinder(compress.Zlib{})) }
