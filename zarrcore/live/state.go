package live

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/batch"
	"github.com/zarrfs/zarrfs/zarrcore/dirty"
	"github.com/zarrfs/zarrfs/zarrcore/generation"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/object"
	"github.com/zarrfs/zarrfs/zarrcore/unstored"
)

// A state is what is known of an array that is not stored yet. It knows no hierarchy and no store,
// and is told of which generation it is asked.
type state struct {
	set     *dirty.Set
	lengths *object.Lengths // of stored objects
	busy    atomic.Bool     // there is something to store: reads must look here
	rows    atomic.Int64    // of the stored document

	mu sync.Mutex // guards what follows
	pace
	failed     unstored.Failure    // of the flushes since one succeeded
	complete   unstored.Objects    // chunks and objects all of which is dirty
	ahead      ahead               // what is stored of rows that the document does not count yet
	truncation unstored.Truncation // what was truncated since the last flush
	removed    bool                // the array is no more: what is written goes nowhere
	unnamed    bool                // it is not at its path, and may be at one that is not known
}

// The pace of a draft says when it is stored, and when writers wait for that.
type pace struct {
	settled *sync.Cond  // backlog became smaller, or writers need not pause any more
	since   time.Time   // when the oldest change was made
	last    time.Time   // and the newest
	drains  bool        // drain is running
	paused  int         // writers wait until it is 0
	beside  atomic.Bool // saveBeside is storing it
}

// ahead is what is stored of rows that the document does not count yet. The mu of the
// state guards it.
type ahead struct {
	unstored.Ahead              // those objects whose bytes are forgotten, or dirty again
	holds          bool         // a flush goes on, which stores the document last
	held           []*batch.Job // stored by it, their bytes still dirty
}

// init makes s the state of an array that was just opened and has so many rows.
func (s *state) init(set *dirty.Set, rows int64) {
	s.set, s.lengths, s.complete = set, object.NewLengths(rows), unstored.NewObjects()
	s.rows.Store(rows)
	s.truncation.Init()
	s.ahead.Ahead.Init()
	s.settled = sync.NewCond(&s.mu)
}

// forget forgets everything: the array is no more, or another one. The caller holds mu.
func (s *state) forget() {
	s.removed = true
	s.set.Drop()
	s.complete, s.failed = unstored.NewObjects(), unstored.Failure{}
	s.truncation.Forget()
	s.busy.Store(false)
	s.settled.Broadcast()
}

// hold makes writers wait, or takes back one such call.
func (s *state) hold(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused += n
	s.settled.Broadcast()
}

// isRemoved reports whether the array has been taken out of the store, or replaced.
func (s *state) isRemoved() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.removed
}

// loseName notes that the array is not at its path any more, and perhaps at another one.
func (s *state) loseName() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unnamed = true
}

// isGone reports whether the array is not at its path any more.
func (s *state) isGone() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.removed || s.unnamed
}

// hasExpired reports whether flushes have not found the array for as long as age.
func (s *state) hasExpired(age time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed.IsExpired(age)
}

// isOld reports whether something has waited for a flush for too long.
func (s *state) isOld() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.since.IsZero() && (time.Since(s.last) > age || time.Since(s.since) > longAge)
}

// rests reports whether a flush has failed and it is not yet time for another.
func (s *state) rests() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed.Rests()
}

// refused returns the error for which nothing of the draft is stored any more.
func (s *state) refused() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed.IsTruncated() {
		return s.failed.Err
	}
	return nil
}

// settleError forgets the error of former flushes. The caller holds mu.
func (s *state) settleError() {
	s.failed = unstored.Failure{}
	s.settled.Broadcast()
}

// prospect says what becomes of bytes that are not stored. The caller holds mu.
func (s *state) prospect() string {
	if s.failed.IsTruncated() {
		return "not stored, will be kept in a file of the scratch folder"
	}
	return "not stored, will be tried again"
}

// hasStoredSize reports whether the stored document has the size of the array, which
// is whole rows. The caller holds mu.
func (s *state) hasStoredSize(gen *generation.Array) bool {
	tail, _ := gen.Tail()
	return tail == 0 && gen.Rows() == s.rows.Load()
}

// hasOnlyDirty reports whether nothing is to be stored but dirty bytes. The caller holds mu.
func (s *state) hasOnlyDirty(gen *generation.Array) bool {
	isAheadCertain := s.ahead.IsEmpty() || !s.ahead.IsDoubtful.Load()
	return isAheadCertain && s.truncation.IsNone() && s.hasStoredSize(gen) &&
		s.lengths.IsAllStored(gen.Rows())
}

// noteFull notes that all of a chunk is dirty, and perhaps all of its object. If the object also
// has rows that the document does not count yet, only a flush stores it. So the bytes of the object
// are kept until the document is stored: a program that truncates the array replaces the object.
func (s *state) noteFull(gen *generation.Array, chunk int64) {
	obj := gen.Objects.Holder(chunk)
	if s.complete.Add(chunk, obj) == gen.Objects.ChunksIn(obj, true) &&
		s.lengths.Fits(gen.Objects.Keys, obj) && !gen.Straddles(obj, s.rows.Load()) {
		s.complete.MakeReady(obj, gen.Grid.BytesOf(chunk))
	}
}

// takeReady returns the objects that are completely dirty. The caller is idle if it is storing
// nothing. If nothing more is to be stored in the background then, that is noted, and drain must
// end.
func (s *state) takeReady(idle bool) (objects []int64, last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed.Err == nil && !s.removed {
		objects = s.complete.TakeReady()
	}
	if len(objects) == 0 && idle {
		s.drains = false
		s.settled.Broadcast()
		return nil, true
	}
	return objects, false
}

// relax takes bytes from the backlog and lets waiting writers go on.
func (s *state) relax(bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.complete.Backlog -= bytes
	s.settled.Broadcast()
}

// truncatedAt returns the lowest row that was truncated since the object was stored.
func (s *state) truncatedAt(obj int64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.truncation.Of(obj)
}

// isShorter reports whether m is of the array gen after another program has truncated it. The
// caller holds mu.
func (s *state) isShorter(gen *generation.Array, m *meta.Array) bool {
	return gen.Source == nil && len(m.Shape) > 0 && gen.Meta.SameLayout(m) &&
		m.Shape[0] < min(s.rows.Load(), s.truncation.Low())
}

// isLeftBehind reports whether rows that are refused for that error are still in the store.
func (s *state) isLeftBehind(why error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.As(why, new(*unstored.TruncatedError)) && !s.ahead.IsEmpty()
}

// holdAhead begins a flush that stores the document after the objects.
func (s *state) holdAhead() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ahead.holds = true
}

// noteAhead notes that an object was stored, if it has rows that the document does not
// count. Objects that end with the array are not noted: if they are too long, the rows
// that the document does not count are found out. The caller holds mu.
func (s *state) noteAhead(j *batch.Job, dirty bool) {
	from, end := j.Gen.Uncounted(j.Number, s.rows.Load())
	switch {
	case j.Same || j.Gen.Objects.IsBounded():
	case from < end && j.Put != nil:
		s.ahead.Note(j.Number, unstored.AheadObject{
			Version: j.Put.Version, From: from, End: end, Dirty: dirty,
		})
	default:
		s.ahead.Forget(j.Number)
	}
}
