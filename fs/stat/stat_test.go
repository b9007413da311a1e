package stat

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/pathstate"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/hierarchytest"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
)

// bothParts is a state that has nothing else.
type bothParts struct {
	node  pathstate.Bound[NodePart]
	taken pathstate.Bound[TakenPart]
}

func (s *bothParts) nodeOf() *pathstate.Bound[NodePart]   { return &s.node }
func (s *bothParts) takenOf() *pathstate.Bound[TakenPart] { return &s.taken }

// Moved implements pathstate.State.
func (s *bothParts) Moved(to string) { s.node.Moved(to); s.taken.Moved(to) }

// Ended implements pathstate.State.
func (s *bothParts) Ended() { s.node.Ended(); s.taken.Ended() }

// Join implements pathstate.State.
func (s *bothParts) Join(*bothParts) {}

// IsEmpty implements pathstate.State.
func (s *bothParts) IsEmpty() bool { return s.node.IsEmpty() && s.taken.IsEmpty() }

// fixture is a cache of a store in memory with an array "a".
type fixture struct {
	*Cache
	h      *zarrcore.Hierarchy
	states *pathstate.Table[bothParts, *bothParts]
	a      *zarrcore.Node
	bytes  int64 // that the array takes
}

// newFixture returns the cache of an array of so many chunks of one byte.
func newFixture(t *testing.T, chunks int) *fixture {
	t.Helper()
	f := &fixture{states: new(pathstate.Table[bothParts, *bothParts])}
	doc := fmt.Sprintf(`{"zarr_format": 2, "shape": [%d], "chunks": [1], "dtype": "|u1",
		"fill_value": 0, "order": "C", "compressor": null, "filters": null}`, chunks)
	objects := map[string]string{".zgroup": `{"zarr_format": 2}`, "a/.zarray": doc}
	for i := range chunks {
		objects[fmt.Sprintf("a/%d", i)] = "1"
	}
	f.bytes = int64(len(doc) + chunks)
	h, s := hierarchytest.Open(t, memstore.New(), objects)
	f.h = h
	var err error
	if f.a, err = h.Node(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	f.Cache = NewCache(t.Context(), h, s, &errno.Log{To: slog.New(slog.DiscardHandler)}, States{
		Nodes: pathstate.PartsOf(f.states, (*bothParts).nodeOf),
		Taken: pathstate.PartsOf(f.states, (*bothParts).takenOf)})
	return f
}

func TestTaken(t *testing.T) {
	f := newFixture(t, 3)
	n := f.a
	if _, known, settled := f.peek(n); known || settled {
		t.Error("known before it was counted")
	}
	s, known := f.Taken(context.Background(), n, time.Second)
	if !known || s.Bytes != f.bytes || s.ModTime.IsZero() {
		t.Errorf("%+v, %v, want %d bytes", s, known, f.bytes)
	}
	if _, known, _ := f.peek(n); !known {
		t.Error("a count is not remembered")
	}
	changed := *n
	changed.Version += "changed"
	if _, known, _ := f.peek(&changed); known {
		t.Error("the count of an older version is believed")
	}
	f.ForgetAll("a")
	if _, known, _ := f.peek(n); known {
		t.Error("a count is remembered that was to be forgotten")
	}
}

// TestTakenInBackground counts more objects than there is time for: the count goes on in the
// background.
func TestTakenInBackground(t *testing.T) {
	f := newFixture(t, 200)
	if _, known := f.Taken(context.Background(), f.a, -time.Second); known {
		t.Fatal("counted in no time")
	}
	began := time.Now()
	f.awaitCount(t)
	if took := time.Since(began); took < countAfter {
		t.Errorf("counted after %s, expected %s for a program that opens and reads", took,
			countAfter)
	}
}

// awaitCount waits until the count in the background is known.
func (f *fixture) awaitCount(t *testing.T) {
	t.Helper()
	for range 500 {
		if s, known, _ := f.peek(f.a); known {
			if s.Bytes != f.bytes {
				t.Errorf("%d bytes, want %d", s.Bytes, f.bytes)
			}
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the count in the background never ends")
}

// TestTakenManyObjects: a stat takes a bounded number of looks, however long it may wait, and the
// count goes on in the background.
func TestTakenManyObjects(t *testing.T) {
	f := newFixture(t, 5000)
	if _, known := f.Taken(context.Background(), f.a, time.Hour); known {
		t.Error("a stat waits until all objects are counted")
	}
	f.awaitCount(t)
}

// TestTakenManyDirectories: a stat that cannot go through all directories of an array goes through
// none of them, and still has their times.
func TestTakenManyDirectories(t *testing.T) {
	s := store.New(memstore.New(), "test")
	for i := range 100 {
		for j := range 10 {
			if err := s.Put(t.Context(), fmt.Sprintf("a/c/%d/%d", i, j), []byte("1")); err != nil {
				t.Fatal(err)
			}
		}
	}
	w := counter{store: s, path: "a", looks: 99 * zarrcore.DirLooks, sum: new(Taken)}
	if err := w.dir(t.Context(), "a"); err != errLong {
		t.Errorf("counted to the end: %v", err)
	}
	if w.seen != 102 || w.sum.Bytes != 0 { // c and those in it, and the walk through c
		t.Errorf("the count saw %d names with %d bytes, expected the directories alone", w.seen,
			w.sum.Bytes)
	}
	w = counter{store: s, path: "a", looks: 2000, sum: new(Taken)}
	if err := w.dir(t.Context(), "a"); err != nil || w.sum.Bytes != 1000 {
		t.Errorf("%d bytes, %v, expected 1000", w.sum.Bytes, err)
	}
}

func TestTakenBounds(t *testing.T) {
	f := newFixture(t, 3)
	for i := range mostCounts + 10 {
		m := *f.a
		m.Path = fmt.Sprint(i)
		f.put(&m, Taken{}, 0)
	}
	if n := f.states.Len(); n != mostCounts {
		t.Errorf("%d arrays are remembered, expected %d", n, mostCounts)
	}
}

// TestBelieved: a count is believed for longer where so many arrays are counted that a listing
// takes longer than that. This is also true of the array that was counted first.
func TestBelieved(t *testing.T) {
	f := newFixture(t, 3)
	f.put(f.a, Taken{}, 50*time.Microsecond)
	f.taken.Change("a", func(e *TakenPart) *TakenPart {
		aged := *e
		aged.at = aged.at.Add(-2 * takenFor)
		return &aged
	})
	if _, known, _ := f.peek(f.a); known {
		t.Errorf("the count of one array is believed for more than %s", takenFor)
	}
	for i := range 50_000 {
		m := *f.a
		m.Path = fmt.Sprint(i)
		f.put(&m, Taken{}, 0)
	}
	if got := f.believed(50 * time.Microsecond).Round(time.Second); got != 50*time.Second {
		t.Errorf("of 50,000 arrays it is %s, expected 50s", got)
	}
	if _, known, _ := f.peek(f.a); !known {
		t.Error("the array that was counted first is counted again")
	}
	if got := f.believed(time.Millisecond); got != allFor {
		t.Errorf("the count of slow ones is believed for %s", got)
	}
}

func TestNode(t *testing.T) {
	f := newFixture(t, 3)
	ctx := context.Background()
	first, err := f.Node(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := f.Node(ctx, "a"); again != first {
		t.Error("a node is read again at once")
	}
	f.Forget("a")
	if again, _ := f.Node(ctx, "a"); again == first {
		t.Error("a forgotten node is not read again")
	}
	now := time.Now()
	kept := func(path string, now time.Time) bool {
		n, _ := f.recent(path, now)
		return n != nil
	}
	_, age := f.recent("0", now)
	for i := range 3 * mostNodes {
		f.keep(fmt.Sprint(i), first, now, age)
	}
	if n := f.states.Len(); n > mostNodes || kept("0", now) ||
		!kept(fmt.Sprint(3*mostNodes-1), now) {
		t.Errorf("%d nodes are kept", n)
	}
	if kept(fmt.Sprint(3*mostNodes-1), now.Add(recentFor)) {
		t.Error("an old node is used")
	}
	f.Forget("late")
	if f.keep("late", first, now, age); kept("late", now) {
		t.Error("a node is kept that was read before it was forgotten")
	}
	if _, err := f.Node(ctx, "nothing"); err == nil {
		t.Error("a missing node is found")
	}
}
