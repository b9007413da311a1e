package codec

import (
	"reflect"
	"slices"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// TestDefaults holds that no codec has a default of its own for what has one in meta's table. If
// the table had another default, the codec would encode as if a document said that.
func TestDefaults(t *testing.T) {
	for name, e := range registry {
		row, _ := meta.CodecNamed(name)
		for i, p := range row.Parameters {
			if p.Default == nil {
				continue
			}
			other := otherDefault(p)
			changed := row
			changed.Parameters = slices.Clone(row.Parameters)
			changed.Parameters[i].Default = func(int64) pyjson.Value { return other }
			stated := encoderOf(t, e, pyjson.Empty.With(p.Member, other), row)
			if got := encoderOf(t, e, pyjson.Empty, changed); !reflect.DeepEqual(got, stated) {
				t.Errorf("%s: without %s it encodes by %+v, not by its row's %+v", name, p.Member,
					got, stated)
			}
			if got := encoderOf(t, e, pyjson.Empty, row); reflect.DeepEqual(got, stated) {
				t.Errorf("%s: %s %s changes nothing", name, p.Member, other.Raw())
			}
		}
	}
}

// otherDefault is what a parameter may be, but is not by default.
func otherDefault(p meta.CodecParameter) pyjson.Value {
	switch v := p.Default(4); v.Kind() {
	case pyjson.Number:
		n, _ := v.Int64()
		return pyjson.IntOf(n + 1)
	case pyjson.Bool:
		return pyjson.BoolOf(true)
	}
	return pyjson.StringOf(slices.Concat(p.Words, meta.BloscNames)[0])
}

func encoderOf(t *testing.T, e entry, v pyjson.Value, row meta.CodecType) encoder {
	t.Helper()
	in := state{typ: dtype.Type{Kind: dtype.Float, Size: 4}, size: 400, limit: 400}
	s, _, err := e.bind(in, config{v, row, in.item()})
	if err != nil || s.why != nil {
		t.Fatalf("%s: %v, %v", v.Raw(), err, s.why)
	}
	return s.enc
}
