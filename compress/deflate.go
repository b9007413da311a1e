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

// deflateLevels are the library's levels for zlib's, from -1 on. Its levels 1 and 2 store what has
// few matches, as most numbers have, without entropy coding.
var deflateLevels = [11]int{6, 0, 3, 3, 3, 4, 5, 6, 7, 8, 9}

// A level says how hard to search for matches. In numbers there are often none to be found, and a
// hard search takes twice as long to find that out. So contents of trialFrom bytes and more are
// judged by a stretch of trialBytes in their middle: if an easier level makes it at most a
// hundredth longer, it is used.
const (
	trialFrom  = 512 << 10
	trialBytes = 64 << 10
)

// easiest is the library's level from which on contents are entropy coded.
const easiest = 3

// deflate appends src as one deflate stream (RFC 1951) to dst.
func deflate(dst, src []byte, level int) ([]byte, error) {
	level = deflateLevels[min(max(level, -1), 9)+1]
	if level > easiest && len(src) >= trialFrom {
		var err error
		if level, err = easierLevel(src[(len(src)-trialBytes)/2:][:trialBytes], level); err != nil {
			return dst, err
		}
	}
	return deflateAt(dst, src, level)
}

// trials lends memory to encodings that are only measured.
var trials = sync.Pool{New: func() any { return new([]byte) }}

// easierLevel returns the easiest of the library's levels that encodes sample nearly as short as
// the given one.
func easierLevel(sample []byte, level int) (int, error) {
	mem := trials.Get().(*[]byte)
	defer trials.Put(mem)
	var size [10]int
	for _, l := range []int{level, easiest, easiest + 1} {
		out, err := deflateAt((*mem)[:0], sample, l)
		if err != nil {
			return level, err
		}
		*mem, size[l] = out, len(out)
		if size[l] <= size[level]+size[level]/100 && l < level {
			return l, nil
		}
	}
	return level, nil
}

// deflateAt is deflate with one of the library's levels.
func deflateAt(dst, src []byte, level int) ([]byte, error) {
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
