package volume

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"
)

// TestNIfTIAxes: time is the fourth axis and channels are the fifth, where they are known.
// Otherwise the axes are those of the array.
func TestNIfTIAxes(t *testing.T) {
	x, z, u := Axis{Length: 7, Kind: Space}, Axis{Length: 4, Kind: Space}, Axis{Length: 2}
	c, at := Axis{Length: 3, Kind: Channel}, Axis{Length: 5, Kind: Time}
	for name, tc := range map[string]struct {
		axes []Axis // the slowest first
		want []int64
	}{
		"zyx":     {[]Axis{z, x, x}, []int64{3, 7, 7, 4, 1, 1, 1, 1}},
		"x":       {[]Axis{x}, []int64{1, 7, 1, 1, 1, 1, 1, 1}},
		"tyx":     {[]Axis{at, x, x}, []int64{4, 7, 7, 1, 5, 1, 1, 1}},
		"cyx":     {[]Axis{c, x, x}, []int64{5, 7, 7, 1, 1, 3, 1, 1}},
		"czyx":    {[]Axis{c, z, x, x}, []int64{5, 7, 7, 4, 1, 3, 1, 1}},
		"ctzyx":   {[]Axis{c, at, z, x, x}, []int64{5, 7, 7, 4, 5, 3, 1, 1}},
		"tczyx":   {[]Axis{at, c, z, x, x}, []int64{5, 7, 7, 4, 3, 5, 1, 1}},
		"unknown": {[]Axis{u, u, x}, []int64{3, 7, 2, 2, 1, 1, 1, 1}},
		"t":       {[]Axis{at}, []int64{1, 5, 1, 1, 1, 1, 1, 1}},
		"none":    {nil, []int64{1, 1, 1, 1, 1, 1, 1, 1}},
	} {
		n := nifti{axes: niftiAxes(Volume{Axes: tc.axes}.fastest())}
		if got := n.dims(); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, expected %v", name, got, tc.want)
		}
	}
}

// TestNIfTIUnits: units that the format has not, or that differ, are left out. The unit of time
// does not depend on those of space.
func TestNIfTIUnits(t *testing.T) {
	for name, tc := range map[string]struct {
		y, x, time string
		want       int64
	}{
		"two spellings":    {"micrometer", "um", "second", 3 | 8},
		"the same":         {"micrometer", "micrometer", "s", 3 | 8},
		"different":        {"micrometer", "mm", "s", 8},
		"one is not known": {"micrometer", "furlong", "s", 8},
		"the first is not": {"", "mm", "s", 8},
		"minutes":          {"mm", "mm", "minute", 2},
		"nanometers":       {"nm", "nm", "ms", 16}, "swapped": {"s", "s", "mm", 0},
		"dates": {"m", "m", "days since 1970-01-01", 1},
	} {
		axis := func(k Kind, unit string) Axis {
			return Axis{Length: 2, Kind: k, Unit: unit,
				Step: 1, HasStep: true}
		}
		v := Volume{Axes: []Axis{axis(Time, tc.time), axis(Space, tc.y), axis(Space, tc.x)}}
		n := nifti{axes: niftiAxes(v.fastest())}
		n.space = placed(n.axes[:3])
		if got := n.units(); got != tc.want {
			t.Errorf("%s: %d, expected %d", name, got, tc.want)
		}
		n.axes[3].HasStep = false
		if got := n.units(); got != tc.want&7 {
			t.Errorf("%s, without a step of time: %d, expected %d", name, got, tc.want&7)
		}
	}
}

// TestNIfTITwo: an axis that NIfTI-1 cannot say is said by NIfTI-2, in either byte order.
func TestNIfTITwo(t *testing.T) {
	for length, want := range map[int64]int{math.MaxInt16: niftiOne, math.MaxInt16 + 1: niftiTwo} {
		for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
			v := Volume{Type: Type{Uint, 2, order == binary.BigEndian},
				Axes: []Axis{{Length: length}}}
			head, err := NIfTI(v)
			if err != nil || len(head) != want || order.Uint32(head) != uint32(want-4) {
				t.Errorf("%d: %d bytes, %v", length, len(head), err)
			}
		}
	}
}

// TestNIfTIScaling: a header that would give other values than the CF conventions is refused.
// Rounding by less than half a step of the stored integers is not.
func TestNIfTIScaling(t *testing.T) {
	i2, i4 := Type{Class: Int, Size: 2}, Type{Class: Int, Size: 4}
	for _, tc := range []struct {
		t             Type
		slope, offset float64
		one, two      bool
	}{
		{i2, 0.01, 273.15, true, true}, {i2, -0.01, 0, true, true}, {i2, 1, 1e9, true, true},
		{i4, 0.5, 3, true, true}, {i4, 0.1, 0, false, true}, {i2, 1, 1e9 + 1, false, true},
		{i2, 0, 3, false, false}, {i2, 1e-50, 3, false, true}, {i2, 1e300, 0, false, true},
		{i2, 1, 1e300, false, true}, {Type{Class: Float, Size: 4}, 0.01, 0, true, true},
	} {
		for length, want := range map[int64]bool{7: tc.one, math.MaxInt16 + 1: tc.two} {
			v := Volume{Type: tc.t, Axes: []Axis{{Length: length}}, IsPacked: true, Slope: tc.slope,
				Offset: tc.offset}
			if _, err := NIfTI(v); (err == nil) != want {
				t.Errorf("slope %g, offset %g, length %d: %v", tc.slope, tc.offset, length, err)
			}
		}
	}
}

// TestNIfTIUnsigned: packed integers that CF says are unsigned are unsigned there too.
func TestNIfTIUnsigned(t *testing.T) {
	for packed, want := range map[bool]uint16{true: 512, false: 4} {
		v := Volume{Type: Type{Class: Int, Size: 2}, Axes: []Axis{{Length: 7}}, IsPacked: packed,
			IsUnsigned: true, Slope: 0.5}
		head, err := NIfTI(v)
		if err != nil || binary.LittleEndian.Uint16(head[70:]) != want {
			t.Errorf("packed %t: %v, expected the type %d", packed, err, want)
		}
	}
}
