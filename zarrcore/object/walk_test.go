package object

import (
	"context"
	"errors"
	iofs "io/fs"
	"slices"
	"testing"

	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
)

// TestFolders: the folders that may hold objects of an array are found, and no others.
func TestFolders(t *testing.T) {
	st := store.New(memstore.New(), "mem")
	for _, key := range []string{
		"g/a/zarr.json", "g/a/c/0/0", "g/a/c/1/0", "g/a/c/1/2/3", "g/a/c/x/0", "g/a/b/0",
		"g/a/0/1", "g/a/7/1", "g/a/1.2", "g/ab/c/0/0",
	} {
		if err := st.Put(context.Background(), key, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	parts := layout.KeyEncoding{Kind: layout.KeyDefault, Separator: '/'}
	for _, tc := range []struct {
		keys layout.KeyEncoding
		rank int
		want []string
	}{
		{parts, 2, []string{"g/a/c", "g/a/c/0", "g/a/c/1"}},
		{parts, 1, []string{"g/a/c"}},
		{parts, 0, nil},
		{layout.KeyEncoding{Kind: layout.KeyDefault, Separator: '.'}, 2, nil},
		{layout.KeyEncoding{Kind: layout.KeyV2, Separator: '/'}, 2, []string{"g/a/0", "g/a/7"}},
		{layout.KeyEncoding{Kind: layout.KeyV2, Separator: '.'}, 2, nil},
	} {
		lengths := slices.Repeat([]int64{8}, tc.rank)
		m := described(lengths, lengths)
		m.Keys = tc.keys
		keys, err := NewKeys(m, "g/a")
		var found []string
		if err == nil {
			err = keys.Folders(t.Context(), st, func(key string, _ store.Rights) error {
				found = append(found, key)
				return nil
			})
		}
		if slices.Sort(found); err != nil || !slices.Equal(found, tc.want) {
			t.Errorf("%+v, %d axes: %v (%v), want %v", tc.keys, tc.rank, found, err, tc.want)
		}
	}
	keys, err := NewKeys(described(nil, nil), "g/gone")
	if err == nil {
		err = keys.Folders(t.Context(), st, nil)
	}
	if !errors.Is(err, iofs.ErrNotExist) {
		t.Errorf("an array that is not there: %v", err)
	}
}
