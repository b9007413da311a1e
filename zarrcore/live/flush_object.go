package live

import (
	"cmp"

	"github.com/zarrfs/zarrfs/zarrcore/batch"
	"github.com/zarrfs/zarrfs/zarrcore/chunk"
	"github.com/zarrfs/zarrfs/zarrcore/merge"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
)

// writer returns what stores objects in the array's home, which the caller has found.
func (s *storer) writer() *batch.Writer {
	of := &s.h.of
	return &batch.Writer{
		Source: (*source)(s.draft), Home: s.home, Path: s.path,
		Store: of.Store, Durable: of.Durable, Count: of.Shared.Count,
		Workers: of.Workers, Room: of.Room,
		ChunkBytes: s.live.Load().gen.Objects.ChunkBytes(),
	}
}

// job sets what j is of: the array a, in which chunks count up to cutIn.
func (a *Array) job(j *batch.Job, cutIn func(chunk int64) int64) {
	gen, of := a.gen, a.of
	j.Gen, j.Opener, j.Key = gen, a.reads.Opener, gen.Objects.Key(j.Number)
	j.Made = &merge.Object{
		Array: merge.Array{
			Objects: gen.Objects, Grid: gen.Grid, Element: gen.Meta.Fill, Fill: gen.Fill,
			Plain: gen.Plain, KeepFill: of.KeepFill,
			Memory: of.Shared.Memory, Count: of.Shared.Count,
		},
		Number: j.Number, CutIn: cutIn,
	}
}

// A source is what a draft is for package batch, which stores the draft's objects.
type source draft

// Freeze freezes the object's dirty chunks. The generation that counts is the one
// of this moment: a row that was appended since the flush began is frozen too.
func (s *source) Freeze(j *batch.Job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.live.Load()
	a.job(j, (*reading)(a).CutIn)
	a.gen.Objects.EachChunk(j.Number, func(chunk, _ int64) {
		f, err := s.set.Freeze(chunk)
		if f != nil {
			j.Made.Frozen = append(j.Made.Frozen, f)
		}
		j.Err = cmp.Or(j.Err, err)
		j.Bytes += s.complete.Remove(chunk, j.Number)
	})
}

// Stored returns the array as it is to be found in the store.
func (s *source) Stored() *meta.Array { return s.live.Load().gen.Stored() }

// Replace commits an object that may have another length than the stored one. A reader finds the
// object and its length in the same state.
func (s *source) Replace(j *batch.Job, commit func() error) error {
	return s.lengths.Replace(func() error {
		err := commit()
		if err == nil {
			s.mu.Lock() // join settles lengths in two steps
			defer s.mu.Unlock()
			s.lengths.Note(j.Gen.Objects.Keys, j.Number)
		}
		return err
	})
}

// End forgets the bytes that are stored, or makes them dirty again. Those of rows that
// the document is to count wait for that.
func (s *source) End(j *batch.Job) {
	defer s.relax(j.Bytes)
	switch {
	case j.Err != nil:
		j.Thaw()
	case !s.holds(j):
		s.stored(j)
	}
}

// stored lets everybody see the stored object, however the array is seen, and only then forgets
// the dirty bytes. That the object is fresh is noted first. A reader that loads it afterwards must
// not take it for one from before the truncation. What readers have loaded already is forgotten.
func (s *source) stored(j *batch.Job) {
	s.h.of.Durable.Note(s.path, j.Key)
	s.mu.Lock()
	s.truncation.Stored(j.Number)
	s.noteAhead(j, false)
	s.mu.Unlock()
	live := s.live.Load()
	s.h.forgetChunks(j)
	if live.gen.ID != j.Gen.ID {
		j.Gen.Objects.EachChunk(j.Number, func(n, _ int64) {
			s.h.of.Shared.Cache.Forget(chunk.ID{Array: live.gen.ID, Chunk: n})
		})
	}
	live.changed()
	live.lineage.changedForLater()
	for _, f := range j.Made.Frozen {
		f.Stored()
	}
}

// holds reports whether the bytes of an object that is stored are to be kept until
// releaseAhead, and keeps them. Where memory and scratch are full, they are not.
func (s *source) holds(j *batch.Job) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	from, end := j.Gen.Uncounted(j.Number, s.rows.Load())
	if !s.ahead.holds || from >= end || s.h.of.Dirty.Over() > 0 {
		return false
	}
	s.ahead.held = append(s.ahead.held, j)
	return true
}

// forgetChunks lets the chunks of the job's object be loaded again.
func (c *common) forgetChunks(j *batch.Job) {
	j.Gen.Objects.EachChunk(j.Number, func(n, _ int64) {
		c.of.Shared.Cache.Forget(chunk.ID{Array: j.Gen.ID, Chunk: n})
	})
}
