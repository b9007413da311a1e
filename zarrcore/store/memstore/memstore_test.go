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
