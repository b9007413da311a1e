// Package vtkhdf has the header of .vtkhdf files, in which VTK and ParaView have images.
package vtkhdf

import (
	"encoding/binary"
	"math"

	"github.com/zarrfs/zarrfs/layout/hdf5"
	"github.com/zarrfs/zarrfs/layout/volume"
)

// Header returns the header of a .vtkhdf file of an image. It is that of an HDF5 file with one
// dataset, at its end (https://docs.vtk.org/en/latest/vtk_file_formats/vtkhdf_file_format/). VTK
// has three axes, and perhaps one more of the components of a value. An array that it cannot hold
// is volume.ErrNot.
func Header(v volume.Volume) ([]byte, error) {
	is, components := typeOf(v.Type)
	if n, ok := v.Count(); !ok || n == 0 || is.Size() == 0 || len(v.Axes) == 0 || len(v.Axes) > 3 {
		return nil, volume.ErrNot
	}
	axes := make([]volume.Axis, 3-len(v.Axes), 3)
	for i := range axes {
		axes[i] = volume.Axis{Length: 1}
	}
	axes = append(axes, v.Axes...)
	values := &hdf5.Dataset{Name: "values", Type: is}
	for _, a := range axes {
		if a.Length > math.MaxInt32 {
			return nil, volume.ErrNot
		}
		if a.Length > 1 { // VTK counts axes that have more than one element
			values.Shape = append(values.Shape, a.Length)
		}
	}
	if len(values.Shape) == 0 {
		values.Shape = []int64{1}
	}
	if components > 1 {
		values.Shape = append(values.Shape, components)
	}
	points := &hdf5.Group{Name: "PointData", Datasets: []*hdf5.Dataset{values},
		Attributes: []hdf5.Attribute{word("Scalars", values.Name)}}
	image := &hdf5.Group{Name: "VTKHDF", Attributes: place(axes), Groups: []*hdf5.Group{points}}
	f, err := hdf5.Layout(&hdf5.Group{Groups: []*hdf5.Group{image}}, nil, hdf5.KeepDatasets)
	if err != nil {
		return nil, err
	}
	return append(f.Meta, make([]byte, f.Extents[0].Off-int64(len(f.Meta)))...), nil
}

// typeOf returns the type of a number, and how many of them a value is. A type of no bytes is one
// that VTK lacks.
func typeOf(t volume.Type) (is hdf5.Type, components int64) {
	components = 1
	if t.Class == volume.Complex {
		t.Class, t.Size, components = volume.Float, t.Size/2, 2
	}
	switch {
	case t.Class == volume.Float && t.Size == 4:
		is, _ = hdf5.Float("float32", t.Big)
	case t.Class == volume.Float && t.Size == 8:
		is, _ = hdf5.Float("float64", t.Big)
	case t.Class != volume.Float:
		is = hdf5.Int(int(t.Size), t.Class == volume.Int, t.Big)
	}
	return is, components
}

// place returns what the file says of the image: its kind and extent, and where it lies. VTK has
// no units, so that axes of different units have steps of 1. A step is positive, and the direction
// says where it leads.
func place(axes []volume.Axis) []hdf5.Attribute {
	extent, origin, spacing := make([]int64, 6), make([]float64, 3), []float64{1, 1, 1}
	direction := []float64{1, 0, 0, 0, 1, 0, 0, 0, 1}
	inOneUnit := haveOneUnit(axes)
	for i := range axes {
		a := axes[len(axes)-1-i] // x first
		extent[2*i+1] = a.Length - 1
		if inOneUnit && a.Kind == volume.Space {
			origin[i] = a.Start
			if a.HasStep {
				spacing[i], direction[4*i] = math.Abs(a.Step), math.Copysign(1, a.Step)
			}
		}
	}
	return []hdf5.Attribute{
		ints("Version", 1, 0), word("Type", "ImageData"), ints("WholeExtent", extent...),
		floats("Origin", origin), floats("Spacing", spacing),
		floats("Direction", direction),
	}
}

// haveOneUnit reports whether all axes of space have the same unit.
func haveOneUnit(axes []volume.Axis) bool {
	unit, ok := "", false
	for _, a := range axes {
		if a.Kind != volume.Space {
			continue
		}
		if ok && a.Unit != unit {
			return false
		}
		unit, ok = a.Unit, true
	}
	return true
}

func word(name, text string) hdf5.Attribute {
	return hdf5.Attribute{Name: name, Type: hdf5.Word(len(text)), Data: []byte(text)}
}

func ints(name string, all ...int64) hdf5.Attribute {
	a := hdf5.Attribute{Name: name, Type: hdf5.Int(8, true, false), Shape: []int64{int64(len(all))}}
	for _, n := range all {
		a.Data = binary.LittleEndian.AppendUint64(a.Data, uint64(n))
	}
	return a
}

func floats(name string, all []float64) hdf5.Attribute {
	is, _ := hdf5.Float("float64", false)
	a := hdf5.Attribute{Name: name, Type: is, Shape: []int64{int64(len(all))}}
	for _, f := range all {
		a.Data = binary.LittleEndian.AppendUint64(a.Data, math.Float64bits(f))
	}
	return a
}
