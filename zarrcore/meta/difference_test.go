package meta

import (
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// TestImmutable: the error for a member that may not change shows the difference itself, however
// long and deep the member is.
func TestImmutable(t *testing.T) {
	long := strings.Repeat("é", 100)
	for _, tc := range []struct{ stored, posted, want string }{
		{`[{"name": "bytes"}, {"name": "zstd", "configuration": {"level": 0}}]`,
			`[{"name": "bytes"}, {"name": "zstd", "configuration": {"level": 5}}]`,
			`m[1].configuration.level: expected 0, which cannot be changed, found 5`},
		{`{"a": 1}`, `{"a": 1, "b": 2}`,
			`m.b: expected nothing, which cannot be changed, found 2`},
		{`{"a": 1, "b": [2]}`, `{"a": 1}`,
			`m.b: expected [2], which cannot be changed, found nothing`},
		{`[1, 2]`, `[1, 2, 3]`,
			`m: expected [1, 2], which cannot be changed, found [1, 2, 3]`},
		{`[1]`, `{"a": 1}`,
			`m: expected [1], which cannot be changed, found {"a": 1}`},
		{`"` + long + `x"`, `"` + long + `y"`,
			`m: expected "ééééééééé…éééééééééééééééééééx", which cannot be changed, ` +
				`found "ééééééééé…éééééééééééééééééééy"`},
		{`"a` + long + `"`, `"b` + long + `"`,
			`m: expected "a` + strings.Repeat("é", 29) + `…, which cannot be changed, ` +
				`found "b` + strings.Repeat("é", 29) + `…`},
		{`"` + long + `x` + long + `"`, `1`,
			`m: expected "` + strings.Repeat("é", 29) + `…, which cannot be changed, ` +
				`found 1`},
		{`"` + long + `x` + long + `"`, `"` + long + `y` + long + `"`,
			`m: expected "ééééééééé…éééééx` + strings.Repeat("é", 14) +
				`…, which cannot be changed, ` +
				`found "ééééééééé…éééééy` + strings.Repeat("é", 14) + `…`},
	} {
		stored, err := pyjson.Parse([]byte(tc.stored))
		posted, err2 := pyjson.Parse([]byte(tc.posted))
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		if got := immutable("m", stored, posted).Error(); got != tc.want {
			t.Errorf("%s\nand %s:\n%s\nwant\n%s", tc.stored, tc.posted, got, tc.want)
		}
	}
}
