package batch

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/zarrcore/generation"
	"github.com/zarrfs/zarrfs/zarrcore/merge"
	"github.com/zarrfs/zarrfs/zarrcore/object"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// maxConflicts is how often other writers may replace an object while it is being merged.
const maxConflicts = 100

// A Job is one object on its way to the store.
type Job struct {
	Number int64
	Gen    *generation.Array // that was frozen
	Opener func() object.Opener
	Key    string
	Made   *merge.Object
	Bytes  int64       // that the source has noted for it
	Put    *store.Info // of the object, once it is in its place; nil: it was deleted, or is not yet
	Same   bool        // the object stays as it is
	Err    error

	w      *Writer
	staged *store.Staged // nil: the object is to be deleted
	cond   store.If
	unlock func() // nil: the object is not locked
}

// Thaw makes the frozen bytes dirty again.
func (j *Job) Thaw() {
	for _, f := range j.Made.Frozen {
		if err := f.Thaw(); err != nil {
			j.Err = errors.Join(j.Err, err)
		}
	}
}

// Rewrite stores the job's object again, if the stored one has that version. Otherwise another
// program has replaced it, and it is left to that. It calls take with the stored object before.
func (w *Writer) Rewrite(
	ctx context.Context, j *Job, version string, take func(old *object.Reader) error,
) (done bool, err error) {
	j.w = w
	defer j.release()
	if j.unlock, err = w.Store.Lock(ctx, j.Key); err != nil {
		return false, err
	}
	if err := j.bind(); err != nil {
		return false, err
	}
	old, err := j.open(ctx)
	if err != nil || old == nil {
		return false, err
	}
	defer old.Close()
	if j.cond.Version != version {
		return false, nil
	}
	err = compress.Guard(func() error { return j.rewrite(ctx, old, take) })
	if errors.Is(err, store.ErrConflict) {
		return false, nil
	}
	return err == nil, err
}

// rewrite is Rewrite once the stored object is open.
func (j *Job) rewrite(
	ctx context.Context, old *object.Reader, take func(old *object.Reader) error,
) error {
	if err := take(old); err != nil {
		return err
	}
	if err := j.stage(ctx, old); err != nil {
		return err
	}
	if j.staged != nil {
		if err := j.w.Home.Store.SyncStaged(ctx, []*store.Staged{j.staged}); err != nil {
			return err
		}
	}
	return j.commit(ctx)
}

// bind finds the codecs with which the object is to be encoded.
func (j *Job) bind() (err error) {
	a := j.Gen.Objects
	j.Made.Chain, err = j.Gen.Chains.Of(a.Keys, j.Number, a.Length(j.Number))
	return err
}

// prepare reads what is needed of the stored object, encodes, and stages.
func (j *Job) prepare(ctx context.Context) (err error) {
	if err := j.bind(); err != nil {
		return err
	}
	var old *object.Reader
	if j.Made.Covers(true) {
		j.cond = store.If{}
	} else if old, err = j.open(ctx); err != nil {
		return err
	}
	if old != nil {
		defer old.Close()
	}
	err = j.stage(ctx, old)
	if errors.Is(err, compress.ErrCorrupt) && j.Made.Covers(false) {
		err = j.stage(ctx, nil) // of what nobody can read no row is lost
	}
	return err
}

// errEmpty says that the object is to be deleted.
var errEmpty = errors.New("nothing is left of the object")

// stage stages the object over the stored one, unless that stays as it is, or is to be deleted.
// It waits until there is memory to encode the object in.
func (j *Job) stage(ctx context.Context, old *object.Reader) error {
	plan := j.Made.Over(old)
	if j.Same = plan.Same(); j.Same {
		return nil
	}
	bytes := j.Made.Fit(j.w.Room.Size())
	if err := j.w.Room.Acquire(ctx, bytes); err != nil {
		return err
	}
	defer j.w.Room.Release(bytes)
	staged, err := j.w.Home.Store.StageParts(ctx, j.Key, func(dst store.Parts) error {
		empty, err := plan.Write(dst)
		if empty {
			err = errEmpty
		}
		return err
	})
	switch {
	case errors.Is(err, errEmpty):
		return nil
	case err != nil:
		return err
	}
	j.staged = staged
	j.w.Count.Stored.Add(staged.Size())
	return nil
}

// open opens the stored object, which must not change until it is replaced; nil
// if there is none.
func (j *Job) open(ctx context.Context) (*object.Reader, error) {
	src, err := j.Opener().Open(ctx, j.w.Home.Store, j.Number, j.Key)
	if errors.Is(err, object.ErrMissing) {
		j.cond = store.If{Version: store.Absent}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	j.cond = store.If{Version: src.Info().Version}
	return src, nil
}

// putInPlace puts the object in its place. If another writer was faster, it is
// merged again. It stays locked meanwhile: that writer took no lock.
func (j *Job) putInPlace(ctx context.Context) {
	for tries := 0; j.Err == nil; tries++ {
		j.Err = j.commit(ctx)
		if !errors.Is(j.Err, store.ErrConflict) || tries == maxConflicts {
			break
		}
		j.discard()
		time.Sleep(time.Duration(rand.Int64N(int64(min(tries+1, 10)) * int64(time.Millisecond))))
		j.Err = compress.Guard(func() error { return j.prepare(ctx) })
		if j.Err == nil && j.staged != nil {
			j.Err = j.w.Home.Store.SyncStaged(ctx, []*store.Staged{j.staged})
		}
	}
	j.release()
}

func (j *Job) commit(ctx context.Context) error {
	if j.Same {
		return nil
	}
	if j.Gen.Objects.IsBounded() {
		return j.w.Source.Replace(j, func() error { return j.replace(ctx) })
	}
	return j.replace(ctx)
}

// replace puts the object in its place, or takes away the one that is there.
func (j *Job) replace(ctx context.Context) error {
	if j.staged == nil {
		return j.w.Durable.Delete(ctx, j.w.Home.Store, j.w.Path, j.Key, j.cond)
	}
	info, err := j.staged.Commit(ctx, j.cond)
	if err == nil {
		j.Put = &info
	}
	return err
}

// release gives back what the job holds of the store.
func (j *Job) release() {
	j.discard()
	if j.unlock != nil {
		j.unlock()
		j.unlock = nil
	}
}

// discard forgets what was staged.
func (j *Job) discard() {
	if j.staged != nil {
		j.staged.Discard()
		j.staged = nil
	}
}
