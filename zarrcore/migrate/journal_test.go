package migrate

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
)

// FuzzJournal reads any text as a journal: what is taken names documents below its node and nothing
// else, and is stored as it was read.
func FuzzJournal(f *testing.F) {
	f.Add(`{"zarrfs_migration": 1, "steps": []}`)
	f.Add(`{"zarrfs_migration": 1, "steps": [
		{"from": 2, "to": 3, "arrays": 1, "kept": ["b"], "changes": [
		{"key": "a/.zarray", "old": "{}", "new": null},
		{"key": "zarr.json", "old": null, "new": "é"}]}]}`)
	f.Add(`{"zarrfs_migration": 1, "steps": [{"changes": [{"key": "../x/.zattrs"}]}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		st := store.New(memstore.New(), "test")
		if err := st.Put(t.Context(), "g/"+JournalName, []byte(text)); err != nil {
			t.Fatal(err)
		}
		j, err := readJournal(t.Context(), st, "g")
		if err != nil {
			return
		}
		for _, s := range j.Steps {
			for _, c := range s.Changes {
				if !strings.HasPrefix(c.Key, "g/") || !store.IsValidKey(c.Key) {
					t.Fatalf("%q changes %q", text, c.Key)
				}
			}
		}
		if err := j.write(t.Context(), st); err != nil {
			if !errors.Is(err, errors.ErrUnsupported) {
				t.Fatal(err)
			}
			return
		}
		again, err := readJournal(t.Context(), st, "g")
		if err != nil || len(j.Steps) > 0 && !reflect.DeepEqual(j, again) {
			t.Fatalf("%q: %v; %v was read back as %v", text, err, j, again)
		}
	})
}
