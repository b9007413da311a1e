package live

import (
	"context"
	"slices"

	"github.com/zarrfs/zarrfs/zarrcore/scan"
)

// This file is about arrays whose edge objects end with the array (zarrs.regular_bounded). When
// axis 0 gets another length, so do the objects at its end. They have to be stored again even if
// nothing was written to them. Until then they are read as they were stored. Writers wait while
// these objects and the document are stored, because all of them have to be of one length. A
// process killed meanwhile leaves objects longer than the document says. See also object/lengths.go
// and object/measure.go.

// misfits returns the stored objects that have another length than they should, or rows left by a
// killed process.
func (s *storer) misfits(ctx context.Context, a *Array) (objects []int64, err error) {
	if s.lengths.IsAllStored(a.gen.Rows()) || !a.gen.Objects.IsBounded() {
		return nil, nil
	}
	err = scan.Each(ctx, s.home.Store, a.gen.Objects.Keys, func(n int64) {
		objects = append(objects, n)
	})
	slices.Sort(objects)
	return slices.DeleteFunc(objects, func(n int64) bool {
		length, shown := s.lengths.Of(a.gen.Objects.Keys, n)
		return length == a.gen.Objects.Length(n) && shown == length
	}), err
}

// lasting returns which of the objects are stored in full length. Further rows do not change that
// length.
func (s *storer) lasting(a *Array, objects []int64) []int64 {
	return slices.DeleteFunc(objects, func(n int64) bool {
		return a.gen.Objects.Length(n) != a.gen.Objects.Longest() ||
			!s.lengths.Fits(a.gen.Objects.Keys, n)
	})
}

// storeInOrder stores objects, and the document if the array is to have another number of
// rows than before. Objects of another length become longer right before the document,
// or shorter right after it: whenever the process is killed, none is shorter than
// the document says.
func (s *storer) storeInOrder(ctx context.Context, a *Array, before int64, objects []int64) error {
	relaid, err := s.misfits(ctx, a)
	if err != nil {
		return err
	}
	steady := slices.DeleteFunc(objects, func(n int64) bool {
		_, found := slices.BinarySearch(relaid, n)
		return found
	})
	shorter := a.gen.WholeRows() < before
	if !shorter {
		steady = append(steady, relaid...)
	}
	if err := s.writer().Write(ctx, steady); err != nil {
		return err
	}
	if a.gen.WholeRows() != before {
		if err := s.storeRows(ctx, a, before); err != nil {
			return err
		}
	}
	if !shorter {
		return nil
	}
	return s.writer().Write(ctx, relaid)
}

// storeRows stores how many rows the array has. A power cut must not undo what comes
// before the document, nor the document before what comes after it.
func (s *storer) storeRows(ctx context.Context, a *Array, before int64) error {
	// In all other cases a power cut may undo a deletion, but not the document.
	if a.gen.WholeRows() < before || a.gen.Objects.IsBounded() {
		if err := s.h.of.Durable.Sync(ctx, s.home.Store, s.path); err != nil {
			return err
		}
	}
	if err := s.putShape(ctx, before, a.gen.WholeRows()); err != nil || !a.gen.Objects.IsBounded() {
		return err
	}
	return s.h.of.Durable.Sync(ctx, s.home.Store, s.path)
}
