package object

import (
	"errors"
	"fmt"
	"math/bits"
	"sort"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/zarrcore/codec"
)

// This file is about objects that a killed process has left with another length than the document
// gives them. Their length follows from their bytes, or from the index of a shard.

// measureFirst is how many bytes an object is taken to have at most when its length is tried first.
const measureFirst = 64 << 20

// measured reports whether the object has more whole rows than it should. err is the error of
// decoding it. A process leaves such rows if it is killed in an append or a truncation, before it
// has stored objects and document. From then on the object is decoded with these rows, and rows
// behind the stored document's end are fill value. Otherwise measured returns the error to report.
func (r *Reader) measured(err error) (again bool, _ error) {
	wrong := errors.Is(err, compress.ErrCorrupt) || errors.Is(err, compress.ErrTooLarge)
	if !wrong || !r.mayBeLonger() {
		return false, err
	}
	again, why := r.measure()
	if gone := r.ctx.Err(); gone != nil {
		return false, gone
	}
	if why != nil && errors.Is(why, compress.ErrTooLarge) {
		err = fmt.Errorf("%w; if it has more rows than \"shape\" says, which a killed process "+
			"may have left, a larger cache is needed to read it: %w", err, why)
	}
	return again, err
}

// mayBeLonger reports whether the object may have been left with more rows than it should
// have.
func (r *Reader) mayBeLonger() bool {
	return r.from.Keys.IsBounded() && r.length < r.from.Keys.Longest()
}

// fit measures a shard whose index is not the expected one, before any chunk is looked
// for by it: not all indexes have a checksum, which shows another length.
func (r *Reader) fit() {
	if r.chain == nil || !r.chain.IsSharded() || r.shown != r.length || !r.mayBeLonger() {
		return
	}
	if err := r.chain.Check(r); err != nil {
		r.measured(err)
	}
}

// measure finds out the length of the object, and reports whether it is longer than
// it should be. The error is why it could not be found out.
func (r *Reader) measure() (longer bool, err error) {
	if r.chain.IsSharded() {
		length, err := r.lengthBy(r.chain, r.length)
		return r.setLength(length), err
	}
	row := max(1, r.chain.ChunkBytes()/max(1, r.length))
	most := min(r.from.Keys.Longest(), r.from.Shared.mem.Largest()/row)
	for longest := min(most, max(r.length, measureFirst/row)); ; longest = min(most, 4*longest) {
		length, err := r.measureUpTo(longest, row)
		if err == nil || longest == most || !errors.Is(err, compress.ErrTooLarge) {
			return r.setLength(length), err
		}
	}
}

// measureUpTo returns the length of an object that has no more rows than longest, each of
// so many bytes. Large ones are measured one at a time.
func (r *Reader) measureUpTo(longest, row int64) (int64, error) {
	chain, err := r.chainOf(longest)
	for err != nil && longest > r.length { // a length that objects cannot have
		longest--
		chain, err = r.chainOf(longest)
	}
	if err != nil {
		return 0, err
	}
	if size := longest * row; size > measureFirst {
		if err := r.from.Shared.measuring.Acquire(r.ctx, 1); err != nil {
			return 0, err
		}
		defer r.from.Shared.measuring.Release(1)
		r.from.Shared.mem.Reserve(2 * size)
		defer r.from.Shared.mem.Unreserve(2 * size)
	}
	return r.lengthBy(chain, longest)
}

// lengthBy returns the length of the object by what it holds, where chain is that of
// objects of a known length.
func (r *Reader) lengthBy(chain *codec.Chain, known int64) (length int64, err error) {
	var found int64
	if err := compress.Guard(func() error {
		found, err = chain.Measure(r)
		return err
	}); err != nil {
		return 0, err
	}
	if length = r.lengthOf(found, chain.Whole(), known); length == 0 {
		err = fmt.Errorf("%w: found a fraction of a row", compress.ErrCorrupt)
	}
	return length, err
}

// lengthOf returns the length of an object that holds so much, where one of a known length
// holds whole; 0 if there is none.
func (r *Reader) lengthOf(found, whole, known int64) int64 {
	hi, lo := bits.Mul64(uint64(max(found, 0)), uint64(known))
	if hi >= uint64(max(whole, 0)) {
		return 0
	}
	length, rest := bits.Div64(hi, lo, uint64(whole))
	if rest == 0 && r.holds(int64(length)) == found {
		return int64(length)
	}
	if r.chain.IsSharded() {
		return 0
	}
	// Bits that are packed may have padding, or a byte in front.
	next := sort.Search(int(known), func(n int) bool { return r.holds(int64(n+1)) > found })
	if r.holds(int64(next)) == found {
		return int64(next)
	}
	return 0
}

// chainOf returns the codec chain of an object of that length.
func (r *Reader) chainOf(length int64) (*codec.Chain, error) {
	return r.from.Chains.Of(r.from.Keys, r.number, length)
}

// holds returns what an object of that length holds.
func (r *Reader) holds(length int64) int64 {
	if length <= 0 || length > r.from.Keys.Longest() {
		return 0
	}
	chain, err := r.chainOf(length)
	if err != nil {
		return 0
	}
	return chain.Whole()
}

// setLength sets the length that the object turned out to have, if it is longer.
func (r *Reader) setLength(length int64) bool {
	if length == 0 {
		return false
	}
	chain, err := r.chainOf(length)
	if err != nil {
		return false
	}
	l := r.from.Lengths
	l.mu.Lock()
	defer l.mu.Unlock()
	shown, longer := l.find(r.from.Keys, r.number, length, r.length)
	if longer {
		r.length, r.chain, r.shown = length, chain, shown
	}
	return longer
}
