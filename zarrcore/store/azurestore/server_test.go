package azurestore_test

import (
	"context"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/store/azurestore"
	"github.com/zarrfs/zarrfs/zarrcore/store/remote"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest/cloud"
)

// TestConformance: a store on Azurite keeps the contract. It cannot list what XML cannot have, and
// takes a backslash for a slash.
func TestConformance(t *testing.T) {
	cloud.Azurite(t).Conforms(t, open, func(elem string) bool {
		return !strings.ContainsAny(elem, "\x01\\")
	})
}

// open opens the store at CONTAINER/PREFIX.
func open(ctx context.Context, at string) (*remote.Bucket, error) {
	place, err := azurestore.Parse("az", at)
	if err != nil {
		return nil, err
	}
	return azurestore.Open(ctx, place, azurestore.Options{}, remote.Options{})
}
