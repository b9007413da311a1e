package codec

import "github.com/zarrfs/zarrfs/compress"

// lz4 as numcodecs writes it: the decoded size and one raw LZ4 block, not LZ4's frame format.
func init() { register("numcodecs.lz4", bytesToBytes, compressorBinder(compress.LZ4{})) }
