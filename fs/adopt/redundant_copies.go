package adopt

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/transient"
	"github.com/zarrfs/zarrfs/fs/view"
)

// A program that copies a tree may copy a.h5 before there is an array a. It is an ordinary file
// then, and stays one when the array comes: nobody else has its bytes. But a copy of what the view
// shows would hide the view, and be stale after the next change. It ends when the array has the
// same data.

var errOther = errors.New("other bytes")

// EndCopies ends the ordinary files that have the names of derived views of the array at path, and
// the same bytes.
func (f *Files) EndCopies(ctx context.Context, path string) {
	dir, _ := names.Split(path)
	for _, v := range view.All() {
		if !view.IsDerived(v) {
			continue
		}
		x := f.Transients.Find(dir, view.FileOf(path, v))
		if x == nil || !x.IsToBeStored() || f.lacks(path, v) {
			continue
		}
		if since := x.Changed(); f.isCopy(ctx, x, path, v) && f.Transients.DropUnused(x, since) {
			f.Transients.End(x)
			f.Kernel.Changed(path)
		}
	}
}

// isCopy reports whether an ordinary file has the bytes of a view of the array at path.
func (f *Files) isCopy(
	ctx context.Context, x *transient.File, path string, v view.View,
) bool {
	shown, err := f.openShown(ctx, path, v)
	if err != nil {
		return false
	}
	defer shown.Close()
	if shown.Size() != x.Size() {
		return false
	}
	return x.EachPiece(0, func(p []byte, at int64) error {
		found, err := shown.Read(ctx, at, int64(len(p)))
		if err != nil {
			return err
		}
		defer found.Done()
		if !bytes.Equal(found.Bytes(nil), p) {
			return errOther
		}
		return nil
	}) == nil
}

// openShown opens a file as the mount shows it.
func (f *Files) openShown(
	ctx context.Context, path string, v view.View,
) (view.Content, error) {
	if many, ok := v.(view.CompositeView); ok {
		return many.OpenMany(ctx, f.H, path, f.Layout)
	}
	return v.Open(ctx, f.H, path)
}

// EndCopiesOfGroups ends the ordinary files that are copies of files of derived views. That of a
// group has the same bytes only when all below the group has come. So it is looked at when somebody
// asks what is left.
func (f *Files) EndCopiesOfGroups(ctx context.Context) {
	for _, x := range f.Transients.Left() {
		at := x.At()
		_, v := view.Split(at.Name)
		if v == nil || !view.IsDerived(v) || !x.IsToBeStored() {
			continue
		}
		t, err := f.Names.Resolve(ctx, at.Dir, at.Name)
		if err != nil || t.View != v || t.IsLink() {
			continue
		}
		since := x.Changed()
		if f.isCopy(ctx, x, t.Node.Path, v) && f.Transients.DropUnused(x, since) {
			f.Transients.End(x)
			f.Kernel.Changed(t.Node.Path)
		}
	}
}

// copiesWait is how long a request for the status waits for EndCopiesOfGroups. That may read files
// of the store. The command umount waits for the status a second longer. It must not name a file
// that ends before the mount does.
const copiesWait = 4 * time.Second

// endingCopies is EndCopiesOfGroups as it runs for the status.
type endingCopies struct {
	mu    sync.Mutex
	ended chan struct{} // closed when it has ended; nil: it does not run
	since time.Time     // when it began
}

// EndCopiesSoon is EndCopiesOfGroups in the background. It returns when that has ended, or has run
// for copiesWait: the store may hang on one of the files.
func (f *Files) EndCopiesSoon() {
	e := &f.ending
	e.mu.Lock()
	if e.ended == nil {
		e.ended, e.since = make(chan struct{}), time.Now()
		go func(ended chan struct{}) {
			f.guarded("", func() { f.EndCopiesOfGroups(f.Ctx) })
			e.mu.Lock()
			defer e.mu.Unlock()
			e.ended = nil
			close(ended)
		}(e.ended)
	}
	ended, left := e.ended, copiesWait-time.Since(e.since)
	e.mu.Unlock()
	select {
	case <-ended:
	case <-time.After(left):
	}
}

// WritingEnded settles what waited until no program writes to the array at path.
func (f *Files) WritingEnded(path string) {
	f.EndCopies(f.Ctx, path)
	f.compareAside(path)
}
