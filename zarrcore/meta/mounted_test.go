package meta

import (
	"cmp"
	"encoding/json"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// TestInMount shows documents of groups as a mount does, and takes them back: they mean what they
// meant, except consolidated metadata.
func TestInMount(t *testing.T) {
	const group = `{"zarr_format": 3, "node_type": "group"}`
	for doc, plain := range map[string]string{
		`{"zarr_format": 3, "node_type": "group", "attributes": {"a": [1, NaN]}}`: "",
		`{"zarr_format":2,"attributes":{"zarr_format":3}}`:                        "",
		"{}\n":              "",
		`[]`:                "",
		`{"zarr_format": 3`: "",
		strings.Replace(group, "}", `, "consolidated_metadata": {"kind": "inline"}}`, 1): group,
		strings.Replace(group, "}", `, "consolidated_metadata": null}`, 1):               group,

		`{"zarr_format": "3", "node_type": 7}`: `{"zarr_format": "3"}`,
	} {
		plain = cmp.Or(plain, doc)
		for _, store := range []string{"/data/s.zarr", "/data/\xff",
			`/a, in a zarrfs mount: open the store itself, "b"`} {
			shown := InMount([]byte(doc), store)
			if strings.HasPrefix(doc, "{") &&
				json.Valid([]byte(strings.ReplaceAll(doc, "NaN", "0"))) {
				root, err := pyjson.Parse(shown)
				format, kind := root.Get("zarr_format").Text(),
					root.Get("consolidated_metadata").Get("kind").Text()
				want := "open the store itself, " + strings.ToValidUTF8(store, "\ufffd")
				if err != nil || !strings.HasSuffix(format, want) ||
					!strings.HasSuffix(kind, want) || root.Get("node_type").Exists() {
					t.Errorf("%s is shown as %s, %v", doc, shown, err)
				}
			}
			back := FromMount(shown)
			got, err := pyjson.Parse(back)
			want, wantErr := pyjson.Parse([]byte(plain))
			if (err == nil) != (wantErr == nil) || err == nil && !pyjson.Equal(got, want) {
				t.Errorf("%s comes back as %s, expected %s", doc, back, plain)
			}
		}
	}
	doc := `{"zarr_format": 3, "node_type": "array", "consolidated_metadata": {"kind": "inline"}}`
	if string(FromMount([]byte(doc))) != doc {
		t.Error("a document of no mount is changed")
	}
}
