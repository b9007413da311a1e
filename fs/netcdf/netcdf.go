// Package netcdf says what a group or array of a hierarchy is as one HDF5 or netCDF-4 file: its
// groups, datasets, types, attributes and dimensions. Package layout/hdf5 makes the file of that.
package netcdf

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zarrfs/zarrfs/layout/hdf5"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
)

// Flavour says for which libraries a file is made, where they differ.
type Flavour uint8

// The flavours. Programs for the one read the files of the other, except some types.
const (
	HDF5 Flavour = iota // as h5py writes: texts of any length, booleans as an enumerated type
	// As xarray writes: attributes as text, booleans as bytes with an attribute.
	NetCDF4
)

// Source is where the bytes of a dataset are.
type Source struct {
	Path string      // of the array
	Meta *meta.Array // as the file describes it

	// Width is how many characters or bytes a string has in the file, if the elements of the array
	// have no fixed size. 0: they have one.
	Width int64
	// Form is what the file makes of the elements; nil: it has them as they are.
	Form *Form
}

// A Description is what a file says.
type Description struct {
	Root    *hdf5.Group
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
) (*Description, error) {
	n, err := h.Node(ctx, path)
	if err != nil {
		return nil, err
	}
	d := describer{
		ctx:     ctx,
		h:       h,
		flavour: f,
		of:      &Description{Sources: make(map[*hdf5.Dataset]Source)},
	}
	if n.Kind != zarrcore.ArrayNode {
		d.of.Root, err = d.group("", n)
		return d.of, err
	}
	d.of.Root = &hdf5.Group{}
	set, err := d.dataset(nameOf(h, path), n)
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
	children, err := d.children(n.Path)
	for _, c := range children {
		if err = d.child(g, c, join(n.Path, c.Name)); err != nil {
			break
		}
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

// child adds a child to the description of its group. What a file cannot have is left out.
func (d *describer) child(g *hdf5.Group, c zarrcore.Child, path string) error {
	if c.Link != nil {
		d.leave(path, fmt.Errorf("a link: %w", errors.ErrUnsupported))
		return nil
	}
	n, err := d.h.Node(d.ctx, path)
	if d.ctx.Err() != nil {
		return d.ctx.Err()
	}
	if err != nil {
		d.leave(path, err)
		return nil
	}
	if n.Kind != zarrcore.ArrayNode {
		sub, err := d.group(c.Name, n)
		g.Groups = append(g.Groups, sub)
		return err
	}
	set, err := d.dataset(c.Name, n)
	if err != nil {
		d.leave(path, err)
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
		return nil, fmt.Errorf("%w: the netCDF library shows it as %q: rename it, or use a .h5 file",
			errors.ErrUnsupported, strings.TrimPrefix(name, hdf5.NonCoordinate))
	}
	m := n.Meta
	source := Source{Path: n.Path, Meta: m}
	kind, err := d.element(&source)
	if err != nil {
		return nil, err
	}
	set := &hdf5.Dataset{Name: name, Type: kind.is, Shape: m.Shape, Fill: fillOf(&source)}
	switch {
	case slices.ContainsFunc(m.DimensionNames, func(name string) bool { return name != "" }):
		set.Dimensions = m.DimensionNames
	case d.flavour == NetCDF4: // libraries do not write to arrays without dimensions there
		set.Dimensions = make([]string, len(m.Shape))
	}
	if kind.chars > 0 {
		spell(set, kind.chars)
	}
	set.Attributes = d.attributes(
		n.Path,
		n.Attributes.Entries(),
		&variable{m, kind, source.Form, set.Fill},
	)
	if err := set.Check(); err != nil {
		return nil, fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	d.of.Nodes = append(d.of.Nodes, n)
	d.of.Sources[set] = source
	return set, nil
}

// spell makes an array of strings one of characters, with one axis more.
func spell(set *hdf5.Dataset, chars int64) {
	set.Type = hdf5.ByteString(1)
	set.Shape = append(slices.Clone(set.Shape), chars)
	if set.Dimensions != nil {
		set.Dimensions = append(slices.Clone(set.Dimensions), fmt.Sprintf("string%d", chars))
	}
}
