package fs

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
)

func TestStoredBytes(t *testing.T) {
	f := testFilesystem(t, testObjects())
	n, err := f.h.Node(context.Background(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if _, known, settled := f.stored.peek(n); known || settled {
		t.Error("known before it was counted")
	}
	want := int64(len(testObjects()["a/zarr.json"]) + 3*12)
	s, known := f.stored.get(context.Background(), f, n, time.Second)
	if !known || s.bytes != want || s.mtime.IsZero() {
		t.Errorf("%+v, %v, want %d bytes", s, known, want)
	}
	if _, known, _ := f.stored.peek(n); !known {
		t.Error("a count is not remembered")
	}
	changed := *n
	changed.Version += "changed"
	if _, known, _ := f.stored.peek(&changed); known {
		t.Error("the count of an older version is believed")
	}
}

// TestStoredTakesLong counts more objects than there is time for: the count goes on in the background.
func TestStoredTakesLong(t *testing.T) {
	o := testObjects()
	for i := range 200 {
		o[fmt.Sprintf("a/c/0/x%d", i)] = "1234567890"
	}
	f := testFilesystem(t, o)
	n, err := f.h.Node(context.Background(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if _, known := f.stored.get(context.Background(), f, n, -time.Second); known {
		t.Fatal("counted in no time")
	}
	want := int64(len(o["a/zarr.json"]) + 3*12 + 2000)
	for range 500 {
		if s, known, _ := f.stored.peek(n); known {
			if s.bytes != want {
				t.Errorf("%d bytes, want %d", s.bytes, want)
			}
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the count in the background never ends")
}

func TestStoredBounds(t *testing.T) {
	c, table := new(storedCache), new(states)
	c.init(table, store.New(memstore.New(), ""))
	f := testFilesystem(t, testObjects())
	n, err := f.h.Node(context.Background(), "a")
	if err != nil {
		t.Fatal(err)
	}
	for i := range storedMost + 10 {
		m := *n
		m.Path = fmt.Sprint(i)
		c.put(&m, stored{}, 0)
	}
	if n := table.Len(); n != storedMost {
		t.Errorf("%d arrays are remembered, expected %d", n, storedMost)
	}
}

func TestRecent(t *testing.T) {
	f := testFilesystem(t, testObjects())
	ctx := context.Background()
	first, err := f.node(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := f.node(ctx, "a"); again != first {
		t.Error("a node is read again at once")
	}
	f.recent.forget("a")
	if again, _ := f.node(ctx, "a"); again == first {
		t.Error("a forgotten node is not read again")
	}
	now := time.Now()
	kept := func(path string, now time.Time) bool {
		n, _ := f.recent.get(path, now)
		return n != nil
	}
	_, forgets := f.recent.get("0", now)
	for i := range 3 * recentNodes {
		f.recent.put(fmt.Sprint(i), first, now, forgets)
	}
	if n := f.states.Len(); n > recentNodes || kept("0", now) || !kept(fmt.Sprint(3*recentNodes-1), now) {
		t.Errorf("%d nodes are kept", n)
	}
	if kept(fmt.Sprint(3*recentNodes-1), now.Add(recentFor)) {
		t.Error("an old node is used")
	}
	f.recent.forget("late")
	if f.recent.put("late", first, now, forgets); kept("late", now) {
		t.Error("a node is kept that was read before it was forgotten")
	}
	if _, err := f.node(ctx, "nothing"); err == nil {
		t.Error("a missing node is found")
	}
}

// TestStoredManyObjects: a stat takes a bounded number of looks, however long it may wait, and the count goes on in the background.
func TestStoredManyObjects(t *testing.T) {
	const chunks = 5000
	o := objects{"zarr.json": testObjects()["zarr.json"]}
	o["a/.zarray"] = fmt.Sprintf(`{"zarr_format": 2, "shape": [%d], "chunks": [1], "dtype": "|u1", "fill_value": 0,
		"order": "C", "compressor": null, "filters": null}`, chunks)
	for i := range chunks {
		o[fmt.Sprintf("a/%d", i)] = "1"
	}
	f := testFilesystem(t, o)
	n, err := f.h.Node(context.Background(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if _, known := f.stored.get(context.Background(), f, n, time.Hour); known {
		t.Error("a stat waits until all objects are counted")
	}
	for range 500 {
		if s, known, _ := f.stored.peek(n); known {
			if want := int64(len(o["a/.zarray"]) + chunks); s.bytes != want {
				t.Errorf("%d bytes, want %d", s.bytes, want)
			}
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the count in the background never ends")
}
