package meta

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// This file reads documents of one format for nodes of the other: a program that copies a tree
// between mounts writes them.

// Foreign is what a document of another format says of a node.
type Foreign struct {
	Format     int
	Array      *Array       // nil: it is a group
	Attributes pyjson.Value // an object, or absent
}

// ParseForeign reads a document as one is shown of a node of format 2 or 3, if that is not the
// given format. The given format is that of the node, or group, that it is written to. If they are
// the same, or where it is not a sound document of its format, the result is nil: FromPosted,
// Posted and PostedGroup say what is wrong with it then. An error wraps errors.ErrUnsupported.
func ParseForeign(posted []byte, format int) (*Foreign, error) {
	posted = WithNumbers(posted)
	root, err := parsePosted(posted)
	if err != nil {
		return nil, nil
	}
	its, _ := root.Get("zarr_format").Int64()
	if its != 2 && its != 3 || its == int64(format) {
		return nil, nil
	}
	_, a, err := FromPosted(posted, int(its))
	if errors.Is(err, ErrInvalid) {
		return nil, nil
	}
	object, _ := attributes("attributes", root.Get("attributes"))
	return &Foreign{Format: int(its), Array: a, Attributes: object}, err
}

// translate makes a posted document of another format one of the node's own: of attributes and
// names of axes. What else it says is how the other node is stored; matches reports whether the
// rest means the same.
func (p *post) translate(posted []byte, matches func(*Foreign) error) error {
	f, err := ParseForeign(posted, p.format)
	if err == nil && f != nil {
		err = matches(f)
	}
	if f == nil || err != nil {
		return err
	}
	p.root = pyjson.Empty
	if f.Attributes.Exists() {
		p.root = p.root.With("attributes", f.Attributes)
	}
	names := f.Axes(p.format)
	switch {
	case names == nil:
	case p.format == 2 && f.Attributes.Exists(): // which take the place of all that there are
		p.root = p.root.With("attributes", withAxes(f.Attributes, axisList(names)))
	default:
		p.root = p.root.With(axesMember, axisList(names))
	}
	return nil
}

// Axes returns the names of the axes for an array of a format. It is nil if there are none, or the
// attribute _ARRAY_DIMENSIONS of format 2 has them. Format 2 has no axes without a name beside
// others that have one.
func (f *Foreign) Axes(format int) []string {
	if f.Array == nil {
		return nil
	}
	names := f.Array.DimensionNames
	if format == 2 && (slices.Contains(names, "") || f.Attributes.Get(axesOfV2).Exists()) {
		return nil
	}
	return names
}

// describes returns nil if the document is one of an array with the same elements. Otherwise the
// error wraps ErrInvalid and says what both are.
func (f *Foreign) describes(a *Array) error {
	if f.Array == nil {
		return f.differs("node_type", `"array"`, `"group"`, a.Format)
	}
	if !slices.Equal(f.Array.Shape, a.Shape) {
		return f.differs("shape", fmt.Sprint(a.Shape), fmt.Sprint(f.Array.Shape), a.Format)
	}
	own, fill, err := a.Elements()
	if err != nil {
		return err
	}
	its, itsFill, err := f.Array.Elements()
	if err != nil {
		return err
	}
	if typeText(own) != typeText(its) {
		return f.differs("data type", typeText(own), typeText(its), a.Format)
	}
	if f.Array.FillDefined && !bytes.Equal(fill, itsFill) {
		return f.differs("fill_value", fillText(own, fill), fillText(its, itsFill), a.Format)
	}
	return nil
}

// differs is the error for what a document of another format says, and the node is not.
func (f *Foreign) differs(member, own, its string, format int) error {
	return &Error{Member: member, Kind: ErrInvalid,
		Expected: fmt.Sprintf("%s, as the node of format %d has it", own, format),
		Found:    fmt.Sprintf("%s in a document of format %d", its, f.Format)}
}

// typeText spells a type as .npy has it. One that NumPy lacks has its name, and one of elements of
// no fixed size is spelled as by format 3.
func typeText(t dtype.Type) string {
	switch t.Kind {
	case dtype.Object:
		return t.Name
	case dtype.Extension:
		return t.Order.String() + t.Name
	}
	return t.Descr()
}

func fillText(t dtype.Type, fill []byte) string {
	v, err := dtype.FillV3.Spell(t, fill)
	if err != nil {
		return fmt.Sprintf("%x", fill)
	}
	return show(v)
}

// Elements returns an array's type and fill value as format 3 has them. In format 2 elements of no
// fixed size are what their codec says. Where format 3 has no such type it is an error that wraps
// errors.ErrUnsupported.
func (a *Array) Elements() (dtype.Type, []byte, error) {
	if a.Format == 3 || a.Type.Kind != dtype.Object {
		return a.Type, a.Fill, nil
	}
	codecs, err := a.CodecsV3()
	if err != nil {
		return a.Type, a.Fill, err
	}
	return upgradeObject(a, codecs)
}
