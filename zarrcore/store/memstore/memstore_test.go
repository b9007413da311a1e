package memstore_test

import (
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T, objects map[string][]byte) store.Driver {
		d := memstore.New()
		storetest.Fill(t, d, objects)
		return d
	})
}

// TestConformanceHeld: a directory that is held keeps the contract of a store.
func TestConformanceHeld(t *testing.T) {
	storetest.Run(t, func(t *testing.T, objects map[string][]byte) store.Driver {
		d := memstore.New()
		storetest.Fill(t, d, map[string][]byte{"g/a/x": nil})
		held, err := d.Hold(t.Context(), "g/a")
		if err == nil {
			err = d.Delete(t.Context(), "g/a/x", store.If{})
		}
		if err != nil {
			t.Fatal(err)
		}
		storetest.Fill(t, held, objects)
		return held
	})
}
