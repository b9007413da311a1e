package picture

import (
	"math"
	"slices"
)

// stretch returns the values between which 96 of 100 lie: they become black and white.
func stretch(values []float64) (low, high float64) {
	finite := slices.DeleteFunc(slices.Clone(values), func(v float64) bool {
		return math.IsNaN(v) || math.IsInf(v, 0)
	})
	if len(finite) == 0 {
		return 0, 0
	}
	slices.Sort(finite)
	last := len(finite) - 1
	return finite[last*2/100], finite[last-last*2/100]
}

// level returns where v lies between low and high, from 0 to 1.
func level(v, low, high float64) float64 {
	if high <= low {
		return 0.5
	}
	return min(max(v/2-low/2, 0)/(high/2-low/2), 1) // halves: their difference is finite
}

func shade(v, low, high float64) uint8 {
	if math.IsNaN(v) {
		return missing
	}
	return uint8(level(v, low, high) * (greys - 1))
}
