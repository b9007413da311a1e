package codec

import (
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/meta"
)

// TestKinds holds that every codec of this package, also one that is refused, has a row in meta's
// table. The row says at which place of a chain the codec stands.
func TestKinds(t *testing.T) {
	for name := range registry {
		if _, known := meta.CodecNamed(name); !known {
			t.Errorf("%s has no row in meta's table of codecs", name)
		}
	}
}
