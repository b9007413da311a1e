package live

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"

	"github.com/zarrfs/zarrfs/zarrcore/batch"
	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/codec"
	"github.com/zarrfs/zarrfs/zarrcore/object"
	"github.com/zarrfs/zarrfs/zarrcore/unstored"
)

// This file is about rows that are appended. Their objects are stored ahead of the
// document, which counts them afterwards. If another program truncates the array in
// between, the document is not changed: the rows are refused. Then what was stored of
// them is taken back, so that no program that makes the array longer finds them. Their
// bytes are dirty again, so that they are kept in a file.

// releaseAhead ends holdAhead. Bytes are forgotten if the document is stored. Otherwise they
// are dirty again. What was stored of rows that are refused is taken back.
func (s *storer) releaseAhead(ctx context.Context, err error) error {
	s.mu.Lock()
	held := s.ahead.held
	s.ahead.holds, s.ahead.held = false, nil
	if err == nil {
		s.ahead.Count(s.rows.Load())
	}
	s.mu.Unlock()
	for _, j := range held {
		if err == nil {
			(*source)(s.draft).stored(j)
			continue
		}
		j.Thaw()
		s.mu.Lock()
		s.noteAhead(j, true)
		s.mu.Unlock()
	}
	s.takeBackAhead(ctx, err)
	return err
}

// checkAhead returns an error if objects that were stored ahead of the document are not there any
// more: another program may have made the array longer, and truncated it again. Nor may another
// object be in the place of one, unless the document counts rows of it: another program that
// appends to the same object keeps what is in it. The caller has found the array's home.
func (s *storer) checkAhead(ctx context.Context) error {
	if !s.ahead.IsDoubtful.Swap(false) {
		return nil
	}
	s.mu.Lock()
	a, stored := s.live.Load(), s.ahead.Objects()
	s.mu.Unlock()
	err := s.findAhead(ctx, a, stored)
	if err != nil {
		s.ahead.IsDoubtful.Store(true)
	}
	return err
}

func (s *storer) findAhead(
	ctx context.Context, a *Array, stored map[int64]unstored.AheadObject,
) error {
	rows := s.rows.Load()
	for n, o := range stored {
		if o.Dirty {
			continue
		}
		info, err := s.home.Store.Stat(ctx, a.gen.Objects.Key(n))
		isOther := err == nil && info.Version != o.Version && o.From >= rows
		if isOther || errors.Is(err, iofs.ErrNotExist) {
			return &unstored.TruncatedError{Had: o.End, Has: o.From}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// takeBackAhead takes back what was stored ahead of the document, if why says that it
// will not be counted. What cannot be taken back is tried again by the next flush. The
// caller has found the array's home.
func (s *storer) takeBackAhead(ctx context.Context, why error) {
	s.mu.Lock()
	stored := s.ahead.Objects()
	s.mu.Unlock()
	if !errors.Is(why, catalog.ErrOrphan) || len(stored) == 0 {
		return
	}
	if err := s.takeBackAll(ctx, stored); err != nil {
		s.h.of.Log.Error("objects of refused rows are still in the store after the array's end; "+
			"the next flush removes them if it can", "array", s.path, "err", err)
	}
	live := s.live.Load()
	live.changed()
	live.lineage.changedForLater()
}

// takeBackAll takes back the rows of some objects.
func (s *storer) takeBackAll(ctx context.Context, stored map[int64]unstored.AheadObject) error {
	s.mu.Lock()
	a, most := s.live.Load(), max(s.truncation.Most(), s.rows.Load())
	s.mu.Unlock()
	most = max(most, a.gen.Rows()) // rows that were truncated since count too
	longest, err := a.gen.WithRows(most, 0, a.gen.ID)
	if err != nil {
		return err
	}
	r := retraction{s, a.next(longest)}
	for n, o := range stored {
		if err := r.takeBack(ctx, n, &o); err != nil {
			return err
		}
		s.mu.Lock()
		s.ahead.Forget(n)
		s.mu.Unlock()
	}
	return nil
}

// A retraction takes back rows that are refused, while a flush goes on.
type retraction struct {
	*storer
	all *Array // with as many rows as it had
}

// takeBack takes back rows of one object. If another program has replaced it since, it is
// left to that.
func (r *retraction) takeBack(ctx context.Context, n int64, o *unstored.AheadObject) error {
	j := &batch.Job{Number: n}
	r.all.job(j, func(chunk int64) int64 { return r.all.gen.BytesBefore(chunk, o.From) })
	done, err := r.writer().Rewrite(ctx, j, o.Version, func(old *object.Reader) error {
		return r.regain(n, o, old)
	})
	if done {
		r.h.of.Durable.Note(r.path, j.Key)
		r.h.forgetChunks(j)
	}
	return err
}

// regain makes rows of a stored object dirty again, except for what was written since.
func (r *retraction) regain(n int64, o *unstored.AheadObject, old *object.Reader) (err error) {
	if o.Dirty {
		return nil
	}
	if over := r.h.of.Dirty.Over(); over > 0 {
		return fmt.Errorf("no room for its rows: dirty bytes exceed the limit by %d", over)
	}
	r.all.gen.Objects.EachChunk(n, func(chunk, inner int64) {
		if err == nil && chunk < r.all.gen.Grid.Chunks() {
			err = r.regainChunk(chunk, o, func(p []byte) error { return old.Decode(p, inner) })
		}
	})
	return err
}

// regainChunk is regain of one chunk.
func (r *retraction) regainChunk(
	n int64, o *unstored.AheadObject, decode func(p []byte) error,
) error {
	size := r.all.gen.Grid.BytesOf(n)
	buf := r.h.of.Shared.Memory.Get(size)
	defer r.h.of.Shared.Memory.Put(buf)
	err := decode(buf)
	if errors.Is(err, codec.ErrEmpty) {
		return nil
	}
	r.mu.Lock() // nobody writes meanwhile
	defer r.mu.Unlock()
	box, row := r.all.gen.Grid.Box(n), r.all.gen.Grid.RowBytes()
	for flat, off := range box.Runs() {
		lo, hi := max(flat, o.From*row)-flat, min(flat+box.RunLen, o.End*row)-flat
		if err == nil && lo < hi {
			err = r.set.WriteUnder(n, size, off+lo, buf[off+lo:off+hi])
		}
	}
	return err
}
