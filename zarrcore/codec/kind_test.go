package codec

import (
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/meta"
)

// TestKinds holds that meta, which writes chains without knowing what codecs do, has every codec in its place.
func TestKinds(t *testing.T) {
	kinds := map[kind]meta.CodecKind{arrayToArray: meta.ArrayToArray, arrayToBytes: meta.ArrayToBytes, bytesToBytes: meta.BytesToBytes}
	for name, e := range registry {
		if e.bind == nil {
			continue // refused
		}
		if got := (meta.Codec{Name: name}).Kind(); got != kinds[e.kind] {
			t.Errorf("%s: kind %d in meta, want %d", name, got, kinds[e.kind])
		}
	}
}
