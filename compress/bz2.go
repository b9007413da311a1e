package compress

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	"github.com/dsnet/compress/bzip2"
)

// BZ2 decodes one or more bzip2 streams, and encodes one.
type BZ2 struct {
	Level int // of encoding: 1 to 9 hundred thousand bytes are sorted at a time
}

// bz2Decoder is a decoder with the reader that it reads from, so that both are used again.
type bz2Decoder struct {
	src bytes.Reader
	*bzip2.Reader
}

var bz2Decoders = sync.Pool{New: func() any {
	d := new(bz2Decoder)
	d.Reader, _ = bzip2.NewReader(&d.src, nil) // it has no way to fail
	return d
}}

// Decode implements Decoder.
func (BZ2) Decode(dst, src []byte) (n int, err error) {
	d := bz2Decoders.Get().(*bz2Decoder)
	defer func() {
		// The library uses panics for its own errors and recovers them; a runtime error within is
		// one that a hostile input found.
		if p := recover(); p != nil {
			n, err = 0, corrupt("bz2 stream makes its decoder fail: %v", p)
			return
		}
		if err != nil {
			// the library's Reset keeps what was not read of a block, and would begin the next
			// stream with it
			return
		}
		d.src.Reset(nil)
		bz2Decoders.Put(d)
	}()
	d.src.Reset(src)
	if err := d.Reset(&d.src); err != nil {
		return 0, fmt.Errorf("bz2: %w", err)
	}
	return readAll(dst, d)
}

// readAll reads all of r into dst. One byte more than dst holds is ErrTooLarge, any error of r is
// ErrCorrupt.
func readAll(dst []byte, r io.Reader) (int, error) {
	n := 0
	for {
		var probe [1]byte
		room := dst[n:]
		if len(room) == 0 {
			room = probe[:]
		}
		k, err := r.Read(room)
		if n == len(dst) && k > 0 {
			return n, tooLarge("bz2", len(dst))
		}
		n += k
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, fmt.Errorf("%w: bz2 stream fails after %d of at most %d bytes: %w",
				ErrCorrupt, n, len(dst), err)
		}
	}
}
