package merge

import (
	"slices"

	"github.com/zarrfs/zarrfs/zarrcore/dirty"
	"github.com/zarrfs/zarrfs/zarrcore/object"
)

// A Plan says what becomes of an object over the stored one.
type Plan struct {
	of     *Object
	old    *object.Reader // nil: none
	chunks []changed      // as they lie in the object
}

// Same reports whether the stored object stays as it is.
func (p *Plan) Same() bool { return len(p.chunks) == 0 }

// Over plans the new object over the stored one, if there is one.
func (o *Object) Over(old *object.Reader) *Plan {
	p := &Plan{of: o, old: old, chunks: o.changed(old)}
	slices.SortFunc(p.chunks, func(a, b changed) int { return o.Chain.Compare(a.inner, b.inner) })
	return p
}

// A changed chunk of an object is dirty, or truncated.
type changed struct {
	number, inner int64
	dirty         *dirty.Frozen // nil: only the truncation is new
	gone          bool          // all of it is truncated
}

// changed returns the dirty chunks, and what a truncation has changed of others.
func (o *Object) changed(old *object.Reader) (list []changed) {
	frozen := o.Frozen
	o.Objects.EachChunk(o.Number, func(n, inner int64) {
		if len(frozen) > 0 && frozen[0].Number == n {
			list = append(list, changed{number: n, inner: inner, dirty: frozen[0]})
			frozen = frozen[1:]
			return
		}
		cut := o.CutIn(n)
		if old == nil || cut == o.Grid.BytesOf(n) && !o.isRelaid(old) {
			return // it stays as it is
		}
		list = append(list, changed{number: n, inner: inner, gone: cut == 0})
	})
	return list
}
