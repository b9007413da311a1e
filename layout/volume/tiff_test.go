package volume

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"testing"
)

// TestOMEAxes: each axis before a plane gets a letter of its own, that of its kind if it is the
// fastest of that kind.
func TestOMEAxes(t *testing.T) {
	kinds := []Kind{Unknown, Space, Time, Channel}
	for n := range 4 {
		for combination := range int(math.Pow(4, float64(n))) {
			v := Volume{Axes: []Axis{{Length: 7}, {Length: 8}}}
			first := map[Kind]int64{}
			for i := range n {
				kind := kinds[combination>>(2*i)&3]
				first[kind] = int64(i + 1)
				v.Axes = slices.Insert(v.Axes, i, Axis{Length: int64(i + 1), Kind: kind})
			}
			by, order := v.omeLeading()
			letters := []byte(order)
			slices.Sort(letters)
			if string(letters) != "CTZ" || len(by) != 3 {
				t.Fatalf("%v: order %s of %v", v.Axes, order, by)
			}
			for kind, letter := range map[Kind]byte{Space: 'Z', Time: 'T', Channel: 'C'} {
				if want := first[kind]; want > 0 && by[letter].Length != want {
					t.Errorf("%v: %c is %v", v.Axes, letter, by[letter])
				}
			}
			for i := range n {
				if got := by[order[i]].Length; got != int64(n-i) {
					t.Errorf("%v: axis %c is %d long", v.Axes, order[i], got)
				}
			}
		}
	}
}

// TestTIFFSizes: which TIFF it is follows from the size of the array, and the length of its header
// from shape and type alone.
func TestTIFFSizes(t *testing.T) {
	place := Place{Known: true, X: [3]float64{1, 2, 0}, Y: [3]float64{3, 0, -4}, EPSG: 4326,
		IsGeographic: true}
	for name, tc := range map[string]struct {
		kind  Type
		shape []int64
		begin string
	}{
		"small":               {Type{Uint, 2, false}, []int64{3, 100, 200}, "II*\x00\b"},
		"big-endian":          {Type{Uint, 2, true}, []int64{3, 100, 200}, "MM\x00*\x00"},
		"many planes":         {Type{Uint, 1, false}, []int64{65535, 2, 2}, "II*\x00\b"},
		"large":               {Type{Uint, 2, false}, []int64{3, 30000, 30000}, "II*\x00\b"},
		"large of many":       {Type{Float, 4, false}, []int64{70000, 300, 300}, "II*\x00\b"},
		"large of other type": {Type{Float, 8, false}, []int64{3, 30000, 30000}, "II+\x00\b"},
	} {
		v := Volume{Type: tc.kind}
		for _, n := range tc.shape {
			v.Axes = append(v.Axes, Axis{Length: n})
		}
		head, err := TIFF(v)
		if err != nil || !bytes.HasPrefix(head, []byte(tc.begin)) {
			t.Errorf("%s: %.8q, %v", name, head, err)
		}
		v.Place = place
		if placed, err := TIFF(v); err != nil || len(placed) != len(head) {
			t.Errorf("%s: with a place %d bytes, %v, expected %d", name, len(placed), err,
				len(head))
		}
	}
	many := Volume{Type: Type{Uint, 1, false},
		Axes: []Axis{{Length: 65536}, {Length: 2}, {Length: 2}}}
	if head, err := TIFF(many); err == nil {
		t.Errorf("65,536 planes have a header of %d bytes", len(head))
	}
}

// TestTIFFResolution: the resolution is per centimetre if the unit is a length. It is per that unit
// if ImageJ's text says the unit, and is left out if TIFF cannot say it.
func TestTIFFResolution(t *testing.T) {
	imageJs, other := Type{Float, 4, false}, Type{Int, 4, false}
	for _, tc := range []struct {
		kind   Type
		step   float64
		unit   string
		unitOf string // of the axis of lines, if that is another
		ratio  float64
		tag    uint16 // 0: none
	}{
		{other, 0.5, "micrometer", "", 20000, 3},
		{imageJs, 0.5, "micrometer", "", 2, 1},
		{imageJs, 0.5, "micrometer", "m", 0, 0},
		{other, 2, "cm", "", 0.5, 3},
		{other, -30, "m", "", 1.0 / 3000, 3},
		{other, 25000, "m", "", 1 / 2.5e6, 3},
		{other, 1.0 / 3, "nm", "", 3e7, 3},
		{other, 0.25, "", "", 4, 1},
		{other, 0.25, "degrees_north", "", 4, 1},
		{other, 1e-300, "", "", 0, 0},
		{other, math.Inf(1), "", "", 0, 0},
	} {
		x := Axis{Length: 2, Unit: tc.unit, Step: tc.step, HasStep: true}
		y := x
		if tc.unitOf != "" {
			y.Unit = tc.unitOf
		}
		head, err := TIFF(Volume{Type: tc.kind, Axes: []Axis{y, x}})
		if err != nil {
			t.Errorf("%+v: %v", tc, err)
			continue
		}
		found := firstTags(head)
		if at, ok := found[282]; ok != (tc.tag > 0) {
			t.Errorf("%+v: there is a resolution: %t", tc, ok)
		} else if ok {
			word := func(at uint32) float64 {
				return float64(binary.LittleEndian.Uint32(head[at:]))
			}
			got := word(at) / word(at+4)
			if math.Abs(got/tc.ratio-1) > 1e-6 || found[296] != uint32(tc.tag) {
				t.Errorf("%+v: %g per unit %d", tc, got, found[296])
			}
		}
	}
}

// firstTags returns the tags of the first directory of a little-endian TIFF file, with the value of
// each or where its values are.
func firstTags(head []byte) map[uint16]uint32 {
	order := binary.LittleEndian
	at, tags := order.Uint32(head[4:]), map[uint16]uint32{}
	for range order.Uint16(head[at:]) {
		tags[order.Uint16(head[at+2:])] = order.Uint32(head[at+10:])
		at += 12
	}
	return tags
}
