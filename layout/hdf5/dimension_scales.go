package hdf5

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
)

// A dimension of netCDF-4 is a dataset that is a dimension scale. It is the variable of that name
// with that one axis, if there is one. Otherwise it is a dataset without bytes. A group sees the
// dimensions of the groups above it. (NetCDF-4 format specification, "Dimensions".)
//
// Programs look a dimension up by its name, and take that of the nearest group. So a group has no
// dimension of a name by which one of its arrays means that of a group above.

// scale is a dimension.
type scale struct {
	name     string
	length   int64
	variable *Dataset // its coordinates; nil: it has none
	number   int32    // over the whole file
	uses     []use
}

// use is an axis that a scale describes.
type use struct {
	by   *Dataset
	axis int32
}

// scope has the dimensions of a group.
type scope struct {
	group  *Group
	above  *scope
	names  map[string]bool // of the groups and datasets in it
	groups map[string]bool
	scales map[string]*scale
	order  []*scale
	seen   map[string]bool // names by which an array has a scale of a group above
}

// NonCoordinate begins the name of a variable that is named as a dimension and is not its
// coordinates. The netCDF library takes it off again, and so it does with all such names.
const NonCoordinate = "_nc4_non_coord_"

// originalNames is the attribute that keeps the names of axes where a dimension had to get another.
const originalNames = "dimension_names"

// findScales finds the dimensions of a group and of all below it.
func (w *writer) findScales(g *Group, above *scope) {
	s := &scope{
		group:  g,
		above:  above,
		names:  make(map[string]bool),
		groups: make(map[string]bool),
		scales: make(map[string]*scale),
		seen:   make(map[string]bool),
	}
	w.scopes[g] = s
	for _, sub := range g.Groups {
		s.names[sub.Name], s.groups[sub.Name] = true, true
	}
	for _, d := range g.Datasets {
		s.names[d.Name] = true
		if d.isCoordinate() {
			w.addScale(s, &scale{name: d.Name, length: d.Shape[0], variable: d})
		}
	}
	for _, d := range g.Datasets {
		if names := s.axesOf(d); len(names) > 0 {
			w.axes[d] = w.scalesOf(d, names, s)
		}
	}
	for _, sub := range g.Groups {
		w.findScales(sub, s)
	}
}

// isCoordinate reports whether the dataset has the coordinates of a dimension.
func (d *Dataset) isCoordinate() bool { return len(d.Dimensions) == 1 && d.Dimensions[0] == d.Name }

func (w *writer) addScale(s *scope, x *scale) *scale {
	x.number = int32(w.dimensions)
	w.dimensions++
	s.scales[x.name] = x
	s.order = append(s.order, x)
	return x
}

// axesOf returns the names of the axes of a dataset; nil: they get no scales. Without scales,
// h5netcdf takes a dataset that is named as a dimension for its coordinates, whatever its shape.
func (s *scope) axesOf(d *Dataset) []string {
	if d.Dimensions == nil && s.nearest(d.Name) != nil {
		return make([]string, len(d.Shape))
	}
	return d.Dimensions
}

// scalesOf returns the scale of each axis of a dataset.
func (w *writer) scalesOf(d *Dataset, names []string, s *scope) []*scale {
	all := make([]*scale, len(names))
	for i, name := range names {
		x := w.scaleOf(s, name, d.Shape[i])
		if all[i] = x; x.variable != d {
			x.uses = append(x.uses, use{d, int32(i)})
		}
	}
	return all
}

// scaleOf returns the scale of that name and length. If something else has the name in this group,
// it is that of a name with a number behind it.
func (w *writer) scaleOf(s *scope, asked string, length int64) *scale {
	name := scaleName(asked, length)
	if x := s.nearest(name); s.scales[name] == nil && x != nil && x.length == length {
		s.seen[name] = true
		return x
	}
	for n, as := 0, name; ; n, as = n+1, fmt.Sprintf("%s_%d", name, n+1) {
		x := s.scales[as]
		if x != nil && x.length == length {
			return x
		}
		if x == nil && !s.seen[as] && (!s.names[as] || as == asked && w.yields(s, as)) {
			return w.addScale(s, &scale{name: as, length: length})
		}
	}
}

