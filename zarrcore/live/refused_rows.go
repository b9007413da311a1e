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
// document, which counts them afterwards. If another program cuts the array in
// between, the document is not changed: the rows are refused. Then what was stored of
// them is taken back, so that no program that makes the array longer finds them. Their
// bytes are dirty again, so that they are kept in a file.

// holds reports whether the bytes of an object that is stored are to be kept until
// releaseAhead, and keeps them. Where memory and scratch are full, they are not.
func (d *draft) holds(j *batch.Job) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	from, end := j.Gen.Uncounted(j.Number, d.rows.Load())
	if !d.ahead.holds || from >= end || d.h.of.Dirty.Over() > 0 {
		return false
	}
	d.ahead.held = append(d.ahead.held, j)
	return true
}

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
			s.stored(j)
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
// more: another program may have made the array longer, and cut it again. Nor may another object
// be in the place of one, unless the document counts rows of it: another program that appends to
// the same object keeps what is in it. The caller has found the array's home.
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

func (s *storer) findAhead(ctx context.Context, a *Array, stored map[int64]unstored.AheadObject) error {
	rows := s.rows.Load()
	for n, o := range stored {
		if o.Dirty {
			continue
		}
		info, err := s.home.Store.Stat(ctx, a.gen.Objects.Key(n))
		isOther := err == nil && info.Version != o.Version && o.From >= rows
		if isOther || errors.Is(err, iofs.ErrNotExist) {
			return &unstored.CutError{Had: o.End, Has: o.From}
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
		s.h.of.Log.Error("rows that were appended, and refused, are left behind the array's end",
			"array", s.path, "err", err)
	}
	live := s.live.Load()
	live.changed()
	live.lineage.changedForLater()
}

func (s *storer) takeBackAll(ctx context.Context, stored map[int64]unstored.AheadObject) error {
	s.mu.Lock()
	a, most := s.live.Load(), max(s.cuts.Most(), s.rows.Load())
	s.mu.Unlock()
	longest, err := a.gen.WithRows(max(most, a.gen.Rows()), 0, a.gen.ID) // rows that were cut since count too
	if err != nil {
		return err
	}
	all := a.next(longest)
	for n, o := range stored {
		if err := s.takeBack(ctx, all, n, &o); err != nil {
			return err
		}
		s.mu.Lock()
		s.ahead.Forget(n)
		s.mu.Unlock()
	}
	return nil
}

// takeBack takes back rows of one object. If another program has replaced it since, it is
// left to that.
func (s *storer) takeBack(ctx context.Context, a *Array, n int64, o *unstored.AheadObject) error {
	j := &batch.Job{Number: n}
	a.job(j, func(chunk int64) int64 { return a.gen.BytesBefore(chunk, o.From) })
	done, err := s.writer().Rewrite(ctx, j, o.Version, func(old *object.Reader) error {
		return s.regain(a, n, o, old)
	})
	if done {
		s.h.of.Durable.Note(s.path, j.Key)
		s.h.forgetChunks(j)
	}
	return err
}

// regain makes rows of a stored object dirty again, except for what was written since.
func (s *storer) regain(a *Array, n int64, o *unstored.AheadObject, old *object.Reader) (err error) {
	if o.Dirty {
		return nil
	}
	if over := s.h.of.Dirty.Over(); over > 0 {
		return fmt.Errorf("no room for what it has: %d bytes more than may be are dirty", over)
	}
	a.gen.Objects.EachChunk(n, func(chunk, inner int64) {
		if err == nil && chunk < a.gen.Grid.Chunks() {
			err = s.regainChunk(a, chunk, o, func(p []byte) error { return old.Decode(p, inner) })
		}
	})
	return err
}

// regainChunk is regain of one chunk.
func (s *storer) regainChunk(
	a *Array, n int64, o *unstored.AheadObject, decode func(p []byte) error,
) error {
	size := a.gen.Grid.BytesOf(n)
	buf := s.h.of.Shared.Memory.Get(size)
	defer s.h.of.Shared.Memory.Put(buf)
	err := decode(buf)
	if errors.Is(err, codec.ErrEmpty) {
		return nil
	}
	s.mu.Lock() // nobody writes meanwhile
	defer s.mu.Unlock()
	box, row := a.gen.Grid.Box(n), a.gen.Grid.RowBytes()
	for flat, off := range box.Runs() {
		lo, hi := max(flat, o.From*row)-flat, min(flat+box.RunLen, o.End*row)-flat
		if err == nil && lo < hi {
			err = s.set.WriteUnder(n, size, off+lo, buf[off+lo:off+hi])
		}
	}
	return err
}
