package gcsstore_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/store/gcsstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/remote"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest/cloud"
)

// TestFaults: whatever Google's server does wrong, bytes are right, or there is an error in time.
func TestFaults(t *testing.T) {
	cloud.Speech{
		Open: func(ctx context.Context, url string, o remote.Options) (*remote.Bucket, error) {
			place, err := gcsstore.Parse("bucket/x.zarr")
			if err != nil {
				return nil, err
			}
			return gcsstore.Open(ctx, place, gcsstore.Options{Endpoint: url}, o)
		},
		Key: func(r *http.Request) (string, bool) {
			return strings.CutPrefix(r.URL.Path, "/bucket/")
		},
		List: cloud.ListGCS, Error: cloud.ErrorXML,
		Codes: map[int][]string{
			400: {"InvalidArgument"}, 401: {"AuthenticationRequired"}, 403: {"AccessDenied"},
			404: {"NoSuchBucket"}, 500: {"InternalError"}, 502: {"BadGateway"},
			503: {"ServiceUnavailable"}, 429: {"SlowDown"},
		},
	}.Faults(t)
}
