package codec

import (
	"maps"
	"slices"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/meta"
)

// TestBloscNames: chunks can be encoded with each compressor that documents may name within blosc.
func TestBloscNames(t *testing.T) {
	got := slices.Sorted(maps.Keys(bloscInner))
	if want := slices.Sorted(slices.Values(meta.BloscNames)); !slices.Equal(got, want) {
		t.Errorf("encodes %q, documents may name %q", got, want)
	}
}