// nearest returns the scale that programs find by a name, or nil.
func (s *scope) nearest(name string) *scale {
	for ; s != nil; s = s.above {
		if x := s.scales[name]; x != nil {
			return x
		}
	}
	return nil
}

// yields reports whether the dataset of that name gets another one, and a dimension can have it.
func (w *writer) yields(s *scope, name string) bool {
	return w.naming == KeepDimensions && !s.groups[name] && !s.names[NonCoordinate+name]
}

// scaleName returns the name in the file of a dimension that an array calls name.
func scaleName(name string, length int64) string {
	if name == "" || name == "." {
		return fmt.Sprintf("dim_%d", length)
	}
	if strings.HasPrefix(name, NonCoordinate) {
		name = "dim" + name
	}
	b := []byte(name)
	for i, c := range b {
		if c == '/' || c < ' ' || c == 0x7f {
			b[i] = '_'
		}
	}
	return string(b)
}

// isRenamed reports whether a dimension of the dataset has another name than its axis.
func (w *writer) isRenamed(d *Dataset) bool {
	for i, name := range d.Dimensions {
		if name != "" && name != w.axes[d][i].name {
			return true
		}
	}
	return false
}

// linkName returns the name by which the file has a dataset.
func (s *scope) linkName(d *Dataset) string {
	if x := s.scales[d.Name]; x != nil && x.variable != d {
		return NonCoordinate + d.Name
	}
	return d.Name
}

// emptyScale returns the header of a dimension without coordinates: a dataset without bytes, as the
// netCDF library has it.
func (w *writer) emptyScale(x *scale) []byte {
	var h header
	t, _ := Float("float32", true)
	layout := contiguous(undefined, 4*min(x.length, math.MaxInt64/4))
	w.begin(&h, []int64{x.length}, t, fillMessage(nil, false), layout)
	w.scaleAttributes(
		&h,
		x,
		fmt.Sprintf("This is a netCDF dimension but not a netCDF variable.%10d", x.length),
	)
	return h.bytes()
}

// scaleAttributes adds what makes a dataset a dimension scale. libhdf5 wants texts that are ASCII
// and end with NUL.
func (w *writer) scaleAttributes(h *header, x *scale, name string) {
	const class = "DIMENSION_SCALE\x00"
	h.add(msgAttribute, 0, attribute("CLASS", Word(len(class)), nil, []byte(class)))
	h.add(msgAttribute, 0, attribute("NAME", Word(len(name)+1), nil, append([]byte(name), 0)))
	h.add(
		msgAttribute,
		0,
		attribute(
			"_Netcdf4Dimid",
			int32Type,
			nil,
			binary.LittleEndian.AppendUint32(nil, uint32(x.number)),
		),
	)
	var uses []byte
	for _, u := range x.uses {
		uses = appendAddress(uses, w.addresses[u.by])
		uses = binary.LittleEndian.AppendUint32(uses, uint32(u.axis))
		uses = append(uses, 0, 0, 0, 0)
	}
	// Readers find scales by the lists of the datasets. Only programs that take scales off need
	// this list, so a list too long for a header is left out.
	if len(uses) > 0 && len(uses) <= MaxAttribute {
		h.add(
			msgAttribute,
			0,
			attribute("REFERENCE_LIST", referenceUses, []int64{int64(len(x.uses))}, uses),
		)
	}
}

// dimensionList returns the elements of DIMENSION_LIST: for each axis a list of one scale.
func (w *writer) dimensionList(axes []*scale) []byte {
	var b []byte
	for _, x := range axes {
		address := w.addresses[x]
		if x.variable != nil {
			address = w.addresses[x.variable]
		}
		spot := w.heap.once(fmt.Sprintf("scale %d", x.number), appendAddress(nil, address))
		b = w.appendSpot(b, 1, spot)
	}
	return b
}
