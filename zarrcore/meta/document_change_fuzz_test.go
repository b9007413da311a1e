package meta

import (
	"bytes"
	"errors"
	"slices"
	"testing"
)

// FuzzPosted holds that anything written over the documents of an array changes attributes and axes
// alone, into documents that can be read. Writing what is shown changes nothing.
func FuzzPosted(f *testing.F) {
	f.Add([]byte(storedV3), []byte(nil),
		[]byte(`{"shape": [5, 0], "dimension_names": [null, "x"], "attributes": {"a": NaN}}`))
	f.Add([]byte(storedV2), []byte(storedAttrs),
		[]byte(`{"shape":[1,1],"attributes":{"b":[1.0,2]},"zarr_format":2}`))
	f.Add([]byte(storedV2), []byte(`{"_ARRAY_DIMENSIONS": ["y","x"]}`),
		[]byte(`{"dimension_names":["b","a"],"attributes":{"_ARRAY_DIMENSIONS":["y","x"],"c":1}}`))
	addSeeds(f, []string{"zarr-python-3"}, func(objects map[string][]byte) {
		if doc := objects[NameArray]; doc != nil {
			f.Add(doc, objects[NameAttrs], []byte(`{"shape": [1]}`))
		}
		if doc := objects[NameV3]; doc != nil {
			f.Add(doc, []byte(nil), doc)
		}
	})
	f.Fuzz(func(t *testing.T, doc, attrs, posted []byte) {
		for _, format := range []int{2, 3} {
			stored := storedDocuments(format, NameArray, doc, attrs)
			a, err := ParseArray(format, stored)
			if err != nil {
				continue
			}
			if c, err := Posted(a, stored, a.Document); err != nil || c.Documents != nil ||
				c.Shape != nil {
				t.Fatalf("%q: writing %q changes %v, %v", doc, a.Document, c, err)
			}
			c, err := Posted(a, stored, posted)
			if !isTaken(t, c, err, stored) {
				continue
			}
			next, err := ParseArray(format, stored)
			if err != nil {
				t.Fatalf("%q with %q: %v", doc, posted, err)
			}
			if (c.Shape != nil) == slices.Equal(a.Shape, next.Shape) ||
				!bytes.Equal(a.Fill, next.Fill) || a.Type.Descr() != next.Type.Descr() {
				t.Fatalf("%q with %q: %v becomes %v", doc, posted, a, next)
			}
		}
	})
}

// FuzzPostedGroup holds that whatever is written over the documents of a group changes its
// attributes alone.
func FuzzPostedGroup(f *testing.F) {
	f.Add([]byte(`{"zarr_format": 3, "node_type": "group", "attributes": {"a": 1}}`), []byte(nil),
		[]byte(`{"attributes": {"a": NaN}}`))
	f.Add([]byte(`{"zarr_format": 2}`), []byte(`{"a": 1.0}`),
		[]byte(`{"zarr_format": 2, "attributes": {}}`))
	f.Fuzz(func(t *testing.T, doc, attrs, posted []byte) {
		for _, format := range []int{2, 3} {
			stored := storedDocuments(format, NameGroup, doc, attrs)
			g, err := parseGroup(format, stored)
			if err != nil {
				continue
			}
			if c, err := PostedGroup(g, stored, g.Document); err != nil || c.Documents != nil {
				t.Fatalf("%q: writing %q changes %v, %v", doc, g.Document, c, err)
			}
			c, err := PostedGroup(g, stored, posted)
			if !isTaken(t, c, err, stored) {
				continue
			}
			if _, err := parseGroup(format, stored); err != nil {
				t.Fatalf("%q with %q: %v", doc, posted, err)
			}
		}
	})
}

// isTaken reports whether what was written was taken, and stores its documents. Otherwise the error
// must be of one kind.
func isTaken(t *testing.T, c Change, err error, stored map[string][]byte) bool {
	t.Helper()
	if err != nil {
		if errors.Is(err, ErrInvalid) == errors.Is(err, errors.ErrUnsupported) {
			t.Fatalf("%v is of no kind or of two", err)
		}
		return false
	}
	for _, d := range c.Documents {
		stored[d.Name] = d.Data
	}
	return true
}

func parseGroup(format int, stored map[string][]byte) (*Group, error) {
	if format == 2 {
		return ParseV2Group(stored[NameGroup], stored[NameAttrs])
	}
	_, g, err := ParseV3(stored[NameV3])
	if g == nil && err == nil {
		err = ErrInvalid
	}
	return g, err
}

// FuzzFromPosted holds that the documents of an array that is made of any text can be read.
func FuzzFromPosted(f *testing.F) {
	f.Add([]byte(storedV3))
	f.Add([]byte(storedV2))
	f.Add([]byte(`{"zarr_format":3,"node_type":"group","consolidated_metadata":null}`))
	f.Fuzz(func(t *testing.T, posted []byte) {
		for _, format := range []int{2, 3} {
			documents, a, err := FromPosted(posted, format)
			if err != nil {
				if errors.Is(err, ErrInvalid) == errors.Is(err, errors.ErrUnsupported) {
					t.Fatalf("%v is of no kind or of two", err)
				}
				continue
			}
			stored := map[string][]byte{}
			for _, d := range documents {
				stored[d.Name] = d.Data
			}
			if a == nil {
				continue
			}
			if _, err := ParseArray(format, stored); err != nil {
				t.Fatalf("%q: %v", posted, err)
			}
		}
	})
}

// storedDocuments are those of a node: of format 2 its document by that name, and its attributes if
// there are any.
func storedDocuments(format int, name string, doc, attrs []byte) map[string][]byte {
	if format == 3 {
		return map[string][]byte{NameV3: doc}
	}
	stored := map[string][]byte{name: doc}
	if attrs != nil {
		stored[NameAttrs] = attrs
	}
	return stored
}
