package codec

import "github.com/zarrfs/zarrfs/compress"

// fletcher32 (numcodecs) is HDF5's checksum, behind the bytes.
func init() {
	register("numcodecs.fletcher32", func(in state, _ config) (step, state, error) {
		return checksumStep(compress.Fletcher32{}, in)
	})
}
