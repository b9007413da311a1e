package view

import (
	"reflect"
	"testing"

	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/layout/volume"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// TestAxisOfPart: the elements of a part lie where they lie in the array.
func TestAxisOfPart(t *testing.T) {
	whole := volume.Axis{Length: 4, Name: "x", Unit: "um", HasStart: true, Start: 10, HasStep: true,
		Step:   0.5,
		Labels: []string{"a", "b", "c", "d"}}
	onlyStart := volume.Axis{Length: 4, HasStart: true, Start: 10}
	for _, tc := range []struct {
		axis, want volume.Axis
		indexes    layout.Indexes
	}{
		{whole, whole, layout.All(4)},
		{whole, volume.Axis{Length: 2, Name: "x", Unit: "um", HasStart: true, Start: 10.5,
			HasStep: true, Step: 1,
			Labels: []string{"b", "d"}}, layout.Indexes{Start: 1, Step: 2, Count: 2}},
		{whole, volume.Axis{Length: 4, Name: "x", Unit: "um", HasStart: true, Start: 11.5,
			HasStep: true, Step: -0.5,
			Labels: []string{"d", "c", "b", "a"}}, layout.Indexes{Start: 3, Step: -1, Count: 4}},
		{onlyStart, onlyStart, layout.All(4)},
		{onlyStart, volume.Axis{Length: 1, Start: 10}, layout.Indexes{Start: 2, Step: 1, Count: 1}},
	} {
		if got := along(tc.axis, tc.indexes); !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%+v of %+v is %+v, expected %+v", tc.indexes, tc.axis, got, tc.want)
		}
	}
}

// TestPlaceOfPart: the elements of a part of a raster lie where they lie in the raster. Elements in
// another order, as along a column, lie nowhere that a header could say.
func TestPlaceOfPart(t *testing.T) {
	whole := volume.Place{Known: true, X: [3]float64{100, 10, 1}, Y: [3]float64{500, -2, -20},
		EPSG: 32632}
	all, some := layout.All(8), layout.Indexes{Start: 3, Step: 2, Count: 2}
	back := layout.Indexes{Start: 7, Step: -1, Count: 8}
	for _, tc := range []struct {
		name         string
		line, column layout.Indexes
		dropped      []bool
		length       int64
		x, y         [3]float64 // zero: the place is unknown
	}{
		{"all", all, all, []bool{false, false, false}, 8, whole.X, whole.Y},
		{"a band", all, all, []bool{true, false, false}, 8, whole.X, whole.Y},
		{"lines", some, all, []bool{false, false, false}, 8,
			[3]float64{103, 10, 2}, [3]float64{440, -2, -40}},
		{"columns", all, some, []bool{false, false, false}, 2,
			[3]float64{130, 20, 1}, [3]float64{494, -4, -20}},
		{"backwards", all, back, []bool{false, false, false}, 8,
			[3]float64{170, -10, 1}, [3]float64{486, 2, -20}},
		{"no line", all, all, []bool{false, true, false}, 8, [3]float64{}, [3]float64{}},
		{"no column", all, all, []bool{false, false, true}, 8, [3]float64{}, [3]float64{}},
		{"other elements", all, all, []bool{false, false, false}, 16, [3]float64{}, [3]float64{}},
	} {
		part := zarrcore.Slice{Along: []layout.Indexes{all, tc.line, tc.column},
			Dropped: tc.dropped}
		got := placeOfPart(whole, part, []volume.Axis{{Length: 8}, {Length: tc.length}})
		want := volume.Place{Known: true, X: tc.x, Y: tc.y, EPSG: 32632}
		if tc.x == [3]float64{} {
			want = volume.Place{}
		}
		if got != want {
			t.Errorf("%s: %+v, expected %+v", tc.name, got, want)
		}
	}
}
