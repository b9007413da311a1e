package gcsstore_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/gcsstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/remote"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest/cloud"
)

// TestConformance: a store on fake-gcs-server keeps the contract.
func TestConformance(t *testing.T) {
	s := cloud.FakeGCS(t)
	for _, e := range s.Env {
		name, value, _ := strings.Cut(e, "=")
		t.Setenv(name, value)
	}
	var n atomic.Int64
	storetest.Run(t, func(t *testing.T, objects map[string][]byte) store.Driver {
		prefix := fmt.Sprintf("tests/%d/x.zarr", n.Add(1))
		s.Fill(t, prefix+"/", objects)
		return open(t, s.Bucket+"/"+prefix, gcsstore.Options{}, remote.Options{})
	})
}

// open opens the store at BUCKET/PREFIX.
func open(t *testing.T, at string, o gcsstore.Options, ro remote.Options) *remote.Bucket {
	t.Helper()
	place, err := gcsstore.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	d, err := gcsstore.Open(t.Context(), place, o, ro)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}
