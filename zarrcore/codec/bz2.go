package codec

import "github.com/zarrfs/zarrfs/compress"

// bz2 holds one or more bzip2 streams.
func init() { register("numcodecs.bz2", bytesToBytes, compressorBinder(compress.BZ2{}, unwritten)) }
