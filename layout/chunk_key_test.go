package layout

import (
	"slices"
	"testing"
)

func TestKeys(t *testing.T) {
	for _, tt := range []struct {
		keys   KeyEncoding
		coords []int64
		want   string
	}{
		{KeyEncoding{KeyDefault, '/', ""}, []int64{1, 23, 4}, "c/1/23/4"},
		{KeyEncoding{KeyDefault, '.', ""}, []int64{1, 23}, "c.1.23"},
		{KeyEncoding{KeyDefault, '/', ""}, []int64{}, "c"},
		{KeyEncoding{KeyV2, '.', ""}, []int64{0, 0}, "0.0"},
		{KeyEncoding{KeyV2, '/', ""}, []int64{0, 7}, "0/7"},
		{KeyEncoding{KeyV2, '.', ""}, []int64{}, "0"},
		{KeyEncoding{KeyDefault, '/', ".tiff"}, []int64{1, 23}, "c/1/23.tiff"},
		{KeyEncoding{KeyDefault, '.', ".tiff"}, []int64{}, "c.tiff"},
		{KeyEncoding{KeyV2, '.', "0"}, []int64{1, 2}, "1.20"},
		{KeyEncoding{KeyV2, '.', ".0"}, []int64{}, "0.0"},
	} {
		if got := tt.keys.Key(tt.coords); got != tt.want {
			t.Errorf("%+v %v: got %q, want %q", tt.keys, tt.coords, got, tt.want)
		}
		if got, ok := tt.keys.Parse(tt.want, len(tt.coords)); !ok || !slices.Equal(got, tt.coords) {
			t.Errorf("%+v: %q parses as %v %v, want %v", tt.keys, tt.want, got, ok, tt.coords)
		}
	}
}

// TestNoKeys holds that only the one spelling of a key is taken for an object.
func TestNoKeys(t *testing.T) {
	for _, tt := range []struct {
		keys KeyEncoding
		rank int
		bad  []string
	}{
		{KeyEncoding{KeyDefault, '/', ""}, 2, []string{
			"", "c", "c/", "c/1", "c/1/2/3", "c/01/2", "c/+1/2", "c/-1/2", "c/1/2/", "c//1/2",
			"c1/2", "1/2", "c/1.2", "c.1.2", "c/1/9223372036854775808", "c/ 1/2",
		}},
		{KeyEncoding{KeyDefault, '/', ""}, 0, []string{"", "c/", "c/0", "0"}},
		{KeyEncoding{KeyV2, '.', ""}, 2, []string{"", "0", "0.0.0", "c.0.0", "0.00", "0/0",
			".zarray", "0.0.partial"}},
		{KeyEncoding{KeyV2, '.', ""}, 0, []string{"", "00", "c"}},
		{KeyEncoding{KeyDefault, '/', ".z"}, 1, []string{"c/1", "c/1.", "c/1.z.z", "c/.z", ".z"}},
	} {
		for _, key := range tt.bad {
			if got, ok := tt.keys.Parse(key, tt.rank); ok {
				t.Errorf("%+v, %d axes: %q is taken for the object at %v", tt.keys, tt.rank, key,
					got)
			}
		}
	}
}

func TestLeads(t *testing.T) {
	slash, v2 := KeyEncoding{KeyDefault, '/', ".z"}, KeyEncoding{KeyV2, '/', ""}
	for _, tt := range []struct {
		keys KeyEncoding
		dir  string
		rank int
		want bool
	}{
		{slash, "c", 1, true}, {slash, "c", 0, false}, {slash, "c/0", 2, true},
		{slash, "c/0", 1, false}, {slash, "c/x", 3, false},
		{slash, "0", 2, false}, {slash, "c0", 2, false}, {slash, "d", 2, false},
		{v2, "0", 2, true}, {v2, "0/17", 3, true}, {v2, "0/17", 2, false}, {v2, "c", 2, false},
		{v2, "0", 1, false},
		{KeyEncoding{KeyV2, '.', ""}, "0", 2, false},
		{KeyEncoding{KeyDefault, '.', ""}, "c", 2, false},
	} {
		if got := tt.keys.Leads(tt.dir, tt.rank); got != tt.want {
			t.Errorf("%+v, %d axes: %q leads to objects: %v, want %v", tt.keys, tt.rank, tt.dir,
				got, tt.want)
		}
	}
}
