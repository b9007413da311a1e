package stat

import (
	"context"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
)

// leastLine is the bytes that the line of an element has at least: a digit, and the end of the
// line.
const leastLine = 2

// LeastLines returns the least size that the lines of an uncounted array may have; 0 if its shape
// is not known.
func LeastLines(m *meta.Array) int64 {
	items := *m
	items.Type.Size = leastLine
	grid, err := items.Grid()
	if err != nil {
		return 0
	}
	return grid.Size()
}

// Counted counts the elements of an array, to the end if toEnd is set. Otherwise ok reports whether
// that was done within wait. If it was not, found is the least that there may be. That is not 0,
// because tar does not open a file of size 0.
func Counted(
	ctx context.Context, arr *zarrcore.VlenArray, wait time.Duration, toEnd bool,
) (found zarrcore.Count, ok bool, err error) {
	if toEnd {
		found, err = arr.Count(ctx)
		return found, false, err
	}
	if found, ok = arr.CountWithin(ctx, wait); !ok {
		found = zarrcore.Count{Lines: leastLine * arr.Len(), Width: 1}
	}
	return found, ok, nil
}
