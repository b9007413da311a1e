package zarrcore_test

import (
	"context"
	"errors"
	iofs "io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/recipe"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
)

// TestRecipes creates arrays in groups that say what arrays look like there.
func TestRecipes(t *testing.T) {
	ctx := context.Background()
	h := created(t, "chunks", "2,2")
	for _, dir := range []string{"own", "own/below", "other", "broken"} {
		if err := h.CreateGroup(ctx, dir); err != nil {
			t.Fatal(err)
		}
	}
	for dir, value := range map[string]string{"own": `{"chunks": [3, 4], "codecs": "none"}`,
		"own/below": `{"codecs": "zstd:1"}`, "broken": `{"chunk": 1}`} {
		if err := h.SetAttribute(ctx, dir, "zarrfs", []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
	u1, err := dtype.ParseDescr("'|u1'")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		path   string
		chunk  []int64
		codecs string
	}{
		{"a", []int64{2, 2}, "bytes zstd"}, {"other/a", []int64{2, 2}, "bytes zstd"},
		{"own/a", []int64{3, 4}, "bytes"}, {"own/below/a", []int64{3, 4}, "bytes zstd"},
	} {
		a, err := h.CreateArray(ctx, tc.path, []int64{8, 8}, u1, false)
		if err != nil {
			t.Errorf("%s: %v", tc.path, err)
			continue
		}
		var codecs []string
		for _, c := range a.Meta().Codecs {
			codecs = append(codecs, c.Name)
		}
		if !slices.Equal(a.Chunk(), tc.chunk) || strings.Join(codecs, " ") != tc.codecs {
			t.Errorf("%s: chunks %v, codecs %q, expected %v, %q", tc.path, a.Chunk(), codecs,
				tc.chunk, tc.codecs)
		}
	}
	if _, err := h.CreateArray(ctx, "broken/a", []int64{8, 8}, u1, false); err == nil ||
		!strings.Contains(err.Error(), `attribute "zarrfs"`) {
		t.Errorf("a group whose attribute is broken: %v", err)
	}
	if err := h.SetAttribute(ctx, "own", "zarrfs", []byte(`{"chunk": 1}`)); err != nil {
		t.Fatal(err)
	}
	a, err := h.Overwrite(ctx, "own/a", []int64{9, 5}, u1, false)
	if err != nil || !slices.Equal(a.Chunk(), []int64{3, 4}) {
		t.Errorf("an array that is overwritten keeps its chunks and asks no recipe: %v", err)
	}
}

// created returns a new hierarchy with a setting of its recipe.
func created(t *testing.T, setting, text string) *zarrcore.Hierarchy {
	t.Helper()
	ctx, st := context.Background(), store.New(memstore.New(), "new")
	if err := zarrcore.Create(ctx, st, 0); err != nil {
		t.Fatal(err)
	}
	if err := zarrcore.Create(ctx, st, 2); !errors.Is(err, iofs.ErrExist) {
		t.Errorf("created twice: %v", err)
	}
	r, err := recipe.Recipe{}.Set(setting, text)
	if err != nil {
		t.Fatal(err)
	}
	h, err := zarrcore.Open(ctx, st, &zarrcore.Options{Recipe: r})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}
