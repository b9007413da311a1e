package unstored

import (
	"errors"
	"fmt"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// A Failure is how the flushes of an array have failed since one succeeded. The zero
// Failure says that none has.
type Failure struct {
	Err   error     // of the last flush; nil: it succeeded
	tries int       // flushes that failed in a row
	gone  time.Time // when flushes began to find no array; zero: they do not
	retry time.Time // not flushed again by itself before
}

// Note notes the error of a flush.
func (f *Failure) Note(err error) {
	if !f.IsTruncated() {
		f.Err = err
	}
	f.noteOrphan(err)
	f.tries++
	f.retry = time.Now().Add(min(time.Minute, time.Second<<min(f.tries-1, 6)))
}

// noteOrphan notes how long flushes have found no array.
func (f *Failure) noteOrphan(err error) {
	if !errors.Is(err, catalog.ErrOrphan) {
		f.gone = time.Time{}
	} else if f.gone.IsZero() {
		f.gone = time.Now()
	}
}

// IsExpired reports whether flushes have found no array for as long as age.
func (f *Failure) IsExpired(age time.Duration) bool {
	return !f.gone.IsZero() && time.Since(f.gone) >= age
}

// Rests reports whether it is not yet time for another flush.
func (f *Failure) Rests() bool { return f.Err != nil && time.Now().Before(f.retry) }

// IsTruncated reports whether another program has truncated the array, which no later flush
// changes.
func (f *Failure) IsTruncated() bool { return errors.As(f.Err, new(*TruncatedError)) }

// OrphanAge is how long flushes must find no array before what was written for it is given up by
// itself: a program that replaces a document may be doing so just now.
const OrphanAge = 30 * time.Second

// A TruncatedError refuses what was written, because another program has truncated the array. It is
// final: if the array is longer later, its rows are others.
type TruncatedError struct{ Had, Has int64 } // rows

// Error says so, and what to do.
func (e *TruncatedError) Error() string {
	return fmt.Sprintf("%v: expected %d rows, found %d: another program has truncated the array; "+
		"open it again, and write what it is to have", store.ErrConflict, e.Had, e.Has)
}

// Unwrap returns catalog.ErrOrphan.
func (e *TruncatedError) Unwrap() error { return catalog.ErrOrphan }
