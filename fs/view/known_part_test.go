package view

import (
	"reflect"
	"testing"

	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/layout/volume"
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
