package cloud

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/remote"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// An Opener opens the store at BUCKET/PREFIX, on the server that the environment names.
type Opener func(ctx context.Context, at string) (*remote.Bucket, error)

// Conforms runs the conformance suite over stores in the server's bucket. canHold reports whether
// the server can hold a key with an element of that name; nil: it can hold all.
func (s *Server) Conforms(t *testing.T, open Opener, canHold func(elem string) bool) {
	s.SetEnv(t)
	var n atomic.Int64
	storetest.Run(t, func(t *testing.T, objects map[string][]byte) store.Driver {
		prefix := fmt.Sprintf("tests/%d/x.zarr", n.Add(1))
		s.Fill(t, prefix+"/", objects)
		d, err := open(t.Context(), s.Bucket+"/"+prefix)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.Close() })
		return holdsLess{Bucket: d, canHold: canHold}
	})
}

// holdsLess is a store whose server cannot hold all that others of its kind can.
type holdsLess struct {
	*remote.Bucket
	canHold func(elem string) bool
}

// Traits are those of the store, with the names that the server can hold.
func (h holdsLess) Traits() store.Traits {
	t := h.Bucket.Traits()
	t.ValidName = h.canHold
	return t
}
