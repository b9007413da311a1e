package remote

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"time"
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
	if e.Kind == Missing || (e.isMissing() || denied) && d.isThere(ctx, key) {
		e.class = fs.ErrNotExist
		return e
	}
	if e.Kind == Doubtful && ctx.Err() == nil {
		e.Advice = "and so it does to an object that was there before: " +
			"the store was removed, or another server answers"
	}
	return e
}

// isThere reports whether the store is known to be there. Before anything was seen of it, what is
// missing is just that: nothing was read that could be wrong.
func (d *Driver) isThere(ctx context.Context, key string) bool {
	known, isFresh := d.witness.last()
	if known == "" || isFresh {
		return true
	}
	if known == key {
		d.witness.lost()
		return false
	}
	o := &object{driver: d, ctx: ctx, key: known}
	look := &opening{object: o}
	look.want.N = 1
	err := d.do(ctx, &call{build: look.build, accept: look.accept, takes: []Kind{Empty}, size: 1})
	if e := new(Error); errors.As(err, &e) && e.Kind == Doubtful {
		d.witness.lost()
	} else if err == nil {
		d.witness.saw(known)
	}
	return err == nil
}
