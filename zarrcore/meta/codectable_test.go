package meta

import (
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// TestCodecTypes holds that no two codecs have one word, and that every default is JSON that its
// parameter takes. What a codec becomes in the other format is a codec of the table, at the same
// place of a chain.
func TestCodecTypes(t *testing.T) {
	words := map[string]string{}
	for name, row := range codecTypes {
		if other := words[row.Word]; row.Word != "" && other != "" {
			t.Errorf("%s and %s have the word %q", name, other, row.Word)
		}
		words[row.Word] = name
		for _, p := range row.Parameters {
			if p.Default != nil && (!p.Default(4).Exists() || !p.takes(p.Default(4))) {
				t.Errorf("%s: the default of %s is not JSON, or not taken", name, p.Member)
			}
		}
		c := Codec{Name: name, Config: pyjson.Empty}
		if row.inV2 != nil {
			sameKind(t, name, row.inV2(c))
		}
		if row.upgrade != nil {
			up, err := upgradeCodec(c, 4)
			if err != nil {
				t.Errorf("%s in version 3: %v", name, err)
			}
			sameKind(t, name, up)
			hasWayBack(t, name, up)
		}
	}
}

func sameKind(t *testing.T, name string, other Codec) {
	t.Helper()
	if row, known := CodecNamed(other.Name); !known || row.Kind != codecTypes[name].Kind {
		t.Errorf("%s becomes %s, which is known: %t, of kind %d; expected kind %d", name,
			other.Name, known, row.Kind, codecTypes[name].Kind)
	}
}

// hasWayBack holds that the row of format 3 of a codec with two names says what the codec is in
// format 2. A copy of an array to a store of format 2 loses a codec that does not say so.
func hasWayBack(t *testing.T, name string, up Codec) {
	t.Helper()
	if up.Name == name {
		return
	}
	if back := up.Complete(2, 4); !up.IsInV2() || back.Name != name {
		t.Errorf("%s is %s in format 3, which is %s in format 2: %t", name, up.Name, back.Name,
			up.IsInV2())
	}
}
