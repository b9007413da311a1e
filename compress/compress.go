// Package compress turns encoded objects into bytes and back: compressors and checksums, in the
// wire formats that Zarr and numcodecs use. It knows nothing of arrays. The caller always knows how
// many bytes to expect, so every decoder is one-shot and bounded by its destination.
package compress

import (
	"errors"
	"fmt"

	"github.com/zarrfs/zarrfs/compress/inflate"
)

// ErrCorrupt says that an object is not what an encoder wrote: malformed, truncated, or with a
// wrong checksum. It is wrapped with what was expected and found.
var ErrCorrupt = inflate.ErrCorrupt

// ErrTooLarge says that an object decodes to more bytes than the destination holds.
var ErrTooLarge = inflate.ErrTooLarge

// Decoder decodes whole objects. It is safe for concurrent use.
type Decoder interface {
	// Decode decodes all of src into dst and returns the bytes written. len(dst) is the exact
	// limit: more output is ErrTooLarge, and never makes Decode allocate more. Bytes of dst between
	// len and cap may be scribbled on: Zstd is a little faster with 32 of them.
	Decode(dst, src []byte) (int, error)
}

// Encoder encodes whole objects. It is safe for concurrent use.
type Encoder interface {
	// Encode appends the encoding of src, which it does not change, to dst.
	Encode(dst, src []byte) ([]byte, error)
}

// appender is an io.Writer that appends to its bytes.
type appender struct{ b []byte }

func (a *appender) Write(p []byte) (int, error) {
	a.b = append(a.b, p...)
	return len(p), nil
}

// corrupt returns an ErrCorrupt with what is wrong.
func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
}

// tooLarge returns an ErrTooLarge for a codec and its limit.
func tooLarge(codec string, limit int) error {
	return fmt.Errorf("%w: %s object decodes to more than %d bytes", ErrTooLarge, codec, limit)
}

// unsupported returns an errors.ErrUnsupported that names what is.
func unsupported(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errors.ErrUnsupported, fmt.Sprintf(format, args...))
}

// Guard turns a panic of a decoder into an error that wraps ErrCorrupt. Such a panic would be a
// bug, but a hostile chunk may reach it.
func Guard(decode func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: decoder failed: %v", ErrCorrupt, r)
		}
	}()
	return decode()
}
