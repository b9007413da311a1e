package compress

import (
	"sync"

	"github.com/klauspost/compress/flate"
)

// deflater is a deflate encoder with what it writes to, so that both are used again.
type deflater struct {
	out appender
	*flate.Writer
}

// deflaters keep encoders by level, from -1 on: they are large.
var deflaters [11]sync.Pool

// deflateLevels are the library's levels for zlib's, from -1 on. Its levels 1 and 2 store what has few matches, as most numbers have,
// without entropy coding.
var deflateLevels = [11]int{6, 0, 3, 3, 3, 4, 5, 6, 7, 8, 9}

// deflate appends src as one deflate stream (RFC 1951) to dst.
func deflate(dst, src []byte, level int) ([]byte, error) {
	level = deflateLevels[min(max(level, -1), 9)+1]
	pool := &deflaters[level+1]
	d, ok := pool.Get().(*deflater)
	if !ok {
		var err error
		d = new(deflater)
		if d.Writer, err = flate.NewWriter(&d.out, level); err != nil {
			return dst, err
		}
	}
	defer pool.Put(d)
	d.out.b = dst
	defer func() { d.out.b = nil }()
	d.Reset(&d.out)
	if _, err := d.Write(src); err != nil {
		return dst, err
	}
	if err := d.Close(); err != nil {
		return dst, err
	}
	return d.out.b, nil
}
