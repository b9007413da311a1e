package zarrcore

import (
	"errors"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/catalog"
)

// A failure is how the flushes of an array have failed since one succeeded. The zero
// failure is none. The draft's mu guards it.
type failure struct {
	err   error     // of the last flush; nil: it succeeded
	tries int       // flushes that failed in a row
	gone  time.Time // when flushes began to find no array; zero: they do not
	retry time.Time // not flushed again by itself before
}

// note notes the error of a flush.
func (f *failure) note(err error) {
	if !f.isCut() {
		f.err = err
	}
	f.noteOrphan(err)
	f.tries++
	f.retry = time.Now().Add(min(time.Minute, time.Second<<min(f.tries-1, 6)))
}

// noteOrphan notes how long flushes have found no array.
func (f *failure) noteOrphan(err error) {
	if !errors.Is(err, catalog.ErrOrphan) {
		f.gone = time.Time{}
	} else if f.gone.IsZero() {
		f.gone = time.Now()
	}
}

// expired reports whether what was written is given up: flushes have found no array for long.
func (f *failure) expired() bool { return !f.gone.IsZero() && time.Since(f.gone) >= orphanAge }

// rests reports whether it is not yet time for another flush.
func (f *failure) rests() bool { return f.err != nil && time.Now().Before(f.retry) }

// isCut reports whether another program has cut the array, which no later flush changes.
func (f *failure) isCut() bool { return errors.As(f.err, new(*cutError)) }
