// Package netcdf says what a group or array of a hierarchy is as one HDF5, netCDF-4 or MATLAB file.
// That is its groups, datasets, types, attributes and dimensions. Package layout/hdf5 makes the
// file of that.
package netcdf

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/layout/hdf5"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/generation"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/parallel"
)

// Flavour says for which libraries a file is made, where they differ.
type Flavour uint8

// The flavours. Programs for the one read the files of the other, except some types.
const (
	HDF5 Flavour = iota // as h5py writes: texts of any length, booleans as an enumerated type
	// As xarray writes: attributes as text, booleans as bytes with an attribute.
	NetCDF4
	MATLAB // a MAT-file of version 7.3
)

// Layout says where the elements of an array are in a file.
type Layout uint8

// The layouts. Where a file cannot have the chunks of an array, they are in C order all the same.
const (
	Contiguous Layout = iota // in C order
	Chunked                  // in the chunks of the array
)

// ParseLayout returns the layout of that name.
func ParseLayout(name string) (Layout, error) {
	switch name {
	case "contiguous":
		return Contiguous, nil
	case "chunked":
		return Chunked, nil
	}
	return 0, fmt.Errorf("%q: expected contiguous or chunked", name)
}

// Source is where the bytes of a dataset are.
type Source struct {
	Path string      // of the array
	Meta *meta.Array // as the file describes it

	// Width is how many characters or bytes a string has in the file, if the elements of the array
	// have no fixed size. 0: they have one.
	Width int64
	// Grid has the chunks of the array, if the file has them one behind the other; nil: its bytes
	// are in C order.
	Grid *layout.Grid
	// Form is what the file makes of the elements; nil: it has them as they are.
	Form *Form
}

// A Description is what a file says.
type Description struct {
	Root    *hdf5.Group
	Block   []byte // the user block before the file; nil: there is none
	Sources map[*hdf5.Dataset]Source
	Nodes   []*zarrcore.Node // it was made of their documents
	Left    []error          // what the file lacks of the hierarchy, and why
}

// Describe describes the group or array at path.
func Describe(
	ctx context.Context,
	h *zarrcore.Hierarchy,
	path string,
	f Flavour,
	l Layout,
) (*Description, error) {
	n, err := h.Node(ctx, path)
	if err != nil {
		return nil, err
	}
	d := describer{
		ctx:     ctx,
		h:       h,
		flavour: f,
		layout:  l,
		of:      &Description{Sources: make(map[*hdf5.Dataset]Source)},
	}
	if f == MATLAB {
		d.of.Block = matlabBlock()
	}
	if n.Kind != zarrcore.ArrayNode {
		d.of.Root, err = d.group("", n)
		return d.of, err
	}
	d.of.Root = &hdf5.Group{}
	own := zarrcore.Child{Name: nameOf(h, path)}
	set, err := d.dataset(d.names([]zarrcore.Child{own})[own.Name], n)
	if err != nil {
		return nil, err
	}
	d.of.Root.Datasets = []*hdf5.Dataset{set}
	return d.of, nil
}

// nameOf returns the name of the array at path. That of a root is the store's.
func nameOf(h *zarrcore.Hierarchy, path string) string {
	if path == "" {
		path = strings.TrimSuffix(h.Name(), ".zarr")
	}
	if name := path[strings.LastIndexByte(path, '/')+1:]; name != "" && name != "." {
		return name
	}
	return "array"
}

// describer describes a hierarchy.
type describer struct {
	ctx     context.Context
	h       *zarrcore.Hierarchy
	flavour Flavour
	layout  Layout
	of      *Description
	structs int // how many types have got a name
}

// leave notes what the file lacks.
func (d *describer) leave(path string, err error) {
	d.of.Left = append(d.of.Left, fmt.Errorf("%q is left out: %w", path, err))
}

// group describes a group and all below it.
func (d *describer) group(name string, n *zarrcore.Node) (*hdf5.Group, error) {
	d.of.Nodes = append(d.of.Nodes, n)
	g := &hdf5.Group{Name: name}
	if n.Err != nil {
		d.leave(n.Path+": attributes", n.Err)
	}
	g.Attributes = d.attributes(n.Path, n.Attributes.Entries(), nil)
	g.Attributes = append(g.Attributes, d.renamed(name, n)...)
	children, err := d.children(n.Path)
	names := d.names(children)
	if err == nil {
		err = d.each(n.Path, children, func(c child) error { return d.child(g, c, names[c.Name]) })
	}
	if d.flavour == MATLAB && name != "" {
		g.Attributes = append(g.Attributes, matlabStruct(g)...)
	}
	return g, err
}

// children returns the children of a group in the order of their names.
func (d *describer) children(path string) ([]zarrcore.Child, error) {
	var all []zarrcore.Child
	err := d.h.Children(d.ctx, path, func(c zarrcore.Child) error {
		all = append(all, c)
		return nil
	})
	slices.SortFunc(all, func(a, b zarrcore.Child) int { return strings.Compare(a.Name, b.Name) })
	return all, err
}

// A child is a child of a group with its node, or why that could not be read. A link has neither,
// nor has what was not read because the context had ended.
type child struct {
	zarrcore.Child
	path string
	node *zarrcore.Node
	err  error
}

// nodesAhead is how many nodes are read while one is described, in each group on the way down. In a
// folder, to read one costs as much as to describe it. Of a remote store nearly all were read when
// the group was listed.
const nodesAhead = 4

