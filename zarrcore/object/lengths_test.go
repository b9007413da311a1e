package object

import (
	"errors"
	"slices"
	"testing"
	"time"
)

// bounded returns the keys of an array of so many rows, in objects of 4 rows that end with it.
func bounded(t *testing.T, rows int64) *Keys {
	t.Helper()
	m := described([]int64{rows}, []int64{4})
	m.Bounded = []int64{4}
	k, err := NewKeys(m, "a")
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// of returns the lengths of the first objects, and how many rows of them count.
func of(l *Lengths, k *Keys, objects int64) (lengths, shown []int64) {
	for n := range objects {
		length, rows := l.Of(k, n)
		lengths, shown = append(lengths, length), append(shown, rows)
	}
	return lengths, shown
}

// TestLengths follows an array of 10 rows that is to have 15: its objects have the old lengths
// until each is stored.
func TestLengths(t *testing.T) {
	l, grown := NewLengths(10), bounded(t, 15)
	expect := func(when string, want ...int64) {
		t.Helper()
		counts := slices.Clone(want)
		if when == "before" {
			counts[3] = 0 // it is not of this process
		}
		if got, shown := of(l, grown, 4); !slices.Equal(got, want) || !slices.Equal(shown, counts) {
			t.Errorf("%s: objects have %v rows, of which %v count, want %v and %v",
				when, got, shown, want, counts)
		}
	}
	expect("before", 4, 4, 2, 4)
	if l.HasOther() || !l.IsAllStored(10) || l.IsAllStored(15) {
		t.Error("lengths are not those of 10 rows before anything is stored")
	}
	if l.Fits(grown, 2) || !l.Fits(grown, 1) {
		t.Error("object 2 has 2 rows of 4, and object 1 all 4")
	}
	l.Note(grown, 2)
	l.Note(grown, 3)
	expect("stored", 4, 4, 4, 3)
	if !l.HasOther() || l.IsAllStored(10) {
		t.Error("object 2 has another length than in an array of 10 rows")
	}
	l.NoteAllStored(15)
	expect("settled", 4, 4, 4, 3)
	if l.HasOther() || !l.IsAllStored(15) {
		t.Error("lengths are not those of 15 rows once they are settled")
	}
}

// TestLengthsLeftByAnother: of an object that a killed process has left with more rows, those of
// the stored document count, until this process stores the object.
func TestLengthsLeftByAnother(t *testing.T) {
	l, k := NewLengths(10), bounded(t, 10)
	if _, longer := l.find(k, 2, 2, 2); longer {
		t.Error("an object is longer than it is")
	}
	if shown, longer := l.find(k, 2, 4, 2); !longer || shown != 2 {
		t.Errorf("%d rows of a longer object count, want 2", shown)
	}
	if length, shown := l.Of(k, 2); length != 4 || shown != 2 {
		t.Errorf("the object has %d rows, of which %d count, want 4 and 2", length, shown)
	}
	grown := bounded(t, 15)
	if _, shown := l.Of(grown, 3); shown != 0 {
		t.Errorf("%d rows behind the document's end count, want none", shown)
	}
	l.Note(grown, 3)
	l.Note(k, 2)
	if _, shown := l.Of(grown, 3); shown != 3 || !l.Fits(k, 2) {
		t.Error("objects that this process has stored count as left by another")
	}
}

// TestLengthsOfOthers: where objects do not end with the array, all have the grid's length.
func TestLengthsOfOthers(t *testing.T) {
	k, err := NewKeys(described([]int64{10}, []int64{4}), "a")
	if err != nil {
		t.Fatal(err)
	}
	l := NewLengths(3)
	want := []int64{4, 4, 4}
	if got, shown := of(l, k, 3); !slices.Equal(got, want) || !slices.Equal(shown, want) {
		t.Errorf("objects have %v rows, of which %v count, want %v", got, shown, want)
	}
}

// TestReplaceExcludesOpen: no object of such an array is opened while one is replaced, and an error
// of either is handed on.
func TestReplaceExcludesOpen(t *testing.T) {
	l, k := NewLengths(10), bounded(t, 10)
	failed := errors.New("failed")
	opened, committed := make(chan error), false
	err := l.Replace(func() error {
		go func() {
			opened <- l.Open(k, func() error {
				if !committed {
					t.Error("an object was opened while one was replaced")
				}
				return failed
			})
		}()
		time.Sleep(20 * time.Millisecond)
		committed = true
		return failed
	})
	if opened := <-opened; !errors.Is(err, failed) || !errors.Is(opened, failed) {
		t.Errorf("errors %v and %v, want %v", err, opened, failed)
	}
}
