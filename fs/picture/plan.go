// Package picture draws what an array holds as a PNG image: a plane of it in grey, or one axis as a
// curve, with a caption. Which size the file has follows from the array's shape alone, so that a
// listing needs no picture: the pixels are not compressed. It reads no store.
package picture

import (
	"slices"
	"strings"

	"github.com/zarrfs/zarrfs/layout"
)

const (
	// most is how many pixels a picture has at most along each side, caption included.
	most = 1024
	// planeMost is that of the plane alone.
	planeMost = 960
	// least is how many pixels a plane has at least along its longer side, if it has any.
	least = 320
	// curveHeight is the height of a curve, in pixels.
	curveHeight = 240
	// captionHeight is that of three lines of text.
	captionHeight = 3*lineHeight + 6
	lineHeight    = 14
)

// Plan says which elements of an array are drawn, and where.
type Plan struct {
	shape  []int64
	y, x   int   // the axes of the plane; y < 0: a curve along x; both < 0: no axes
	stride int64 // from one sample to the next, along both axes
	rows   int   // samples, top to bottom
	cols   int
	factor int // pixels of each sample, along both axes
	empty  bool
}

// NewPlan returns how an array of that shape is drawn. names are those of its axes, or nil.
func NewPlan(shape []int64, names []string) Plan {
	p := Plan{shape: shape, y: len(shape) - 2, x: len(shape) - 1, stride: 1, rows: 1, cols: 1,
		factor: 1}
	y, x := axisNamed(names, "y", "lat", "latitude"), axisNamed(names, "x", "lon", "longitude")
	if y >= 0 && x >= 0 && max(y, x) < len(shape) {
		p.y, p.x = y, x
	}
	if p.empty = slices.Contains(shape, 0); p.empty || len(shape) == 0 {
		p.y, p.x = -1, -1
		return p
	}
	if p.y < 0 {
		p.cols = int(min(shape[p.x], planeMost))
		p.stride = shape[p.x] / int64(p.cols)
		return p
	}
	longer := max(shape[p.y], shape[p.x])
	p.stride = (longer-1)/planeMost + 1
	p.rows, p.cols = samples(shape[p.y], p.stride), samples(shape[p.x], p.stride)
	p.factor = max(1, least/max(p.rows, p.cols))
	return p
}

// samples returns how many of n indexes are drawn, stride apart. A narrow plane stays visible.
func samples(n, stride int64) int { return int((n-1)/stride + 1) }

// axisNamed returns the axis that has one of these names, -1 if there is no such axis.
func axisNamed(names []string, among ...string) int {
	return slices.IndexFunc(names, func(name string) bool {
		return slices.Contains(among, strings.ToLower(name))
	})
}

// Along returns the indexes to draw of an array of the given shape: of the array itself, or of
// another resolution of it. They reach from one end to the other, and may be more than there are
// pixels. An axis that is not drawn has only the index in its middle.
func (p Plan) Along(shape []int64) []layout.Indexes {
	along := make([]layout.Indexes, len(shape))
	for i, n := range shape {
		along[i] = layout.Indexes{Start: n / 2, Step: 1, Count: min(n, 1)}
	}
	for _, axis := range []int{p.y, p.x} {
		if axis < 0 {
			continue
		}
		n := shape[axis]
		scale := float64(n) / float64(p.shape[axis])
		step := max(1, int64(scale*float64(p.stride)))
		along[axis] = layout.Indexes{Step: step, Count: (n-1)/step + 1}
	}
	return along
}

// Samples returns the rows and columns of a plane of these indexes.
func (p Plan) Samples(along []layout.Indexes) (rows, cols int) {
	rows, cols = 1, 1
	if p.y >= 0 {
		rows = int(along[p.y].Count)
	}
	if p.x >= 0 {
		cols = int(along[p.x].Count)
	}
	return rows, cols
}

// size returns the pixels of the picture.
func (p Plan) size() (width, height int) {
	width, height = p.cols*p.factor, p.rows*p.factor
	if p.y < 0 {
		width, height = least, 0
		if p.x >= 0 {
			width, height = max(least, p.cols), curveHeight
		}
	}
	return max(width, least), height + captionHeight
}
