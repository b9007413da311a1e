package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
)

// This file is about drivers for which each call costs a round trip: several things in one request.
// Each optional interface has a function of the same name, which does with more calls what the
// driver cannot do at once. A driver that wraps another one implements the interfaces by these
// functions, and so hides no ability of the inner one.

var (
	// ErrChanged is returned for an object that does not have the version asked for, or no longer
	// has it. It can be opened again.
	ErrChanged = errors.New("store: the object has changed")

	// ErrUnchanged is returned for an object that still has the known version.
	ErrUnchanged = errors.New("store: the object has not changed")
)

// All, as Want.N, is every byte from Want.Off on.
const All = math.MaxInt64

// Want says which bytes the reader of an object asks for at once. They come with the object, so
// that ReadAt of them takes no other request. It is about cost only: a driver may bring more bytes
// or fewer, and all of the object can be read.
type Want struct {
	Off     int64  // where they begin; below 0 it counts from the object's end
	N       int64  // how many; there may be fewer. With 0 only size and Info are wanted
	Version string // Info.Version that the object must have, otherwise ErrChanged; "" is any
	Unless  string // Info.Version of which nothing is wanted: it is ErrUnchanged; "" is of none
}

// Range returns the stretch [lo, hi) of an object of size bytes that is wanted.
func (w Want) Range(size int64) (lo, hi int64) {
	lo = w.Off
	if lo < 0 {
		lo = max(0, size+lo)
	}
	lo = min(lo, size)
	return lo, lo + min(max(w.N, 0), size-lo)
}

// Opener is a Driver that opens an object and brings some of its bytes in one request. It is
// optional.
type Opener interface {
	// OpenFor is Open with the bytes that are wanted. They are in memory until the object is
	// closed.
	OpenFor(ctx context.Context, key string, w Want) (Object, error)
}

// OpenFor opens the object at key of d, for the bytes that are wanted; see Opener.
func OpenFor(ctx context.Context, d Driver, key string, w Want) (Object, error) {
	o, err := openFor(ctx, d, key, w)
	if err == nil && w.Unless != "" && o.Info().Version == w.Unless {
		o.Close()
		return nil, ErrUnchanged
	}
	return o, err
}

func openFor(ctx context.Context, d Driver, key string, w Want) (Object, error) {
	if o, ok := d.(Opener); ok {
		return o.OpenFor(ctx, key, w)
	}
	o, err := d.Open(ctx, key)
	if err == nil && w.Version != "" && o.Info().Version != w.Version {
		o.Close()
		return nil, ErrChanged
	}
	return o, err
}

// Span is a stretch of an object and the memory for its bytes.
type Span struct {
	Off int64
	P   []byte
}

// RangeReader is an Object that reads several stretches in fewer round trips than one after the
// other takes. It is optional.
type RangeReader interface {
	// ReadRanges fills all spans, or fails: with io.ErrUnexpectedEOF where the object ends before.
	// Spans may overlap and come in any order. All bytes are of the version that was opened,
	// otherwise it is ErrChanged.
	ReadRanges(ctx context.Context, spans []Span) error
}

// ReadRanges reads several stretches of an object; see RangeReader.
func ReadRanges(ctx context.Context, o Object, spans []Span) error {
	if r, ok := o.(RangeReader); ok {
		return r.ReadRanges(ctx, spans)
	}
	for _, s := range spans {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := o.ReadAt(s.P, s.Off)
		switch {
		case n == len(s.P):
		case err == io.EOF || err == nil:
			return fmt.Errorf("expected %d bytes at offset %d, found %d: %w", len(s.P), s.Off, n,
				io.ErrUnexpectedEOF)
		default:
			return err
		}
	}
	return nil
}

// ReadInside is ReadAt of an object of size bytes, as io.ReaderAt says. Function read fills what
// lies in the object.
func ReadInside(p []byte, off, size int64, read func(inside []byte) error) (int, error) {
	if off < 0 {
		return 0, fmt.Errorf("offset %d is negative: %w", off, fs.ErrInvalid)
	}
	inside := p[:min(int64(len(p)), max(0, size-off))]
	if err := read(inside); err != nil {
		return 0, err
	}
	if len(inside) < len(p) {
		return len(inside), io.EOF
	}
	return len(p), nil
}

// CheckInside returns an error, which is io.ErrUnexpectedEOF, unless all spans lie in an object of
// size bytes.
func CheckInside(spans []Span, size int64) error {
	for _, s := range spans {
		if s.Off < 0 || s.Off > size-int64(len(s.P)) {
			return fmt.Errorf("expected %d bytes at offset %d of an object of %d: %w",
				len(s.P), s.Off, size, io.ErrUnexpectedEOF)
		}
	}
	return nil
}

// Getter is a Driver that reads a small object only if it has changed, in one request. It is
// optional.
type Getter interface {
	// GetIf returns the whole object at key, or ErrUnchanged if it has that version. With version
	// "" it always returns it. More than limit bytes are ErrTooLarge.
	GetIf(ctx context.Context, key, version string, limit int64) ([]byte, Info, error)
}

// GetIf reads an object of d if it has changed; see Getter.
func GetIf(ctx context.Context, d Driver, key, version string, limit int64) ([]byte, Info, error) {
	if g, ok := d.(Getter); ok {
		return g.GetIf(ctx, key, version, limit)
	}
	o, err := OpenFor(ctx, d, key, Want{N: limit})
	if err != nil {
		return nil, Info{}, err
	}
	defer o.Close()
	info := o.Info()
	if version != "" && info.Version == version {
		return nil, Info{}, ErrUnchanged
	}
	if owned, ok := o.(Owned); ok {
		info.Rights = owned.Rights()
	}
	data, err := readAll(o, limit)
	return data, info, err
}

// Walker is a Driver that lists all objects below a directory in fewer requests than one for each
// directory. It is optional.
type Walker interface {
	// Walk calls yield for each object below dir, in no order, with its key and what Stat says of
	// it, except its rights. Its errors are those of List.
	Walk(ctx context.Context, dir string, yield func(key string, info Info) error) error
}
