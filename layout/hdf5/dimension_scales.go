package hdf5

import (
	"fmt"
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
