package remote

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// A witness is an object of the store that is known to be there. A server that answers 404 may have
// lost the whole store, or be another one. So an object is missing only if the witness was seen a
// moment ago; otherwise it is asked for.
type witness struct {
	valid time.Duration // how long it is believed

	mu   sync.Mutex
	key  string // "" until an object of the store was seen
	gone bool   // it is there no more: the next object that is seen takes its place
	seen time.Time
}

// saw notes that the object at key was there just now. The first one that was seen is the witness:
// a document of the root, most likely.
func (w *witness) saw(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.key == "" || w.gone {
		w.key, w.gone = key, false
	}
	w.seen = time.Now()
}

// lost notes that the witness was not there just now.
func (w *witness) lost() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone, w.seen = true, time.Time{}
}

// last returns the witness, and whether it was seen a moment ago.
func (w *witness) last() (key string, isFresh bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.key, time.Since(w.seen) < w.valid
}

// missing decides what err means for the object at key, if it says that there is nothing: either
// fs.ErrNotExist, or that the store is not there.
func (d *Driver) missing(ctx context.Context, key string, err error) error {
	e := new(Error)
	if !errors.As(err, &e) {
		return err
	}
	denied := e.Kind == Denied && d.o.Missing403
	if !e.isMissing() && !denied {
		if e.Kind == Denied && d.hidesMissing(ctx) {
			e.Advice += "; it answers so for a name that cannot be there, too: " +
				"to take that for missing, say --missing 403"
		}
		return err
	}
	if e.Kind != Missing {
		if err := d.findWitness(ctx, key); err != nil {
			return err
		}
	}
	e.class = fs.ErrNotExist
	return e
}

// findWitness returns nil if the store is known to be there. Before anything was seen of it, what
// is missing is just that: nothing was read that could be wrong.
func (d *Driver) findWitness(ctx context.Context, key string) error {
	known, isFresh := d.witness.last()
	if known == "" || isFresh {
		return nil
	}
	if known == key {
		return d.lost(known)
	}
	err := d.ask(ctx, known)
	if e := new(Error); errors.As(err, &e) && e.isMissing() {
		return d.lost(known)
	}
	if err == nil {
		d.witness.saw(known)
	}
	return err
}

// ask asks for the first byte of an object, and returns why it cannot be had.
func (d *Driver) ask(ctx context.Context, key string) error {
	o := &opening{object: &object{driver: d, ctx: ctx, key: key}, want: store.Want{N: 1}}
	return d.do(ctx, &call{build: o.build, accept: o.accept, takes: []Kind{Empty}, size: 1})
}

// lost returns the error of a store whose witness is not there.
func (d *Driver) lost(witness string) error {
	d.witness.lost()
	return &Error{
		Where: d.where, Kind: Doubtful,
		Text:   "the server has nothing here any more, nor " + witness + ", which was there before",
		Advice: "the store was removed, or another server answers",
	}
}

// hidesMissing reports whether a server that has refused an object also refuses one that cannot be
// there. It asks once.
func (d *Driver) hidesMissing(ctx context.Context) bool {
	d.hiding.Do(func() {
		err := d.ask(ctx, fmt.Sprintf("zarrfs-%016x", rand.Uint64()))
		e := new(Error)
		d.hides = errors.As(err, &e) && e.Kind == Denied
	})
	return d.hides
}
