package gcsstore_test

import (
	"context"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/store/gcsstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/remote"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest/cloud"
)

// TestConformance: a store on fake-gcs-server keeps the contract.
func TestConformance(t *testing.T) {
	cloud.FakeGCS(t).Conforms(t, open, nil)
}

// open opens the store at BUCKET/PREFIX.
func open(ctx context.Context, at string) (*remote.Bucket, error) {
	place, err := gcsstore.Parse(at)
	if err != nil {
		return nil, err
	}
	return gcsstore.Open(ctx, place, gcsstore.Options{}, remote.Options{})
}