// each calls see for the children of the group at path, in their order. A node may be read some
// time before it is seen.
func (d *describer) each(path string, children []zarrcore.Child, see func(child) error) error {
	line := parallel.NewLine(nodesAhead, len(children), func(i int) child {
		c := child{Child: children[i], path: join(path, children[i].Name)}
		if c.Link == nil && d.ctx.Err() == nil {
			c.node, c.err = d.h.Node(d.ctx, c.path)
		}
		return c
	})
	defer line.End(func(child) {})
	for range children {
		c := line.Next()
		if err := d.ctx.Err(); err != nil {
			return err
		}
		if err := see(c); err != nil {
			return err
		}
	}
	return nil
}

// names returns by which name the file has each child of a group.
func (d *describer) names(children []zarrcore.Child) map[string]string {
	if d.flavour == MATLAB {
		return matlabNames(children)
	}
	names := make(map[string]string, len(children))
	for _, c := range children {
		names[c.Name] = c.Name
	}
	return names
}

// renamed returns the attribute that keeps the name of a node, if the file has it by another name.
func (d *describer) renamed(name string, n *zarrcore.Node) []hdf5.Attribute {
	if d.flavour != MATLAB || name == "" || name == nameOf(d.h, n.Path) {
		return nil
	}
	return []hdf5.Attribute{{Name: matlabName, Type: hdf5.VarString,
		Strings: []string{nameOf(d.h, n.Path)}}}
}

// child adds a child to the description of its group, by that name. What a file cannot have is
// left out.
func (d *describer) child(g *hdf5.Group, c child, name string) error {
	switch {
	case c.Link != nil:
		d.leave(c.path, fmt.Errorf("a link: %w", errors.ErrUnsupported))
		return nil
	case c.err != nil:
		d.leave(c.path, c.err)
		return nil
	case c.node.Kind != zarrcore.ArrayNode:
		sub, err := d.group(name, c.node)
		g.Groups = append(g.Groups, sub)
		return err
	}
	set, err := d.dataset(name, c.node)
	if err != nil {
		d.leave(c.path, err)
		return d.ctx.Err()
	}
	g.Datasets = append(g.Datasets, set)
	return nil
}

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// dataset describes an array.
func (d *describer) dataset(name string, n *zarrcore.Node) (*hdf5.Dataset, error) {
	if n.Err != nil {
		return nil, n.Err
	}
	if d.flavour == NetCDF4 && strings.HasPrefix(name, hdf5.NonCoordinate) {
		return nil, fmt.Errorf("%w: the netCDF library shows it as %q: rename it, or use a "+
			".h5 file",
			errors.ErrUnsupported, strings.TrimPrefix(name, hdf5.NonCoordinate))
	}
	m := n.Meta
	source := Source{Path: n.Path, Meta: m}
	set := &hdf5.Dataset{Name: name, Shape: m.Shape}
	kind, err := d.form(set, &source)
	if err != nil {
		return nil, err
	}
	set.Attributes = append(set.Attributes, d.renamed(name, n)...)
	set.Attributes = append(set.Attributes, d.attributes(
		n.Path,
		n.Attributes.Entries(),
		&variable{m, kind, source.Form, set.Fill},
	)...)
	d.cut(set, &source)
	if err := set.Check(); err != nil {
		return nil, fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	d.of.Nodes = append(d.of.Nodes, n)
	d.of.Sources[set] = source
	return set, nil
}

// cut lays a dataset out in the chunks of its array, if that is asked for, and a file can have
// them. They must be of one shape, and have the elements as they are.
func (d *describer) cut(set *hdf5.Dataset, source *Source) {
	m := source.Meta
	if d.layout != Chunked || source.Form != nil || source.Width > 0 ||
		!slices.Equal(set.Shape, m.Shape) {
		return
	}
	a, err := generation.New(*m, source.Path, 0, nil)
	if err != nil || !a.Grid.IsRegular() ||
		!hdf5.FitsChunk(a.Grid.ChunkShape(), set.Type, len(m.Shape)) {
		return
	}
	if _, ok := a.Grid.StackedSize(); ok {
		set.Chunk, source.Grid = a.Grid.ChunkShape(), a.Grid
	}
}

// form says of which type and shape a dataset is, and notes in source how its elements are read.
func (d *describer) form(set *hdf5.Dataset, source *Source) (kind element, err error) {
	m := source.Meta
	hasNames := slices.ContainsFunc(m.DimensionNames, func(name string) bool { return name != "" })
	if d.flavour == MATLAB {
		kind, err = d.matlab(set, source)
		if hasNames { // a dimension would be a variable there
			set.Attributes = append(set.Attributes, hdf5.Attribute{Name: "dimension_names",
				Type: hdf5.VarString, Shape: []int64{int64(len(m.DimensionNames))},
				Strings: m.DimensionNames})
		}
		return kind, err
	}
	if kind, err = d.element(source); err != nil {
		return kind, err
	}
	set.Type, set.Fill = kind.is, fillOf(source)
	switch {
	case hasNames:
		set.Dimensions = m.DimensionNames
	case d.flavour == NetCDF4: // libraries do not write to arrays without dimensions there
		set.Dimensions = make([]string, len(m.Shape))
	}
	if kind.chars > 0 {
		spell(set, kind.chars)
	}
	return kind, nil
}

// spell makes an array of strings one of characters, with one axis more.
func spell(set *hdf5.Dataset, chars int64) {
	set.Type = hdf5.ByteString(1)
	set.Shape = append(slices.Clone(set.Shape), chars)
	if set.Dimensions != nil {
		set.Dimensions = append(slices.Clone(set.Dimensions), fmt.Sprintf("string%d", chars))
	}
}
