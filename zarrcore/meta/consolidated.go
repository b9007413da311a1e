package meta

import (
	"strings"

	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// NameConsolidated is version 2's document with copies of all documents below a group.
const NameConsolidated = ".zmetadata"

// Consolidated reads the copies of documents that a group's .zmetadata or zarr.json holds, by their
// keys below the group. They are nil if it holds none: a zarr.json need not.
func Consolidated(name string, doc []byte) (map[string][]byte, error) {
	root, err := pyjson.Parse(doc)
	if err != nil {
		return nil, because("", err)
	}
	if name == NameConsolidated {
		if format := root.Get("zarr_consolidated_format"); !isOne(format) {
			return nil, unsupported("zarr_consolidated_format", "1", format)
		}
		return copies("metadata", root.Get("metadata"), "")
	}
	inline := root.Get(consolidatedMember)
	if inline.Get("kind").Text() != "inline" {
		return nil, nil
	}
	return copies("consolidated_metadata.metadata", inline.Get("metadata"), "/"+NameV3)
}

func isOne(v pyjson.Value) bool {
	n, ok := v.Int64()
	return ok && n == 1
}

// copies reads an object of documents. Their keys are its own with suffix behind.
func copies(member string, v pyjson.Value, suffix string) (map[string][]byte, error) {
	if v.Kind() != pyjson.Object {
		return nil, invalid(member, "an object of documents", v)
	}
	docs := map[string][]byte{}
	for key, doc := range v.Entries() {
		docs[strings.TrimPrefix(key, "/")+suffix] = doc.Raw()
	}
	return docs, nil
}
