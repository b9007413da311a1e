// Package axes finds out what the documents of a store say of an array's axes: names, units, where
// the elements lie, and of which kind an axis is. It knows dimension names, the CF conventions, and
// the multiscales of OME-Zarr 0.4 and 0.5. What nothing says stays unknown. It reads no store.
package axes

import (
	"math"
	"path"
	"slices"
	"strings"

	"github.com/zarrfs/zarrfs/layout/volume"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// Known is what a store holds about an array.
type Known struct {
	Path  string       // of the array, below the group above its group
	Array *meta.Array  // its document
	Group pyjson.Value // the attributes of its group; may be absent
	Above pyjson.Value // those of the group above that; may be absent
	// Coordinate returns the coordinate variable of that name in the group, if there is one with
	// that many elements. Asking may take a read of the store. nil: there are none.
	Coordinate func(name string, length int64) (Coordinate, bool)
	// Mapping returns the attributes of the array of that name in the group, which may be absent.
	// nil: there are none.
	Mapping func(name string) pyjson.Value
}

// name returns the name of the array, below its group.
func (k Known) name() string { return path.Base(k.Path) }

// Coordinate is a coordinate variable of the CF conventions.
type Coordinate struct {
	Attributes pyjson.Value
	Values     []float64
}

// Of returns the array as the headers of other formats describe it. It reports false if its
// elements are not numbers.
func Of(k Known) (v volume.Volume, ok bool) {
	if v.Type, ok = numbers(k.Array.Type); !ok {
		return v, false
	}
	v.Axes = make([]volume.Axis, len(k.Array.Shape))
	for i, n := range k.Array.Shape {
		v.Axes[i].Length = n
		if i < len(k.Array.DimensionNames) {
			v.Axes[i].Name = k.Array.DimensionNames[i]
		}
	}
	if !k.addMultiscale(v.Axes) {
		k.addCoordinates(v.Axes)
	}
	for i := range v.Axes {
		v.Axes[i] = checked(v.Axes[i])
	}
	k.addValues(&v)
	k.addPlace(&v)
	return v, true
}

// Names returns the names of the axes as the group says them, if the array is a level of an image
// of OME-Zarr. Otherwise it returns nil. In format 2 the array's own document has no names then.
func (k Known) Names() (names []string) {
	axes := make([]volume.Axis, len(k.Array.Shape))
	if !k.addMultiscale(axes) {
		return nil
	}
	for _, a := range axes {
		names = append(names, a.Name)
	}
	return names
}

// numbers returns the type of the elements if they are numbers that other formats may have.
func numbers(t dtype.Type) (volume.Type, bool) {
	class, ok := map[dtype.Kind]volume.Class{dtype.Bool: volume.Uint, dtype.Uint: volume.Uint,
		dtype.Int:   volume.Int,
		dtype.Float: volume.Float, dtype.Complex: volume.Complex}[t.Kind]
	return volume.Type{Class: class, Size: t.Size, Big: t.Order == dtype.Big}, ok
}

// addValues adds what the array's attributes say of its values, by the CF conventions.
func (k Known) addValues(v *volume.Volume) {
	a := k.Array.Attributes
	v.Unit = a.Get("units").Text()
	for _, key := range []string{"long_name", "standard_name"} {
		if v.Name == "" {
			v.Name = a.Get(key).Text()
		}
	}
	v.Blank, v.HasBlank = blank(a)
	slope, hasSlope := finite(a.Get("scale_factor"))
	offset, hasOffset := finite(a.Get("add_offset"))
	if v.IsPacked = hasSlope || hasOffset; !v.IsPacked {
		return
	}
	if v.Slope, v.Offset = slope, offset; !hasSlope {
		v.Slope = 1
	}
	v.IsUnsigned = a.Get("_Unsigned").Text() == "true"
}

// blank returns the integer that is stored where there is no value (section 2.5.1 of the CF
// conventions), if the attributes say one. A fill value of the document alone does not say so: most
// programs set it to zero without a thought.
func blank(attributes pyjson.Value) (n int64, ok bool) {
	for _, key := range []string{"_FillValue", "missing_value"} {
		v := attributes.Get(key)
		if n, ok := v.Int64(); ok {
			return n, true
		}
		if f, ok := finite(v); ok && f == math.Trunc(f) && math.Abs(f) < 1<<53 { // -9999.0
			return int64(f), true
		}
	}
	return 0, false
}

// checked returns the axis without numbers that no format can have.
func checked(a volume.Axis) volume.Axis {
	if a.Step == 0 || !isFinite(a.Step) {
		a.HasStep, a.Step = false, 0
	}
	if !isFinite(a.Start) {
		a.HasStart, a.Start = false, 0
	}
	if int64(len(a.Labels)) != a.Length {
		a.Labels = nil
	}
	return a
}

func finite(v pyjson.Value) (float64, bool) {
	f, ok := v.Float64()
	return f, ok && isFinite(f)
}

func isFinite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// kinds are those of axes with a usual name.
var kinds = map[string]volume.Kind{
	"x": volume.Space, "y": volume.Space, "z": volume.Space, "t": volume.Time, "time": volume.Time,
	"c": volume.Channel, "channel": volume.Channel, "band": volume.Channel,
}

// KindOf returns the kind of an axis with a usual name.
func KindOf(name string) volume.Kind { return kinds[strings.ToLower(name)] }

// addCoordinates adds what the coordinate variables of the CF conventions say: those that have the
// names of the dimensions.
func (k Known) addCoordinates(axes []volume.Axis) {
	for i := range axes {
		a := &axes[i]
		a.Kind = KindOf(a.Name)
		if a.Name == "" || k.Coordinate == nil || a.Name == k.name() {
			continue
		}
		c, ok := k.Coordinate(a.Name, a.Length)
		if !ok {
			continue
		}
		c.describe(a)
	}
}

// describe adds what a coordinate variable says of its axis.
func (c Coordinate) describe(a *volume.Axis) {
	a.Unit = c.Attributes.Get("units").Text()
	if kind := c.kind(); kind != volume.Unknown {
		a.Kind = kind
	}
	if step, ok := regular(c.Values); ok {
		a.Start, a.HasStart, a.Step, a.HasStep = c.Values[0], true, step, true
	}
}

// kind returns the kind of a coordinate variable, by section 4 of the CF conventions.
func (c Coordinate) kind() volume.Kind {
	switch c.Attributes.Get("axis").Text() {
	case "X", "Y", "Z":
		return volume.Space
	case "T":
		return volume.Time
	}
	switch c.Attributes.Get("standard_name").Text() {
	case "longitude", "latitude", "projection_x_coordinate", "projection_y_coordinate", "height",
		"depth", "altitude":
		return volume.Space
	case "time":
		return volume.Time
	}
	if strings.Contains(c.Attributes.Get("units").Text(), " since ") {
		return volume.Time
	}
	return volume.Unknown
}

// regularTo is how far coordinates may be from regular ones, in steps: they are often stored as
// numbers of 32 bits.
const regularTo = 1e-3

// regular returns the step of coordinates that are all equally far from the next one.
func regular(values []float64) (step float64, ok bool) {
	if len(values) < 2 {
		return 0, false
	}
	step = (values[len(values)-1] - values[0]) / float64(len(values)-1)
	for i, v := range values {
		if !(math.Abs(v-values[0]-step*float64(i)) <= math.Abs(step)*regularTo) {
			return 0, false
		}
	}
	return step, step != 0
}

// addMultiscale adds what the group says of the array, if it is one of the levels of an image of
// OME-Zarr. It reports whether it is.
func (k Known) addMultiscale(axes []volume.Axis) bool {
	root := k.Group.Get("ome")
	if !root.Exists() {
		root = k.Group
	}
	for scales := range root.Get("multiscales").Elements() {
		for level := range scales.Get("datasets").Elements() {
			described := scales.Get("axes").Elems()
			if level.Get("path").Text() != k.name() || len(described) != len(axes) {
				continue
			}
			for i, a := range described {
				axes[i] = omeAxis(axes[i], a)
			}
			transform(axes, level.Get("coordinateTransformations"))
			transform(axes, scales.Get("coordinateTransformations"))
			addChannels(axes, root.Get("omero").Get("channels"))
			return true
		}
	}
	return false
}

// omeAxis returns an axis with what the multiscales say of it.
func omeAxis(a volume.Axis, described pyjson.Value) volume.Axis {
	if described.Kind() == pyjson.String { // as in version 0.3
		a.Name = described.Text()
		a.Kind = KindOf(a.Name)
		return a
	}
	a.Name, a.Unit = described.Get("name").Text(), described.Get("unit").Text()
	switch described.Get("type").Text() {
	case "space":
		a.Kind = volume.Space
	case "time":
		a.Kind = volume.Time
	case "channel":
		a.Kind = volume.Channel
	}
	return a
}

// transform applies the scales and translations of a list, each after the one before.
func transform(axes []volume.Axis, list pyjson.Value) {
	for t := range list.Elements() {
		numbers := t.Get(t.Get("type").Text()).Elems()
		if len(numbers) != len(axes) {
			continue
		}
		for i := range axes {
			f, ok := finite(numbers[i])
			if a := &axes[i]; ok && a.Kind != volume.Channel {
				transformAxis(a, t.Get("type").Text(), f)
			}
		}
	}
}

func transformAxis(a *volume.Axis, kind string, f float64) {
	switch kind {
	case "scale":
		if !a.HasStep {
			a.Step, a.HasStep = 1, true
		}
		a.Step, a.Start, a.HasStart = a.Step*f, a.Start*f, true
	case "translation":
		a.Start, a.HasStart = a.Start+f, true
	}
}

// addChannels adds the labels of channels.
func addChannels(axes []volume.Axis, channels pyjson.Value) {
	i := slices.IndexFunc(axes, func(a volume.Axis) bool { return a.Kind == volume.Channel })
	if i < 0 {
		return
	}
	for c := range channels.Elements() {
		axes[i].Labels = append(axes[i].Labels, c.Get("label").Text())
	}
}
