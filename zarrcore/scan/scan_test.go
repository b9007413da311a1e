package scan

import (
	"context"
	"errors"
	"io/fs"
	"testing"

	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/object"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
)

// watched returns an empty store, and a watch of an array of 10 objects in it that counts epochs.
func watched(t *testing.T) (*store.Store, *Watch) {
	t.Helper()
	keys, err := object.NewKeys(&meta.Array{Shape: []int64{10},
		Chunks: meta.Chunks{Chunk: []int64{1}},
		Keys:   layout.KeyEncoding{Kind: layout.KeyDefault, Separator: '/'}}, "a")
	if err != nil {
		t.Fatal(err)
	}
	st := store.New(memstore.New(), "mem")
	var w *Watch
	w = NewWatch(st, keys, store.Freshness{}, func() { w.NewEpoch() })
	return st, w
}

// put stores an object.
func put(t *testing.T, st *store.Store, key string) {
	t.Helper()
	staged, err := st.Stage(context.Background(), key, []byte("x"))
	if err == nil {
		_, err = staged.Commit(context.Background(), store.If{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestRefresh: an open of an array begins an epoch if its objects have changed since the last one,
// and none otherwise.
func TestRefresh(t *testing.T) {
	st, w := watched(t)
	ctx := context.Background()
	opened := func(what string, changed bool) {
		t.Helper()
		before := w.Epoch()
		if w.Refresh(ctx); (w.Epoch() != before) != changed {
			t.Errorf("%s: epoch %d after %d", what, w.Epoch(), before)
		}
	}
	opened("first", true)
	opened("nothing stored", false)
	put(t, st, "a/c/3")
	opened("object 3 stored", true)
	put(t, st, "a/other")
	opened("what is no object stored", false)
	put(t, st, "a/c/3")
	opened("object 3 replaced", true)
	if err := st.Delete(ctx, "a/c/3", store.If{}); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	opened("object 3 deleted", true)
}

// TestForgottenMeanwhile: a scan that began before this process changed an object is not kept.
func TestForgottenMeanwhile(t *testing.T) {
	_, w := watched(t)
	s, err := w.Walk(context.Background(), Limit)
	if err != nil {
		t.Fatal(err)
	}
	w.Forget()
	if w.observe(s); w.Last() != nil {
		t.Error("a scan is kept that may lack an object")
	}
}
