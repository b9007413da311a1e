package s3store_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/remote"
	"github.com/zarrfs/zarrfs/zarrcore/store/s3store"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest/cloud"
)

// TestConformance: a store on a server that speaks S3 keeps the contract.
func TestConformance(t *testing.T) {
	for name, server := range map[string]struct {
		start func(testing.TB) *cloud.Server
		names func(elem string) bool // that it can hold
	}{
		"versitygw": {cloud.VersityGW, func(elem string) bool {
			return elem != "\x01" // it knows no encoding of what XML cannot have
		}},
		"MinIO": {cloud.MinIO, func(elem string) bool { return elem != `..\..\x` }},
	} {
		t.Run(name, func(t *testing.T) {
			s := server.start(t)
			setEnv(t, s)
			var n atomic.Int64
			storetest.Run(t, func(t *testing.T, objects map[string][]byte) store.Driver {
				prefix := fmt.Sprintf("tests/%d/x.zarr", n.Add(1))
				s.Fill(t, prefix+"/", objects)
				d := open(t, s.Bucket+"/"+prefix, s3store.Options{}, remote.Options{})
				return holdsLess{Bucket: d, names: server.names}
			})
		})
	}
}

// holdsLess is a store whose server cannot hold all that S3 can.
type holdsLess struct {
	*remote.Bucket
	names func(elem string) bool
}

// Traits are those of the store, with the names that the server can hold.
func (h holdsLess) Traits() store.Traits {
	t := h.Bucket.Traits()
	t.ValidName = h.names
	return t
}

// setEnv sets the environment of programs that use a server.
func setEnv(t *testing.T, s *cloud.Server) {
	t.Helper()
	for _, e := range s.Env {
		name, value, _ := strings.Cut(e, "=")
		t.Setenv(name, value)
	}
}

// open opens the store at BUCKET/PREFIX.
func open(t *testing.T, at string, o s3store.Options, ro remote.Options) *remote.Bucket {
	t.Helper()
	place, err := s3store.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	d, err := s3store.Open(t.Context(), place, o, ro)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}
