package s3store_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/store/remote"
	"github.com/zarrfs/zarrfs/zarrcore/store/s3store"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest/cloud"
)

// TestFaults: whatever a server of S3 does wrong, bytes are right, or there is an error in time.
func TestFaults(t *testing.T) {
	newFake(t) // for its environment
	cloud.Speech{
		Open: func(ctx context.Context, url string, o remote.Options) (*remote.Bucket, error) {
			return openIn(ctx, "bucket/x.zarr", s3store.Options{Endpoint: url}, o)
		},
		Key: func(r *http.Request) (string, bool) {
			key, ok := strings.CutPrefix(r.URL.Path, "/bucket/")
			return key, ok && key != ""
		},
		List: cloud.ListS3, Error: cloud.ErrorXML,
		Codes: map[int][]string{
			400: {"InvalidArgument", "ExpiredToken"},
			403: {"AccessDenied", "SignatureDoesNotMatch"},
			404: {"NoSuchBucket"}, 409: {"OperationAborted"}, 500: {"InternalError"},
			503: {"SlowDown", "ServiceUnavailable"}, 429: {"TooManyRequests"},
		},
	}.Faults(t)
}
