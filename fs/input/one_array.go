package input

import (
	"context"
	"fmt"
	iofs "io/fs"

	"github.com/zarrfs/zarrfs/layout/npy"
)

// OneArray passes on what is written to the array of a .npy file, but no second .npy file behind
// its end. A plain file may hold several arrays, one after the other. Here the next header would
// become rows.
type OneArray struct {
	Array interface {
		ArrayWriter
		Size() int64
	}
}

// WriteAt implements ArrayWriter. It writes what comes before a second header.
func (o OneArray) WriteAt(ctx context.Context, p []byte, off int64) (n int, err error) {
	at := o.Array.Size() - off
	if at < 0 || at >= int64(len(p)) || !npy.Begins(p[at:]) {
		return o.Array.WriteAt(ctx, p, off)
	}
	if at > 0 {
		if n, err = o.Array.WriteAt(ctx, p[:at], off); err != nil {
			return n, err
		}
	}
	return n, fmt.Errorf("%w: expected one array, found the header of a second one behind it; "+
		"save each array to a file of its own", iofs.ErrInvalid)
}
