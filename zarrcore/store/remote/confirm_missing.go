package remote

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// Witnesses are documents that were there. A server that answers 404 may have lost the store, or
// part of it, or be another one. So a key is missing only if the nearest document that was seen, in
// its directory or above, answers once more, after the 404.
type witnesses struct {
	mu      sync.Mutex
	docs    map[string]string  // by directory: the name of a document there
	waiting map[string]*asking // by key: a look that has not begun
	running map[string]*asking
}

// documents are the names of what describes groups and arrays, of formats 1 to 3.
var documents = []string{
	"zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata", "meta", "attrs",
}

func isDocument(key string) bool { return slices.Contains(documents, store.Base(key)) }

// mostWitnesses bounds the directories of which a document is remembered.
const mostWitnesses = 1 << 16

// saw notes that the object at key was there.
func (w *witnesses) saw(key string) {
	if !isDocument(key) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.docs == nil {
		w.docs = map[string]string{}
	}
	dir := store.Parent(key)
	if len(w.docs) >= mostWitnesses && dir != "" {
		for other := range w.docs { // any but the root's
			if other != "" {
				delete(w.docs, other)
				break
			}
		}
	}
	if _, has := w.docs[dir]; !has {
		w.docs[dir] = store.Base(key)
	}
}

// forget notes that documents are there no more.
func (w *witnesses) forget(keys []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, key := range keys {
		if dir := store.Parent(key); w.docs[dir] == store.Base(key) {
			delete(w.docs, dir)
		}
	}
}

// nearest returns the document nearest to key of those that were seen, except those in but; "" if
// there is no such document.
func (w *witnesses) nearest(key string, but []string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for dir := store.Parent(key); ; dir = store.Parent(dir) {
		if name, has := w.docs[dir]; has && !slices.Contains(but, store.Join(dir, name)) {
			return store.Join(dir, name)
		}
		if dir == "" {
			return ""
		}
	}
}

// has reports whether the object at key was seen.
func (w *witnesses) has(key string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.docs[store.Parent(key)] == store.Base(key)
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

// findWitness returns nil if what is missing at key is only that. Before any document was seen,
// nothing that was read can be wrong. A document may be missing together with those beside it, when
// its node was removed: then one above is asked.
func (d *Driver) findWitness(ctx context.Context, key string) error {
	var gone []string
	if d.seen.has(key) {
		gone = append(gone, key)
	}
	for {
		known := d.seen.nearest(key, gone)
		if known == "" {
			if len(gone) == 0 {
				return nil
			}
			return d.lost(gone[len(gone)-1])
		}
		err := d.askShared(ctx, known)
		e := new(Error)
		switch isGone := errors.As(err, &e) && e.isMissing(); {
		case isGone && isDocument(key):
			gone = append(gone, known)
		case isGone:
			return d.lost(known)
		default:
			if err == nil {
				d.seen.forget(gone)
			}
			return err
		}
	}
}

// lost returns the error of a store whose witness is not there.
func (d *Driver) lost(witness string) error {
	return &Error{
		Where: d.where, Kind: Doubtful,
		Text:   "the server has nothing here, nor " + witness + ", which was there before",
		Advice: "the store was removed, or another server answers",
	}
}

// asking is a look at a witness, for all callers that have come before it begins.
type asking struct {
	done chan struct{}
	err  error // to be read then
}

// askShared asks for a witness, by a request that begins after the call.
func (d *Driver) askShared(ctx context.Context, key string) error {
	w := &d.seen
	w.mu.Lock()
	a := w.waiting[key]
	if a == nil {
		if w.waiting == nil {
			w.waiting, w.running = map[string]*asking{}, map[string]*asking{}
		}
		a = &asking{done: make(chan struct{})}
		w.waiting[key] = a
		go d.runAsking(context.WithoutCancel(ctx), key, a, w.running[key])
	}
	w.mu.Unlock()
	select {
	case <-a.done:
		return a.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// runAsking asks for a witness, after another look has ended.
func (d *Driver) runAsking(ctx context.Context, key string, a, before *asking) {
	if before != nil {
		<-before.done
	}
	w := &d.seen
	w.mu.Lock()
	delete(w.waiting, key)
	w.running[key] = a
	w.mu.Unlock()
	a.err = d.ask(ctx, key)
	w.mu.Lock()
	if w.running[key] == a {
		delete(w.running, key)
	}
	w.mu.Unlock()
	close(a.done)
}

// ask asks for the first byte of an object, and returns why it cannot be had.
func (d *Driver) ask(ctx context.Context, key string) error {
	o := &opening{object: &object{driver: d, ctx: ctx, key: key}, isLook: true}
	return d.do(ctx, &call{build: o.build, accept: o.accept, takes: []Kind{Empty}, size: 1})
}

// hidesMissing is for a server that has refused an object. It reports whether the server also
// refuses an object that cannot be there. It asks once.
func (d *Driver) hidesMissing(ctx context.Context) bool {
	d.hiding.Do(func() {
		err := d.ask(ctx, fmt.Sprintf("zarrfs-%016x", rand.Uint64()))
		e := new(Error)
		d.hides = errors.As(err, &e) && e.Kind == Denied
	})
	return d.hides
}
