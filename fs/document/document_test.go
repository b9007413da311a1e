package document

import (
	"errors"
	iofs "io/fs"
	"testing"
)

// TestNewDocumentOfGroup refuses the document of a group for the file of an array, as soon as it is
// whole.
func TestNewDocumentOfGroup(t *testing.T) {
	for doc, expected := range map[string]error{
		`{"zarr_format": 3, "node_type": "group"}`: iofs.ErrInvalid,

		`{"zarr_format": 3, "node_type": "array", "shape": [1], "data_type": "uint8"}`: nil,
	} {
		d := new(Files).new("a", []byte(doc))
		if err := d.judge([]byte(doc)); !errors.Is(err, expected) {
			t.Errorf("%s: %v, expected %v", doc, err, expected)
		}
		d.NoteExisted() // what it may be then is known when it is applied
		if err := d.judge([]byte(doc)); err != nil {
			t.Errorf("%s, where there is a node: %v", doc, err)
		}
	}
}
