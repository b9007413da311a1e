package integration

import (
	"bytes"
	"encoding/binary"
	"path/filepath"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/dirstore"
)

// An arraysReader returns the elements of all arrays of int64 of a store, by their paths.
type arraysReader func(t *testing.T, base string) map[string][]int64

// arraysReaders are zarr-python, in one process for the whole test, and our own library. Without
// zarr-python a test of that name is skipped, which ZARRFS_REQUIRE_PEERS=1 forbids.
func arraysReaders(t *testing.T) []arraysReader {
	all := []arraysReader{arraysByZarrcore}
	var interpreter string
	t.Run("zarr-python is here", func(t *testing.T) {
		interpreter = python(t, "ZARRFS_PY3", ".venv-v3")
	})
	if interpreter != "" {
		all = append(all, arraysByZarrPython(startPeer(t, interpreter)))
	}
	return all
}

// arraysByZarrPython reads by a peer, which returns each array as runs: a value and how often it is
// repeated.
func arraysByZarrPython(p *peer) arraysReader {
	return func(t *testing.T, base string) map[string][]int64 {
		t.Helper()
		var runs map[string][][2]int64
		if err := p.ask(request{"do": "runs", "path": base}, &runs); err != nil {
			t.Fatal(err)
		}
		all := map[string][]int64{}
		for path, runs := range runs {
			all[path] = []int64{}
			for _, r := range runs {
				for range r[1] {
					all[path] = append(all[path], r[0])
				}
			}
		}
		return all
	}
}

func arraysByZarrcore(t *testing.T, base string) map[string][]int64 {
	t.Helper()
	d, err := dirstore.Open(base, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	h, err := zarrcore.Open(t.Context(), store.New(d, base), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	all := map[string][]int64{}
	eachFolder(base, func(path string, names map[string]bool) {
		if a, err := h.OpenArray(t.Context(), filepath.ToSlash(path)); err == nil {
			all[path] = elementsOf(t, a)
		}
	})
	return all
}

// elementsOf returns the elements of an array of int64.
func elementsOf(t *testing.T, a *zarrcore.Array) []int64 {
	t.Helper()
	p := make([]byte, a.Size())
	if _, err := a.ReadAt(t.Context(), p, 0); err != nil {
		t.Errorf("%s: %v", a.Path(), err)
	}
	all := make([]int64, len(p)/8)
	binary.Read(bytes.NewReader(p), binary.LittleEndian, all)
	return all
}
