package zarrcore

import (
	"context"
	"errors"
	"slices"

	"github.com/zarrfs/zarrfs/compress"
)

// This file is about arrays whose objects end where the array does
// (zarrs.regular_bounded). When axis 0 gets another length, so do the objects at
// its end, and have to be stored anew though nobody has written to them. Until
// then they are read as they were stored. While they are stored, and the document,
// writers wait: what is stored has to be of one length. A process that is killed
// meanwhile leaves objects that are longer than the document says, as what they hold
// tells.

// objectLengths tells the lengths along axis 0 of the stored objects of an array.
// The draft's mu guards it.
type objectLengths struct {
	rows  int64           // the array ended there when they were stored
	other map[int64]int64 // those that were stored since
	found map[int64]int64 // those that a killed process has left with another length, as far as is known
	mine  map[int64]bool  // all that this process has stored since
}

func newObjectLengths(rows int64) objectLengths {
	return objectLengths{rows: rows, other: map[int64]int64{}, found: map[int64]int64{}, mine: map[int64]bool{}}
}

// of returns the length of an object, which a also has, as it is stored.
func (l *objectLengths) of(a *Array, obj int64) int64 {
	if !a.objects.Bounded() {
		return a.objects.Length(obj)
	}
	if n, ok := l.other[obj]; ok {
		return n
	}
	if n, ok := l.found[obj]; ok {
		return n
	}
	return l.usual(a, obj)
}

// usual returns the length of an object that was not stored since.
func (l *objectLengths) usual(a *Array, obj int64) int64 {
	first, _, _ := a.objects.Rows(obj)
	if n := l.rows - first; 0 < n && n < a.meta.Bounded[0] {
		return n
	}
	return a.meta.Bounded[0]
}

// note notes that an object was stored as a has it.
func (l *objectLengths) note(a *Array, obj int64) {
	delete(l.other, obj)
	delete(l.found, obj)
	l.mine[obj] = true
	if n := a.objects.Length(obj); n != l.usual(a, obj) {
		l.other[obj] = n
	}
}

// strange reports that an object lies behind the stored document's end, and is not this
// process's: a killed one has left it, with whatever length it was to have.
func (l *objectLengths) strange(a *Array, obj int64) bool {
	first, _, _ := a.objects.Rows(obj)
	return first >= l.rows && !l.mine[obj]
}

// shown returns how many rows of an object that was found longer than it should be
// count: those of the stored document.
func (l *objectLengths) shown(a *Array, obj int64) int64 {
	first, _, _ := a.objects.Rows(obj)
	return min(max(0, l.rows-first), a.meta.Bounded[0])
}

// settled reports that no object is known to have another length than it should.
func (l *objectLengths) settled() bool { return len(l.other)+len(l.found) == 0 }

// settle notes that all objects are those of an array of so many rows.
func (l *objectLengths) settle(rows int64) {
	l.rows = rows
	clear(l.other)
	clear(l.found)
	clear(l.mine)
}

// storedLength returns the length of an object as it is stored.
func (a *Array) storedLength(obj int64) int64 {
	length, _ := a.storedRows(obj)
	return length
}

// storedRows returns the length of an object as it is stored, and how many rows of it
// count.
func (a *Array) storedRows(obj int64) (length, shown int64) {
	if !a.objects.Bounded() {
		return a.objects.Length(obj), a.objects.Length(obj)
	}
	d := a.draft
	d.mu.Lock()
	defer d.mu.Unlock()
	length = d.lengths.of(a, obj)
	if _, ok := d.lengths.found[obj]; ok {
		return length, d.lengths.shown(a, obj)
	}
	return length, length
}

// misfits returns the stored objects that have another length than they should, or rows
// that do not count.
func (d *draft) misfits(ctx context.Context, a *Array) (objects []int64, err error) {
	d.mu.Lock()
	same := a.rows() == d.lengths.rows && d.lengths.settled()
	d.mu.Unlock()
	if same || !a.objects.Bounded() {
		return nil, nil
	}
	err = a.eachObjectIn(ctx, d.home.st, func(n int64) { objects = append(objects, n) })
	slices.Sort(objects)
	return slices.DeleteFunc(objects, func(n int64) bool {
		if d.isStrange(a, n) {
			d.measure(ctx, a, n)
		}
		length, shown := a.storedRows(n)
		return length == a.objects.Length(n) && shown == length
	}), err
}

// isStrange is objectLengths.strange.
func (d *draft) isStrange(a *Array, obj int64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lengths.strange(a, obj)
}

// measure notes the length of an object. One that cannot be measured is left to be found
// corrupt.
func (d *draft) measure(ctx context.Context, a *Array, obj int64) {
	src, err := a.openObjectIn(ctx, d.home.st, obj, a.objects.Key(obj))
	if err != nil {
		return
	}
	defer src.Close()
	src.measure()
}

// lasting returns those of some objects that have the length which is stored,
// however many rows follow.
func (d *draft) lasting(a *Array, objects []int64) []int64 {
	return slices.DeleteFunc(objects, func(n int64) bool {
		return a.objects.Length(n) != a.meta.Bounded[0] || a.storedLength(n) != a.objects.Length(n)
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

// relaid notes that all objects, and the document, are stored as a has them.
func (d *draft) relaid(a *Array) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lengths.settle(a.wholeRows())
}

// relay commits an object that may have another length than the stored one. Who
// reads it finds both in the same state.
func (j *job) relay(commit func() error) error {
	d := j.d
	d.relaying.Lock()
	defer d.relaying.Unlock()
	err := commit()
	if err == nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.lengths.note(j.a, j.number)
	}
	return err
}

// measureMost is how many bytes an object may have that is measured.
const measureMost = 64 << 20

// measured reports whether the object, which cannot be decoded for that error, has more
// whole rows than it should: those that a process wanted to append, or to cut, that was
// killed before it had stored objects and document. From then on it is decoded so, and
// rows behind the stored document's end are fill value.
func (s *source) measured(err error) bool {
	if !errors.Is(err, compress.ErrCorrupt) && !errors.Is(err, compress.ErrTooLarge) || !s.a.objects.Bounded() {
		return false
	}
	return s.measure()
}

// measure finds out the length of the object, and reports whether it is longer than
// it should be. A shard of another length cannot be told from one that is corrupt.
func (s *source) measure() bool {
	if s.chain.Sharded() {
		return false
	}
	row := s.chain.ChunkBytes() / max(1, s.length)
	longest := min(s.a.meta.Bounded[0], max(s.length, measureMost/max(1, row)))
	chain, err := s.a.chains.Of(s.a.objects.Keys, s.number, longest)
	if err != nil {
		return false
	}
	found, whole, err := chain.Measure(s)
	if err != nil || whole == 0 || found > whole || found*longest%whole != 0 {
		return false
	}
	return s.setLength(found * longest / whole)
}

// setLength sets the length that the object turned out to have, if it is longer.
func (s *source) setLength(length int64) bool {
	d := s.a.draft
	d.mu.Lock()
	defer d.mu.Unlock()
	strange := d.lengths.strange(s.a, s.number)
	if length == 0 || length <= s.length && !strange {
		return false
	}
	chain, err := s.a.chains.Of(s.a.objects.Keys, s.number, length)
	if err != nil {
		return false
	}
	d.lengths.found[s.number] = length
	s.length, s.chain, s.shown = length, chain, d.lengths.shown(s.a, s.number)
	return true
}
