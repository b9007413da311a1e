package azurestore_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/store/azurestore"
	"github.com/zarrfs/zarrfs/zarrcore/store/remote"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest/cloud"
)

// TestFaults: whatever Azure's server does wrong, bytes are right, or there is an error in time.
func TestFaults(t *testing.T) {
	cloud.Speech{
		Open: func(ctx context.Context, url string, o remote.Options) (*remote.Bucket, error) {
			at, err := azurestore.Parse("az", "bucket/x.zarr")
			if err != nil {
				return nil, err
			}
			as := azurestore.Options{Account: "acc", Endpoint: url + "/acc", Anonymous: true}
			return azurestore.Open(ctx, at, as, o)
		},
		Key: func(r *http.Request) (string, bool) {
			return strings.CutPrefix(r.URL.Path, "/acc/bucket/")
		},
		List: cloud.ListAzure, Error: cloud.ErrorAzure,
		Codes: map[int][]string{
			400: {"InvalidInput"}, 401: {"NoAuthenticationInformation"},
			403: {"AuthenticationFailed", "AuthorizationFailure"},
			404: {"ContainerNotFound", "ResourceNotFound"}, 409: {"ContainerBeingDeleted"},
			500: {"InternalError", "OperationTimedOut"}, 503: {"ServerBusy"},
		},
	}.Faults(t)
}
