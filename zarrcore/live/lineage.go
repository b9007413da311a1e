package live

import (
	"sync/atomic"

	"github.com/zarrfs/zarrfs/zarrcore/meta"
)

// A lineage is an array of this process: where it is, the two orders in which it is seen, and what
// follows it. Another array may take its place, and another program may make it longer or shorter.
// Each generation of an array is of one lineage, and open handles follow it. All is read without a
// lock.
type lineage struct {
	place
	orders

	heirs [orderCount]atomic.Pointer[lineage] // which took this one's place, by our own doing

	// As another program has made the array longer or shorter; and of which this is the later one.
	// See adoptLater.
	later, earlier atomic.Pointer[lineage]

	// What the document was found to say since the array was opened, if only that has changed which
	// does not concern the data: attributes, and names of dimensions. nil: nothing has.
	described atomic.Pointer[meta.Array]

	readers [orderCount]atomic.Int64 // open
	opened  atomic.Int64             // when the array last was, in nanoseconds since 1970
}

// newest returns the lineage that counts now for handles of an order, as far as that is known.
func (l *lineage) newest(of order) *lineage {
	for heir := l.heirs[of].Load(); heir != nil; heir = l.heirs[of].Load() {
		l = heir
	}
	return l
}

// isAstray reports whether the array was moved and has no heir at its new path yet.
func (l *lineage) isAstray(of order) bool { return l.isMoved() && l.heirs[of].Load() == nil }

// isInUse reports whether somebody has the array open, however it is seen.
func (l *lineage) isInUse() bool {
	return l.readers[cOrder].Load() > 0 || l.readers[fortranOrder].Load() > 0
}

// redirect redirects open handles of the array to a, which is in C order.
func (l *lineage) redirect(a *Array) {
	if a.lineage == l {
		return
	}
	reversed := l.reversed.Load()
	if _, ok := a.Transposed(); ok && reversed != nil {
		a.h.open.setHeir(l, a.lineage, fortranOrder)
	}
	a.h.open.setHeir(l, a.lineage, cOrder)
}
