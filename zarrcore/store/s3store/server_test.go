package s3store_test

import (
	"context"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/store/remote"
	"github.com/zarrfs/zarrfs/zarrcore/store/s3store"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest/cloud"
)

// TestConformance: a store on a server that speaks S3 keeps the contract.
func TestConformance(t *testing.T) {
	for name, server := range map[string]struct {
		start   func(testing.TB) *cloud.Server
		canHold func(elem string) bool
	}{
		"versitygw": {cloud.VersityGW, func(elem string) bool {
			return elem != "\x01" // it knows no encoding of what XML cannot have
		}},
		"MinIO": {cloud.MinIO, func(elem string) bool { return elem != `..\..\x` }},
	} {
		t.Run(name, func(t *testing.T) {
			open := func(ctx context.Context, at string) (*remote.Bucket, error) {
				return openIn(ctx, at, s3store.Options{}, remote.Options{})
			}
			server.start(t).Conforms(t, open, server.canHold)
		})
	}
}

// open opens the store at BUCKET/PREFIX until the test ends.
func open(t *testing.T, at string, o s3store.Options, ro remote.Options) *remote.Bucket {
	t.Helper()
	d, err := openIn(t.Context(), at, o, ro)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// openIn opens the store at BUCKET/PREFIX.
func openIn(
	ctx context.Context, at string, o s3store.Options, ro remote.Options,
) (*remote.Bucket, error) {
	place, err := s3store.Parse(at)
	if err != nil {
		return nil, err
	}
	return s3store.Open(ctx, place, o, ro)
}
