package zarrcore

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sort"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/zarrcore/codec"
)

// This file is about arrays whose objects end where the array does
// (zarrs.regular_bounded). When axis 0 gets another length, so do the objects at
// its end, and have to be stored anew though nobody has written to them. Until
// then they are read as they were stored. While they are stored, and the document,
// writers wait: what is stored has to be of one length. A process that is killed
// meanwhile leaves objects that are longer than the document says. Their length follows
// from their bytes, or from the index of a shard.

// misfits returns the stored objects that have another length than they should, or rows
// that do not count.
func (d *draft) misfits(ctx context.Context, a *Array) (objects []int64, err error) {
	if d.lengths.Settled(a.rows()) || !a.objects.Bounded() {
		return nil, nil
	}
	err = a.eachObjectIn(ctx, d.home.st, func(n int64) { objects = append(objects, n) })
	slices.Sort(objects)
	return slices.DeleteFunc(objects, func(n int64) bool {
		if d.lengths.IsStrange(a.objects.Keys, n) {
			d.measure(ctx, a, n)
		}
		length, shown := d.lengths.Of(a.objects.Keys, n)
		return length == a.objects.Length(n) && shown == length
	}), err
}

// measure notes the length of an object. One that cannot be measured is left to be found
// corrupt.
func (d *draft) measure(ctx context.Context, a *Array, obj int64) {
	src, err := a.openObjectIn(ctx, d.home.st, obj, a.objects.Key(obj))
	if err != nil {
		return
	}
	defer src.Close()
	if src.shown == src.length { // otherwise it was
		src.measure()
	}
}

// lasting returns those of some objects that have the length which is stored,
// however many rows follow.
func (d *draft) lasting(a *Array, objects []int64) []int64 {
	return slices.DeleteFunc(objects, func(n int64) bool {
		return a.objects.Length(n) != a.objects.Longest() || !d.lengths.Fits(a.objects.Keys, n)
	})
}

// storeInOrder stores objects, and the document if the array is to have another number of
// rows than before. Objects of another length become longer right before the document,
// or shorter right after it: whenever the process is killed, none is shorter than
// the document says.
func (d *draft) storeInOrder(ctx context.Context, a *Array, before int64, objects []int64) error {
	relaid, err := d.misfits(ctx, a)
	if err != nil {
		return err
	}
	steady := slices.DeleteFunc(objects, func(n int64) bool {
		_, found := slices.BinarySearch(relaid, n)
		return found
	})
	shorter := a.wholeRows() < before
	if !shorter {
		steady = append(steady, relaid...)
	}
	if err := d.storeObjects(ctx, steady); err != nil {
		return err
	}
	if a.wholeRows() != before {
		if err := d.storeRows(ctx, a, before); err != nil {
			return err
		}
	}
	if !shorter {
		return nil
	}
	return d.storeObjects(ctx, relaid)
}

// storeRows stores how many rows the array has. A power cut must not undo what comes
// before the document, nor the document before what comes after it.
func (d *draft) storeRows(ctx context.Context, a *Array, before int64) error {
	if a.wholeRows() < before || a.objects.Bounded() { // otherwise a power cut may undo a deletion, but not the document
		if err := d.h.syncDirsIn(ctx, d.home.st, d.path); err != nil {
			return err
		}
	}
	if err := d.putShape(ctx, before, a.wholeRows()); err != nil || !a.objects.Bounded() {
		return err
	}
	return d.h.syncDirsIn(ctx, d.home.st, d.path)
}

// relay commits an object that may have another length than the stored one. A reader finds the
// object and its length in the same state.
func (j *job) relay(commit func() error) error {
	return j.d.lengths.Replace(func() error {
		err := commit()
		if err == nil {
			j.d.mu.Lock() // join settles lengths in two steps
			defer j.d.mu.Unlock()
			j.d.lengths.Note(j.a.objects.Keys, j.number)
		}
		return err
	})
}

// measureFirst is how many bytes an object is taken to have at most, when it is tried first
// how long it is.
var measureFirst int64 = 64 << 20

// measured reports whether the object, which cannot be decoded for that error, has more
// whole rows than it should: those that a process wanted to append, or to cut, that was
// killed before it had stored objects and document. From then on it is decoded so, and
// rows behind the stored document's end are fill value. Otherwise it returns the error
// to report.
func (s *source) measured(err error) (again bool, _ error) {
	if !errors.Is(err, compress.ErrCorrupt) && !errors.Is(err, compress.ErrTooLarge) || !s.mayBeLonger() {
		return false, err
	}
	again, why := s.measure()
	if why != nil && errors.Is(why, compress.ErrTooLarge) {
		err = fmt.Errorf("%w; if it has more rows than \"shape\" says, which a killed process "+
			"may have left, a larger cache is needed to read it: %w", err, why)
	}
	return again, err
}

