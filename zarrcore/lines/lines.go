// Package lines shows an array whose elements have no fixed size as lines of JSON, or as strings of
// one width. It also takes what programs write of such an array. It knows where each line is; it
// does not know where elements are stored.
package lines

import (
	"context"
	"errors"

	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/zarrcore/vlen"
)

// Source is an array as it was when it was opened. All methods may be called concurrently.
type Source interface {
	// Grid numbers the chunks. It counts elements where the grids of other arrays count bytes.
	Grid() *layout.Grid
	// Fill has the fill value as its one element.
	Fill() *vlen.Elements
	// Elements returns a decoded chunk; nil if it is not stored.
	Elements(ctx context.Context, chunk int64) (*vlen.Elements, error)
	// Prefetch begins to decode a chunk that Elements will be asked for soon.
	Prefetch(ctx context.Context, chunk int64)
	// Accepts returns why an element cannot be stored; nil if it can.
	Accepts(element []byte) error
}

// ErrChanged says that the array's objects have changed since it was opened, so that its lines are
// no longer where they were.
var ErrChanged = errors.New("the array has changed since it was opened")

// ErrRange says that an offset, or a width of strings, is negative.
var ErrRange = errors.New("outside the array")
