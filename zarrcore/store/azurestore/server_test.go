package azurestore_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/azurestore"
	"github.com/zarrfs/zarrfs/zarrcore/store/remote"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest/cloud"
)

// TestConformance: a store on Azurite keeps the contract.
func TestConformance(t *testing.T) {
	s := cloud.Azurite(t)
	for _, e := range s.Env {
		name, value, _ := strings.Cut(e, "=")
		t.Setenv(name, value)
	}
	var n atomic.Int64
	storetest.Run(t, func(t *testing.T, objects map[string][]byte) store.Driver {
		prefix := fmt.Sprintf("tests/%d/x.zarr", n.Add(1))
		s.Fill(t, prefix+"/", objects)
		return holdsLess{open(t, s.Bucket+"/"+prefix, azurestore.Options{}, remote.Options{})}
	})
}

// holdsLess is a store on a server that cannot list what XML cannot have, and that takes a
// backslash for a slash.
type holdsLess struct{ *remote.Bucket }

// Traits are those of the store, with the names that the server can list.
func (h holdsLess) Traits() store.Traits {
	t := h.Bucket.Traits()
	t.ValidName = func(elem string) bool { return !strings.ContainsAny(elem, "\x01\\") }
	return t
}

// open opens the store at CONTAINER/PREFIX.
func open(t *testing.T, at string, o azurestore.Options, ro remote.Options) *remote.Bucket {
	t.Helper()
	place, err := azurestore.Parse("az", at)
	if err != nil {
		t.Fatal(err)
	}
	d, err := azurestore.Open(t.Context(), place, o, ro)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}