// mayBeLonger reports whether the object may have been left with more rows than it should
// have.
func (s *source) mayBeLonger() bool {
	return s.a.objects.Bounded() && (s.length < s.a.objects.Longest() || s.isStrange())
}

// isStrange is Lengths.IsStrange of the object.
func (s *source) isStrange() bool { return s.a.draft.lengths.IsStrange(s.a.objects.Keys, s.number) }

// fit measures a shard whose index is not the expected one, before any chunk is looked
// for by it: not all indexes tell by a checksum that they are of another length.
func (s *source) fit() {
	if s.chain == nil || !s.chain.Sharded() || s.shown != s.length || !s.mayBeLonger() {
		return
	}
	if s.isStrange() {
		s.measure()
	} else if err := s.chain.Check(s); err != nil {
		s.measured(err)
	}
}

// measure finds out the length of the object, and reports whether it is longer than
// it should be. The error is why it could not be found out.
func (s *source) measure() (longer bool, err error) {
	if s.chain.Sharded() {
		length, err := s.lengthBy(s.chain, s.length)
		return s.setLength(length), err
	}
	row := max(1, s.chain.ChunkBytes()/max(1, s.length))
	most := min(s.a.objects.Longest(), s.a.h.mem.Largest()/row)
	for longest := min(most, max(s.length, measureFirst/row)); ; longest = min(most, 4*longest) {
		length, err := s.measureUpTo(longest, row)
		if err == nil || longest == most || !errors.Is(err, compress.ErrTooLarge) {
			return s.setLength(length), err
		}
	}
}

// measureUpTo returns the length of an object that has no more rows than longest, each of
// so many bytes. Large ones are measured one at a time.
func (s *source) measureUpTo(longest, row int64) (int64, error) {
	chain, err := s.chainOf(longest)
	for err != nil && longest > s.length { // a length that objects cannot have
		longest--
		chain, err = s.chainOf(longest)
	}
	if err != nil {
		return 0, err
	}
	if size := longest * row; size > measureFirst {
		s.a.h.measuring.Lock()
		defer s.a.h.measuring.Unlock()
		s.a.h.mem.Reserve(2 * size)
		defer s.a.h.mem.Unreserve(2 * size)
	}
	return s.lengthBy(chain, longest)
}

// lengthBy returns the length of the object by what it holds, where chain is that of
// objects of a known length.
func (s *source) lengthBy(chain *codec.Chain, known int64) (length int64, err error) {
	var found int64
	if err := compress.Guard(func() error {
		found, err = chain.Measure(s)
		return err
	}); err != nil {
		return 0, err
	}
	if length = s.lengthOf(found, chain.Whole(), known); length == 0 {
		err = fmt.Errorf("%w: found a fraction of a row", compress.ErrCorrupt)
	}
	return length, err
}

// lengthOf returns the length of an object that holds so much, where one of a known length
// holds whole; 0 if there is none.
func (s *source) lengthOf(found, whole, known int64) int64 {
	hi, lo := bits.Mul64(uint64(max(found, 0)), uint64(known))
	if hi >= uint64(max(whole, 0)) {
		return 0
	}
	length, rest := bits.Div64(hi, lo, uint64(whole))
	if rest == 0 && s.holds(int64(length)) == found {
		return int64(length)
	}
	if s.chain.Sharded() {
		return 0
	}
	// Bits that are packed may have padding, or a byte in front.
	next := sort.Search(int(known), func(n int) bool { return s.holds(int64(n+1)) > found })
	if s.holds(int64(next)) == found {
		return int64(next)
	}
	return 0
}

// chainOf returns the codec chain of an object of that length.
func (s *source) chainOf(length int64) (*codec.Chain, error) {
	return s.a.chains.Of(s.a.objects.Keys, s.number, length)
}

// holds returns what an object of that length holds.
func (s *source) holds(length int64) int64 {
	if length <= 0 || length > s.a.objects.Longest() {
		return 0
	}
	chain, err := s.chainOf(length)
	if err != nil {
		return 0
	}
	return chain.Whole()
}

// setLength sets the length that the object turned out to have, if it is longer.
func (s *source) setLength(length int64) bool {
	if length == 0 {
		return false
	}
	chain, err := s.chainOf(length)
	if err != nil {
		return false
	}
	shown, longer := s.a.draft.lengths.Find(s.a.objects.Keys, s.number, length, s.length)
	if longer {
		s.length, s.chain, s.shown = length, chain, shown
	}
	return longer
}
