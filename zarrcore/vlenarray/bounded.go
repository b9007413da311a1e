package vlenarray

import (
	"context"
	"errors"
	"slices"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/zarrcore/object"
	"github.com/zarrfs/zarrfs/zarrcore/scan"
)

// This file is about arrays whose edge objects end with the array. These objects are stored again
// when axis 0 gets another length. Readers wait while the objects and the document are stored.
// Whenever the process is killed, an object may be longer than its document says, but never
// shorter. Codecs of strings store how many strings there are, and the index of a shard has an
// entry for each chunk. So a longer object can be read all the same.

// relaid returns which objects, from first to before end, the array had before
// and gets in another length.
func (w *writer) relaid() (first, end int64) {
	before := w.v.a.rows()
	if !w.v.a.objects.IsBounded() || before == w.rows || w.after.objects.Chunks() == 0 {
		return 0, 0
	}
	shorter, length := min(before, w.rows), w.v.a.meta.Bounded[0]
	if shorter%length == 0 {
		return 0, 0
	}
	per := w.after.objects.Chunks() / w.after.objects.Counts()[0]
	return shorter / length * per, (shorter/length + 1) * per
}

// relays reports whether an object gets another length.
func (w *writer) relays(object int64) bool {
	first, end := w.relaid()
	return first <= object && object < end
}

// relay stores the document, and right with it the objects that get another
// length: first where they become longer, and last where they become shorter.
func (w *writer) relay(ctx context.Context) error {
	put, err := w.v.stageRows(ctx, w.rows)
	if err != nil {
		return err
	}
	defer put.discard()
	// Also where only whole objects go: a program that has found the old document still reads one.
	if w.v.a.objects.IsBounded() {
		defer w.v.a.t.relaying.Stop(w.v.a.path)()
	}
	first, end := w.relaid()
	if first == end {
		return put.commit(ctx)
	}
	if w.rows < w.v.a.rows() {
		return w.storeObjects(ctx, first, end, func() error { return put.commit(ctx) })
	}
	if err := w.storeObjects(ctx, first, end, nil); err != nil {
		return err
	}
	return put.commit(ctx)
}

// clearNew deletes what is stored of further rows that are to be fill value. A killed process may
// have left objects there that fit another length of the array.
func (w *writer) clearNew(ctx context.Context) error {
	if !w.v.a.objects.IsBounded() || w.in.Len() > 0 {
		return nil
	}
	var gone []string
	err := scan.Each(ctx, w.v.home.Store, w.after.objects.Keys, func(n int64) {
		if n >= w.v.a.objects.Chunks() {
			gone = append(gone, w.after.objects.Key(n))
		}
	})
	return w.deleteAll(ctx, gone, err)
}

// shapeStored returns the shape of an object as the stored document has it. It
// may have more rows than in s, but no fewer: then those are gone.
func (s *state) shapeStored(ctx context.Context, a *place, object int64) ([]int64, error) {
	shape := a.objects.ShapeAt(object)
	if !a.objects.IsBounded() {
		return shape, nil
	}
	n, err := a.t.Catalog.Array(ctx, a.path)
	if err != nil || n.Version == a.version {
		return shape, err
	}
	if n.Meta.SameLayout(a.meta) {
		first, _, _ := a.objects.Rows(object)
		if rows := min(n.Meta.Shape[0]-first, a.meta.Bounded[0]); rows >= shape[0] {
			shape[0] = rows
			return shape, nil
		}
	}
	return nil, changed(a, n)
}

// fitted returns the shape of an object, of which the stored document has that one. A
// killed process may have left more rows in it, of which the index of a shard knows.
func (s *state) fitted(shape []int64, src *object.Reader) []int64 {
	chain, err := s.chains.OfShape(shape)
	if err != nil || !s.a.objects.IsBounded() || !chain.IsSharded() ||
		shape[0] >= s.a.meta.Bounded[0] {
		return shape
	}
	shards := chain.Shards()
	if !errors.Is(shards.Check(src), compress.ErrCorrupt) {
		return shape
	}
	found, err := shards.Measure(src)
	longer := slices.Clone(shape)
	longer[0] = found * shape[0] / shards.Whole()
	if err != nil || longer[0] <= shape[0] || longer[0] > s.a.meta.Bounded[0] {
		return shape
	}
	if chain, err = s.chains.OfShape(longer); err != nil || chain.Shards().Whole() != found {
		return shape
	}
	return longer
}
