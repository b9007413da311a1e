package vlenarray

import (
	"context"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/lines"
	"github.com/zarrfs/zarrfs/zarrcore/scan"
)

// This file counts the lines of arrays whose elements have no fixed size. To count decodes all
// chunks, and to know that a count still holds takes a look at all objects. An array of so many
// objects that an open looks at few of them is large: only a caller that needs the exact size waits
// for its count.

// A Count is what counting an array has found.
type Count = lines.Count

const (
	// sizeAge is how old the size of a large array may be that is returned without a look at its
	// objects. It may also be sizeCost times as old as it took to count.
	sizeAge  = 10 * time.Second
	sizeCost = 10
	// behindFor is how long chunks are decoded in the background for one caller of CountWithin, and
	// behindAtOnce of how many arrays.
	behindFor    = 10 * time.Second
	behindAtOnce = 2
	// largeWait is how long a caller waits for the count of a large array at most.
	largeWait = 10 * time.Millisecond
)

// A recount is the last counted index of a large array. Each open of the array begins an epoch, and
// so another index.
type recount struct {
	index  *lines.Index
	print  uint64 // of the objects, right before it was counted
	stores uint64 // Watch.Stores then
}

// Size returns the array at path as Open does, for its size. A large one is as it was when it was
// last opened, or counted, if that is not long ago: no object is looked at.
func (t *Table) Size(ctx context.Context, path string) (*Array, error) {
	s, err := t.stateAt(ctx, path)
	if err != nil {
		return nil, err
	}
	if !s.isRecent() {
		s.a.watch.Refresh(ctx)
	}
	return s.array(), nil
}

// IsInUse reports whether a program has the array at path open.
func (t *Table) IsInUse(path string) bool {
	t.mu.Lock()
	s := t.arrays[path]
	t.mu.Unlock()
	return s != nil && s.readers.Load() > 0
}

// isRecent reports whether the array is large, and is being counted or was not long ago.
func (s *state) isRecent() bool {
	if !s.a.watch.IsLarge() {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.index == nil || s.source.epoch != s.a.watch.Epoch() {
		return false
	}
	latest, took := s.index.Progress()
	return s.behind != nil || time.Since(latest) < max(sizeAge, sizeCost*took)
}

// counted returns the index of an earlier epoch whose counts still hold, because all objects are as
// they were before it counted them. index is about to be counted, and takes its place. Only here,
// where all has to be decoded anyway, all objects of a large array are looked at.
func (s *state) counted(ctx context.Context, index *lines.Index) (*lines.Index, error) {
	found, err := s.a.watch.Walk(ctx, scan.Limit)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.count
	if s.count = nil; err != nil || !found.IsWhole() || found.Stores != s.a.watch.Stores() {
		return nil, nil
	}
	s.count = &recount{index, found.Print, found.Stores}
	if old == nil || old.print != found.Print {
		return nil, nil
	}
	if _, all := old.index.Counted(); all {
		s.count.index = old.index // so that there is a last count while index takes it over
	}
	return old.index, nil
}

// IsLarge reports whether the array has so many objects that its size is not known at once.
func (v *Array) IsLarge() bool { return v.a.watch.IsLarge() }

// Counted returns what has been counted until now, and whether that is the whole
// array.
func (v *Array) Counted() (Count, bool) { return v.index.Counted() }

// Count returns how long the lines of the array are and how wide its elements.
// It decodes every chunk that has not been counted yet.
func (v *Array) Count(ctx context.Context) (Count, error) { return v.index.Count(ctx) }

// CountWithin is Count for a caller that does not wait for longer; ok is false if the count is not
// known then, or fails. A large array is counted in the background. Meanwhile its last count is
// returned, unless objects are known to have changed since.
func (v *Array) CountWithin(ctx context.Context, wait time.Duration) (c Count, ok bool) {
	if v.IsLarge() {
		return v.countLarge(ctx, min(wait, largeWait))
	}
	ctx, stop := context.WithTimeout(ctx, wait)
	defer stop()
	c, err := v.Count(ctx)
	return c, err == nil
}

func (v *Array) countLarge(ctx context.Context, wait time.Duration) (Count, bool) {
	if c, all := v.Counted(); all {
		return c, true
	}
	last, known := v.last()
	begun := v.countBehind()
	if known || begun == nil {
		return last, known
	}
	select {
	case <-begun:
	case <-time.After(wait):
	case <-ctx.Done():
	}
	return v.Counted()
}

// last returns the last count of all of a large array, if no object is known to have changed since.
func (s *state) last() (Count, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count == nil || s.count.stores != s.a.watch.Stores() {
		return Count{}, false
	}
	return s.count.index.Counted()
}

// countBehind begins to count the array in the background, unless that goes on already, or too many
// others are counted. It returns what is closed when the count that it began ends; nil if it began
// none.
func (v *Array) countBehind() <-chan struct{} {
	s, running := v.state, &v.a.t.behind
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.behind != nil {
		return nil
	}
	if running.Add(1) > behindAtOnce {
		running.Add(-1)
		return nil
	}
	done := make(chan struct{})
	s.behind = done
	go func() {
		v.countFor(behindFor)
		running.Add(-1)
		s.mu.Lock()
		s.behind = nil
		s.mu.Unlock()
		close(done)
	}()
	return done
}

// countFor looks at all objects, if that is still to be done, and then counts chunks for so long.
// An error is told to those that need the count.
func (v *Array) countFor(long time.Duration) {
	ctx := context.Background()
	err := v.index.CountSome(ctx)
	end := time.Now().Add(long)
	for ; err == nil && time.Now().Before(end); err = v.index.CountSome(ctx) {
		if _, all := v.Counted(); all {
			return
		}
	}
}
