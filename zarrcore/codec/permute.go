package codec

// A permute copies an array between two layouts of its axes. It is planned once per codec, so that
// the copy sees few and long axes: axes of length 1 are dropped, and axes that stay neighbours are
// folded into one.
type permute struct {
	axes []permuteAxis // outermost first, in the destination's order
	// bytes of the unit that is copied, the folded innermost axes included; 0: there is nothing to
	// copy
	elem int64
	dst  int64 // bytes from the destination's first byte to its last
	src  int64 // the same of the source
}

// permuteAxis is one folded axis: its length and how many bytes apart its elements lie in the
// destination and the source.
type permuteAxis struct {
	n, dst, src int64
}

// newPermute plans the copy that undoes a transpose: shape is the destination's (decoded) shape,
// order[i] the destination axis that is axis i of the source, and elem the bytes of one element.
// Axes of length 1 may be on one side only.
func newPermute(shape []int64, order []int, elem int64) permute {
	srcStride := make([]int64, len(shape))
	size := elem
	for i := len(order) - 1; i >= 0; i-- {
		if order[i] != newAxis {
			srcStride[order[i]] = size
			size *= shape[order[i]]
		}
	}
	axes := make([]permuteAxis, len(shape))
	for a, stride := range strides(shape, elem) {
		axes[a] = permuteAxis{shape[a], stride, srcStride[a]}
	}
	return planPermute(axes, elem)
}

// newTranspose plans the copy that newPermute's undoes: shape is the source's, and axis order[i] of
// the source becomes axis i of the destination.
func newTranspose(shape []int64, order []int, elem int64) permute {
	src := strides(shape, elem)
	var axes []permuteAxis
	for _, axis := range order {
		if axis != newAxis {
			axes = append(axes, permuteAxis{n: shape[axis], src: src[axis]})
		}
	}
	size := elem
	for i := len(axes) - 1; i >= 0; i-- {
		axes[i].dst = size
		size *= axes[i].n
	}
	return planPermute(axes, elem)
}

// newScatter plans the copy of a chunk into an array of shape whole, at any multiple of its own
// shape.
func newScatter(whole, chunk []int64, elem int64) permute {
	inner := strides(chunk, elem)
	axes := make([]permuteAxis, len(chunk))
	for a, stride := range strides(whole, elem) {
		axes[a] = permuteAxis{chunk[a], stride, inner[a]}
	}
	return planPermute(axes, elem)
}

// strides says how far apart the elements of each axis lie in C order.
func strides(shape []int64, elem int64) []int64 {
	s := make([]int64, len(shape))
	for a := len(shape) - 1; a >= 0; a-- {
		s[a] = elem
		elem *= shape[a]
	}
	return s
}

// newGather plans the copy of a chunk out of an array of shape whole: what newScatter's copy
// undoes.
func newGather(whole, chunk []int64, elem int64) permute {
	inner := strides(chunk, elem)
	axes := make([]permuteAxis, len(chunk))
	for a, stride := range strides(whole, elem) {
		axes[a] = permuteAxis{chunk[a], inner[a], stride}
	}
	return planPermute(axes, elem)
}

func planPermute(axes []permuteAxis, elem int64) permute {
	p := permute{elem: elem, dst: elem, src: elem}
	for i := len(axes) - 1; i >= 0; i-- {
		a := axes[i]
		if a.n == 0 || elem == 0 {
			return permute{}
		}
		p.addOuter(a)
		p.dst += (a.n - 1) * a.dst
		p.src += (a.n - 1) * a.src
	}
	return p
}

// addOuter puts an axis around those planned so far, folding it into its neighbour or into the
// element where it can.
func (p *permute) addOuter(a permuteAxis) {
	switch {
	case a.n == 1:
	case len(p.axes) == 0 && a.src == p.elem && a.dst == p.elem:
		p.elem *= a.n
	case len(p.axes) > 0 && a.follows(p.axes[0]):
		p.axes[0].n *= a.n
	default:
		p.axes = append([]permuteAxis{a}, p.axes...)
	}
}

// follows reports whether both layouts have the axis in right around inner.
func (a permuteAxis) follows(inner permuteAxis) bool {
	return a.src == inner.src*inner.n && a.dst == inner.dst*inner.n
}

// isIdentity reports whether the copy moves nothing: both orders are the same in memory.
func (p *permute) isIdentity() bool { return len(p.axes) == 0 }

// run copies src into dst; they must not overlap.
func (p *permute) run(dst, src []byte) {
	if p.elem == 0 {
		return
	}
	dst, src = dst[:p.dst], src[:p.src]
	if p.isIdentity() {
		copy(dst, src)
		return
	}
	// The innermost axis is the closest together in the destination. Of the others, the one that is
	// closest together in the source makes a plane with it. Planes are copied in tiles, so that
	// both sides use whole cache lines.
	last := len(p.axes) - 1
	tall := last
	for i, a := range p.axes[:last] {
		if a.src < p.axes[tall].src {
			tall = i
		}
	}
	w := walk{p: p, tall: tall, last: last, plane: planeCopier(p.elem, p.axes[last].dst)}
	w.axis(0, dst, src)
}

// walk is the recursion of one run over all axes that are not in the plane.
type walk struct {
	p          *permute
	tall, last int
	plane      planeFunc
}

func (w *walk) axis(i int, dst, src []byte) {
	p := w.p
	if i == w.last {
		row := p.axes[w.last]
		col := permuteAxis{n: 1, dst: row.n * row.dst, src: row.n * row.src}
		if w.tall != w.last {
			col = p.axes[w.tall]
		}
		w.plane(dst, src, col, row, p.elem)
		return
	}
	if i == w.tall {
		w.axis(i+1, dst, src)
		return
	}
	a := p.axes[i]
	for k := range a.n {
		w.axis(i+1, dst[k*a.dst:], src[k*a.src:])
	}
}

// A planeFunc copies a plane of col.n x row.n elements.
type planeFunc func(dst, src []byte, col, row permuteAxis, elem int64)

// planeCopier is the fastest planeFunc for elements of that many bytes that lie step apart in the
// destination's rows.
func planeCopier(elem, step int64) planeFunc {
	if step != elem {
		return copyPlaneBytes
	}
	switch elem {
	case 1:
		return copyPlane[uint8]
	case 2:
		return copyPlane[uint16]
	case 4:
		return copyPlane[uint32]
	case 8:
		return copyPlane[uint64]
	case 16:
		return copyPlane[[2]uint64]
	}
	return copyPlaneBytes
}

// copyPlaneBytes copies elements of any length, however they lie. Long ones are folded rows, where
// memmove is all the work.
func copyPlaneBytes(dst, src []byte, col, row permuteAxis, elem int64) {
	for i := range col.n {
		d, s := i*col.dst, i*col.src
		for range row.n {
			copy(dst[d:d+elem], src[s:s+elem])
			d += row.dst
			s += row.src
		}
	}
}
