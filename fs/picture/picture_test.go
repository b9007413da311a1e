package picture

import (
	"bytes"
	"image"
	"image/png"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSizes: a picture of any array has the size that its shape gives, and at most 1024 pixels.
func TestSizes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	shapes := [][]int64{{}, {0, 4}, {1}, {5000}, {1, 100000}, {3, 1 << 62, 2}, {1 << 62}, {961,
		960}, {2, 3, 4, 5}}
	for range 30 {
		shapes = append(shapes, []int64{random.Int64N(3000) + 1, random.Int64N(3000) + 1})
	}
	for _, shape := range shapes {
		p := NewPlan(shape, nil)
		along := p.Along(shape)
		n := int64(1)
		for i, x := range along {
			n *= x.Count
			if x.Count > 0 && (x.Start < 0 || x.Start+(x.Count-1)*x.Step >= shape[i]) {
				t.Fatalf("%v: %+v is outside of the array", shape, x)
			}
		}
		values := make([]float64, n)
		for i := range values {
			values[i] = random.NormFloat64()
		}
		rows, cols := p.Samples(along)
		for _, values := range [][]float64{values, nil} {
			file, err := p.Draw(values, rows, cols, "title", "where")
			if err != nil || int64(len(file)) != p.Size() {
				t.Fatalf("%v: %d bytes, expected %d, %v", shape, len(file), p.Size(), err)
			}
			img, err := png.Decode(bytes.NewReader(file))
			if err != nil || img.Bounds().Dx() > most || img.Bounds().Dy() > most {
				t.Fatalf("%v: %v, %v", shape, img.Bounds(), err)
			}
		}
	}
}

// drawn draws values of an array of that shape and names, and returns the picture.
func drawn(t *testing.T, shape []int64, names []string, values []float64) image.Image {
	t.Helper()
	p := NewPlan(shape, names)
	rows, cols := p.Samples(p.Along(shape))
	file, err := p.Draw(values, rows, cols, "", "")
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// TestPlane: the values of a plane become grey, from low to high, and what is not a number red.
func TestPlane(t *testing.T) {
	const side = least / 2
	values := []float64{0, 1, math.NaN(), 3}
	for names, want := range map[string][4]uint32{"yx": {0, 85, 190, 255}, "xy": {0, 190, 85,
		255}} {
		img := drawn(t, []int64{2, 2}, []string{names[:1], names[1:]}, values)
		for i, at := range []image.Point{{0, 0}, {side, 0}, {0, side}, {side, side}} {
			for _, near := range []image.Point{at, at.Add(image.Pt(side-1, side-1))} {
				red, _, _, _ := img.At(near.X, near.Y).RGBA()
				if red>>8 > want[i]+1 || red>>8+1 < want[i] {
					t.Errorf("%s: the pixel at %v has %d of red, expected %d", names, near, red>>8,
						want[i])
				}
			}
		}
	}
}

// TestBothEnds: a picture reaches from one end of an array to the other, also one of another
// resolution.
func TestBothEnds(t *testing.T) {
	for _, n := range []int64{1, 2, 959, 960, 961, 1919, 5000, 8192, 1 << 40} {
		for _, shape := range [][]int64{{n}, {n, n}, {n, 3}} {
			for _, coarser := range []int64{1, 2, 3, 8} {
				level := slices.Clone(shape)
				for i := range level {
					level[i] = (level[i]-1)/coarser + 1
				}
				for i, x := range NewPlan(shape, nil).Along(level) {
					if last := x.Start + (x.Count-1)*x.Step; level[i]-last > x.Step ||
						x.Count > 2*planeMost {
						t.Errorf("%v of %v: %d indexes up to %d, %d apart", level, shape, x.Count,
							last, x.Step)
					}
				}
			}
		}
	}
}

// TestStretch: a few values far away do not make all others grey, and infinity is not a bound.
func TestStretch(t *testing.T) {
	values := []float64{-1e9, 1e9, math.Inf(1), math.NaN()}
	for i := range 200 {
		values = append(values, float64(i))
	}
	if low, high := stretch(values); low < 0 || low > 5 || high < 194 || high > 199 {
		t.Errorf("from %g to %g", low, high)
	}
	if low, high := stretch([]float64{math.NaN()}); low != 0 || high != 0 {
		t.Errorf("from %g to %g of no values", low, high)
	}
	if l := level(math.MaxFloat64, -math.MaxFloat64, math.MaxFloat64); l != 1 {
		t.Errorf("the largest number is at %g", l)
	}
}
