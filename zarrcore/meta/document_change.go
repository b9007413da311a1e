package meta

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// Change is what a posted document changes of an array or group.
type Change struct {
	Documents []Document // those that differ from the stored ones, whole
	Shape     []int64    // the array's new shape; nil if it stays
}

// Posted says what it means that somebody wrote a document over the one that is shown of an array
// (Array.Document). Members it lacks stay as they are. The attributes are replaced as a whole;
// shape and dimension_names may change. Every other member must equal the stored one, however it is
// spelled, or the error wraps ErrInvalid and names it.
//
// In format 2, dimension_names and the attribute _ARRAY_DIMENSIONS are one thing: that of the two
// counts which is another than what is stored. Two that are, and differ from each other, are an
// error.
//
// A document of the other format changes the attributes and dimension_names alone. Its shape, type
// and fill value must be those of the array. How it says that the array is stored does not count.
//
// current is the array and stored its documents by their names. What does not change keeps its
// bytes.
func Posted(current *Array, stored map[string][]byte, posted []byte) (Change, error) {
	p, err := newPost(current.Format, NameArray, stored, posted)
	if err != nil {
		return Change{}, err
	}
	if err := p.translate(posted, func(f *Foreign) error {
		return f.describes(current)
	}); err != nil {
		return Change{}, err
	}
	may := []string{"shape", axesMember}
	if current.Format == 2 {
		may = may[:1]
		if err := p.axesV2(current); err != nil {
			return Change{}, err
		}
	}
	if err := p.members(may); err != nil {
		return Change{}, err
	}
	return p.arrayChange(current)
}

// PostedGroup is Posted for the document of a group, of which the attributes may change.
func PostedGroup(current *Group, stored map[string][]byte, posted []byte) (Change, error) {
	p, err := newPost(current.Format, NameGroup, stored, posted)
	if err != nil {
		return Change{}, err
	}
	err = p.translate(posted, func(f *Foreign) error {
		if f.Array != nil {
			return f.differs("node_type", `"group"`, `"array"`, current.Format)
		}
		return nil
	})
	if err == nil {
		err = p.members(nil)
	}
	if err != nil {
		return Change{}, err
	}
	return Change{Documents: p.changed()}, nil
}

// post is a posted document on its way into the stored ones.
type post struct {
	format int
	name   string // of the document that is not the attributes'
	root   pyjson.Value
	before map[string][]byte
	after  map[string][]byte
	axes   bool // shape or dimension_names are other ones
}

// newPost reads a posted document. The document that it goes into has, in format 2, the given name.
func newPost(format int, nameV2 string, stored map[string][]byte, posted []byte) (*post, error) {
	if err := checkEditable(format); err != nil {
		return nil, err
	}
	root, err := parsePosted(WithNumbers(posted))
	if err != nil {
		return nil, err
	}
	if format == 3 {
		nameV2 = NameV3
	}
	return &post{format: format, name: nameV2, root: root, before: stored,
		after: maps.Clone(stored)}, nil
}

func parsePosted(posted []byte) (pyjson.Value, error) {
	root, err := pyjson.Parse(posted)
	if err != nil {
		return pyjson.Value{}, because("", err)
	}
	if root.Kind() != pyjson.Object {
		return pyjson.Value{}, invalid("", "an object", root)
	}
	return root, nil
}

// CheckBeginning returns nil if text may be the beginning of a document that is posted. If it is a
// whole one, it returns that.
func CheckBeginning(text []byte) (whole []byte, err error) {
	root, err := pyjson.ParseBeginning(text)
	if err != nil {
		return nil, because("", err)
	}
	if !root.Exists() {
		return nil, nil
	}
	if root.Kind() != pyjson.Object {
		return nil, invalid("", "an object", root)
	}
	return text, nil
}

// members takes each posted member into the documents, if it is one of those that may change.
func (p *post) members(may []string) error {
	old, err := pyjson.Parse(p.before[p.name])
	if err != nil {
		return because("", err)
	}
	known := map[string]pyjson.Value{}
	for key, value := range old.Entries() {
		known[key] = value
	}
	for key, value := range p.root.Entries() {
		switch {
		case key == "attributes":
			err = p.attributes(known[key], value)
		case pyjson.Equal(value, known[key]):
		case slices.Contains(may, key):
			err = p.set(key, value)
		default:
			err = immutable(key, known[key], value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// set sets a member of the document; null takes the names of the axes away.
func (p *post) set(key string, value pyjson.Value) (err error) {
	p.axes = true
	if key == axesMember && value.Kind() == pyjson.Null {
		value = pyjson.Value{}
		p.after[p.name], err = edited(pyjson.Remove(p.after[p.name], key))
		return err
	}
	p.after[p.name], err = edited(pyjson.Set(p.after[p.name], value, key))
	return err
}

// attributes replaces the attributes. An attribute of the same meaning as before keeps its stored
// spelling, because users were shown its strict JSON.
func (p *post) attributes(inV3, posted pyjson.Value) error {
	posted, err := attributes("attributes", posted)
	if err != nil {
		return err
	}
	old, name := inV3, NameV3
	if p.format == 2 {
		name = NameAttrs
		old = made("{}")
		if doc := p.before[name]; doc != nil {
			old, _ = pyjson.Parse(doc) // what is broken is replaced
		}
	} else if !old.Exists() {
		old = made("{}")
	}
	exact := posted.HasNonFinite()
	if sameAttributes(old, orEmpty(posted), exact) {
		return nil
	}
	p.after[name], err = SetAttributes(p.format, p.after[name], keepSpelling(old, posted, exact))
	return err
}

// keepSpelling returns the posted members, each as the stored object spells it if it means the
// same.
func keepSpelling(stored, posted pyjson.Value, exact bool) pyjson.Value {
	known := map[string]pyjson.Value{}
	for key, value := range stored.Entries() {
		known[key] = value
	}
	return pyjson.ObjectOf(func(yield func(string, pyjson.Value) bool) {
		for key, value := range posted.Entries() {
			if old := known[key]; sameAttributes(old, value, exact) {
				value = old
			}
			if !yield(key, value) {
				return
			}
		}
	})
}

// changed returns the documents that differ from the stored ones.
func (p *post) changed() []Document {
	var list []Document
	for _, name := range []string{p.name, NameAttrs} {
		if doc := p.after[name]; !bytes.Equal(doc, p.before[name]) {
			list = append(list, Document{name, doc})
		}
	}
	return list
}

// arrayChange holds that the documents describe an array of the same axes, and returns the change.
func (p *post) arrayChange(current *Array) (Change, error) {
	c := Change{Documents: p.changed()}
	if !p.axes {
		return c, nil
	}
	if shape := p.root.Get("shape"); shape.Exists() && shape.Len() != len(current.Shape) {
		return Change{}, invalid("shape", fmt.Sprintf("%d lengths", len(current.Shape)), shape)
	}
	next, err := ParseArray(p.format, p.after)
	if err != nil {
		return Change{}, err
	}
	if !slices.Equal(next.Shape, current.Shape) {
		c.Shape = next.Shape
	}
	return c, nil
}

// ParseArray reads the documents of an array of format 2 or 3, given by their names.
func ParseArray(format int, documents map[string][]byte) (*Array, error) {
	if format == 2 {
		return ParseV2Array(documents[NameArray], documents[NameAttrs])
	}
	a, _, err := ParseV3(documents[NameV3])
	if a == nil && err == nil {
		err = &Error{Member: "node_type", Expected: `"array"`, Found: `"group"`, Kind: ErrInvalid}
	}
	return a, err
}
