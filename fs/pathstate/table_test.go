package pathstate

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/zarrfs/zarrfs/fs/names"
)

// word is a state for tests: what follows a rename, and what belongs to the name.
type word struct {
	carried string
	stays   string
	at      string // as Moved told it
}

func (w *word) Moved(to string) { w.at = to }
func (w *word) Ended()          { w.carried = "" }
func (w *word) Join(o *word)    { w.stays += o.stays }
func (w *word) IsEmpty() bool   { return w.carried == "" && w.stays == "" }

type words = Table[word, *word]

func carry(t *words, path, text string) { t.Make(path, func(w *word) { w.carried = text }) }

// contents returns what a table holds, by path.
func contents(t *words) map[string]word {
	all := make(map[string]word)
	t.Each("", func(path string, w *word) { all[path] = *w })
	return all
}

func TestMoveTakesAllBelow(t *testing.T) {
	var table words
	for _, path := range []string{"g", "g/a", "g/sub/b", "ga", "other"} {
		carry(&table, path, path)
	}
	carry(&table, "h/a", "replaced")
	table.Move("g", "h/new")
	want := map[string]word{
		"h/new": {"g", "", "h/new"}, "h/new/a": {"g/a", "", "h/new/a"},
		"h/new/sub/b": {"g/sub/b", "", "h/new/sub/b"},
		"ga":          {"ga", "", ""}, "other": {"other", "", ""}, "h/a": {"replaced", "", ""},
	}
	if got := contents(&table); !maps.Equal(got, want) {
		t.Errorf("found %v, expected %v", got, want)
	}
}

func TestMoveEndsWhatWasThere(t *testing.T) {
	var table words
	carry(&table, "a", "new")
	carry(&table, "b", "old")
	table.Make("b", func(w *word) { w.stays = "name" })
	table.Make("b/below", func(w *word) { w.stays = "below" })
	table.Move("a", "b")
	want := map[string]word{"b": {"new", "name", "b"}, "b/below": {"", "below", "b/below"}}
	if got := contents(&table); !maps.Equal(got, want) {
		t.Errorf("found %v, expected %v", got, want)
	}
	table.Move("nothing", "b")
	if got := contents(&table)["b"]; got.carried != "" || got.stays != "name" {
		t.Errorf("after a node of which nothing is known took its place: %+v", got)
	}
}

func TestBothChangesTwoPathsInOneStep(t *testing.T) {
	var table words
	carry(&table, "a/x", "text")
	pass := func(from, to string) {
		table.Both(func() (string, string) { return from, to }, func(one, other *word) {
			text := one.carried
			one.carried = ""
			other.carried = text
		})
	}
	pass("a/x", "a/x")
	pass("a/x", "a")
	pass("a", "a/y/z")
	if got, want := contents(&table), map[string]word{"a/y/z": {carried: "text"}}; !maps.Equal(got,
		want) {
		t.Errorf("found %v, expected %v", got, want)
	}
	pass("none", "none")
	pass("none", "other/none")
	if n := table.Len(); n != 1 {
		t.Errorf("%d states, expected 1", n)
	}
}

func TestEndKeepsWhatBelongsToTheName(t *testing.T) {
	var table words
	carry(&table, "g/a", "x")
	table.Make("g/b", func(w *word) { w.carried, w.stays = "x", "y" })
	table.End("g")
	if got, want := contents(&table), map[string]word{"g/b": {stays: "y"}}; !maps.Equal(got, want) {
		t.Errorf("found %v, expected %v", got, want)
	}
	called := false
	table.Look("g/a", func(*word) { called = true })
	table.Edit("g/a", func(*word) { called = true })
	if called {
		t.Error("a state that was dropped is found")
	}
}

// TestEmptyStatesAreDropped makes and empties a million states in folders of a thousand: nothing of
// them is left.
func TestEmptyStatesAreDropped(t *testing.T) {
	const most = 1_000_000
	var table words
	path := func(i int) string { return fmt.Sprintf("group/%d/%d", i/1000, i) }
	before := heap()
	for i := range most {
		carry(&table, path(i), "x")
	}
	full := heap()
	table.Move("group", "moved")
	for i := range most {
		table.Edit("moved"+strings.TrimPrefix(path(i), "group"), (*word).Ended)
	}
	if n := table.Len(); n != 0 || table.root.children != nil {
		t.Errorf("%d states are left, and %d folders", n, len(table.root.children))
	}
	if after := heap(); after-before > (full-before)/100 {
		t.Errorf("%d bytes are left of %d", after-before, full-before)
	}
	runtime.KeepAlive(&table)
}

// heap returns how many bytes are in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestSeekWhileMoved seeks a state that is moved to and fro all the time: it is always found.
func TestSeekWhileMoved(t *testing.T) {
	const from, to = "g/a", "h/a"
	var table words
	carry(&table, from, "x")
	var at atomic.Value
	at.Store(from)
	where := func() string { return at.Load().(string) }
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 20_000 {
			table.MoveWith("g", "h", func() { at.Store(to) })
			table.MoveWith("h", "g", func() { at.Store(from) })
		}
	}()
	for seeks := 0; ; seeks++ {
		found := false
		table.Seek(where, func(w *word) { found = w.carried == "x" })
		if !found {
			t.Errorf("seek %d: the state is not found", seeks)
		}
		select {
		case <-done:
			return
		default:
		}
		if t.Failed() {
			<-done
			return
		}
	}
}

// TestAgainstMap does random steps with a table and with a plain map from paths to states, and
// compares them.
func TestAgainstMap(t *testing.T) {
	paths := []string{"", "a", "b", "a/a", "a/b", "b/a", "a/a/a", "a/b/c", "ab", "ab/c"}
	random := rand.New(rand.NewPCG(1, 2))
	var table words
	plain := make(map[string]word)
	for step := range 20_000 {
		path, other := paths[random.IntN(len(paths))], paths[random.IntN(len(paths))]
		switch random.IntN(5) {
		case 0, 1:
			carry(&table, path, fmt.Sprint(step))
			w := plain[path]
			w.carried = fmt.Sprint(step)
			plain[path] = w
		case 2:
			table.Make(path, func(w *word) { w.stays = "s" })
			w := plain[path]
			w.stays = "s"
			plain[path] = w
		case 3:
			table.End(path)
			endPlain(plain, path)
		case 4:
			if path == "" || other == "" || names.IsUnder(other, path) ||
				names.IsUnder(path, other) {
				continue
			}
			table.Move(path, other)
			movePlain(plain, path, other)
		}
		if got := contents(&table); !reflect.DeepEqual(got, plain) {
			t.Fatalf("step %d: found %v, expected %v", step, got, plain)
		}
	}
}

func endPlain(plain map[string]word, top string) {
	for _, path := range slices.Collect(maps.Keys(plain)) {
		if w := plain[path]; names.IsUnder(path, top) {
			w.carried = ""
			plain[path] = w
			if w.IsEmpty() {
				delete(plain, path)
			}
		}
	}
}

func movePlain(plain map[string]word, from, to string) {
	moved := make(map[string]word)
	for path, w := range plain {
		if names.IsUnder(path, from) {
			moved[names.Moved(path, from, to)] = w
			delete(plain, path)
		}
	}
	endPlain(plain, to)
	if len(moved) == 0 {
		return
	}
	for path, w := range moved {
		w.stays += plain[path].stays
		plain[path] = w
	}
	for path, w := range plain {
		if names.IsUnder(path, to) {
			w.at = path
			plain[path] = w
		}
	}
}
