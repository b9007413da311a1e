package meta

import (
	"fmt"

	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// A posted document of format 2 has the names of the axes in the member dimension_names. This file
// takes them to where format 2 keeps them: the attribute _ARRAY_DIMENSIONS.

// axesV2 makes the posted dimension_names an attribute if they are other ones than are shown, and
// takes the member out.
func (p *post) axesV2(current *Array) error {
	names := p.root.Get(axesMember)
	p.root = p.root.Without(axesMember)
	shown, err := pyjson.Parse(current.Document)
	if err != nil {
		return because("", err)
	}
	if !names.Exists() || pyjson.Equal(names, shown.Get(axesMember)) {
		return nil
	}
	names, err = axesToStore(names, len(current.Shape))
	if err != nil {
		return err
	}
	posted := p.root.Get("attributes")
	if posted.Kind() != pyjson.Object ||
		sameAttributes(orEmpty(current.Attributes), posted, posted.HasNonFinite()) {
		p.root = p.root.Without("attributes")
		return p.setAxesV2(names, current.Attributes)
	}
	if theirs := posted.Get(axesOfV2); !same(theirs, current.Attributes.Get(axesOfV2)) &&
		!same(theirs, names) {
		return disagree(theirs, names)
	}
	p.root = p.root.With("attributes", withAxes(posted, names))
	return nil
}

// setAxesV2 changes no other attribute than the names of the axes.
func (p *post) setAxesV2(names, attributes pyjson.Value) (err error) {
	var doc []byte // none where there is no object to change
	if attributes.Exists() {
		doc = p.before[NameAttrs]
	}
	if doc == nil && !names.Exists() {
		return nil
	}
	p.after[NameAttrs], err = SetAttribute(2, doc, axesOfV2, names)
	return err
}

// axesFromV2 returns the attributes of a new array of format 2 that has the posted dimension_names,
// if any.
func axesFromV2(root, attributes pyjson.Value) (pyjson.Value, error) {
	names := root.Get(axesMember)
	if !names.Exists() {
		return attributes, nil
	}
	names, err := axesToStore(names, root.Get("shape").Len())
	if err != nil {
		return attributes, err
	}
	if theirs := attributes.Get(axesOfV2); theirs.Exists() && !same(theirs, names) {
		return attributes, disagree(theirs, names)
	}
	return withAxes(orEmpty(attributes), names), nil
}

// axesToStore returns the posted names; none for null. Unlike version 3's, none of them may be
// null.
func axesToStore(names pyjson.Value, rank int) (pyjson.Value, error) {
	if names.Kind() == pyjson.Null {
		return pyjson.Value{}, nil
	}
	if _, ok := axisNames(names, rank, false); !ok {
		return names,
			invalid(axesMember,
				fmt.Sprintf("an array of %d strings, one for each axis of shape, in format 2",
					rank), names)
	}
	return names, nil
}

// withAxes is the attributes with these names of the axes, or with none.
func withAxes(attributes, names pyjson.Value) pyjson.Value {
	if !names.Exists() {
		return attributes.Without(axesOfV2)
	}
	return attributes.With(axesOfV2, names)
}

// same reports whether two values are equal, or that there is neither.
func same(a, b pyjson.Value) bool {
	return a.Exists() == b.Exists() && (!a.Exists() || pyjson.Equal(a, b))
}

// disagree is the error for names of the axes that are not those of the attribute, where both are
// posted.
func disagree(attribute, names pyjson.Value) error {
	return invalid(axesMember, show(attribute)+", as the attribute "+axesOfV2+" has it", names)
}
