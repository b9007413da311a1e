package codec

import (
	"math"
	"math/bits"
)

// rounding is how a number becomes one of a coarser type.
type rounding uint8

const (
	nearestEven rounding = iota
	towardsZero
	towardsPositive
	towardsNegative
	nearestAway
	toOdd // to the neighbour with last bit 1; rounding the result again is as good as rounding once
)

var roundings = map[string]rounding{
	"nearest-even": nearestEven, "towards-zero": towardsZero, "towards-positive": towardsPositive,
	"towards-negative": towardsNegative, "nearest-away": nearestAway,
}

// whole rounds to a whole number.
func (r rounding) whole(v float64) float64 {
	switch r {
	case towardsZero:
		return math.Trunc(v)
	case towardsPositive:
		return math.Ceil(v)
	case towardsNegative:
		return math.Floor(v)
	case nearestAway:
		return math.Round(v)
	}
	return math.RoundToEven(v)
}

// floatFormat is what rounding has to know of an IEEE type.
type floatFormat struct {
	digits  int     // binary digits, the one that is not stored included
	least   int     // the exponent of the smallest number
	highest float64 // finite number
}

// floatFormats are the types by their size in bytes.
var floatFormats = map[int]floatFormat{
	2: {11, -24, 65504}, 4: {24, -149, math.MaxFloat32}, 8: {53, -1074, math.MaxFloat64},
}

// to rounds a finite number to the digits of a type; the result may be beyond its range.
func (r rounding) to(v float64, f floatFormat) float64 {
	if v == 0 {
		return v
	}
	step := max(math.Ilogb(v)+1-f.digits, f.least)
	return math.Ldexp(r.whole(math.Ldexp(v, -step)), step)
}

// float rounds a whole number, given without its sign, to float64.
func (r rounding) float(n uint64, negative bool) float64 {
	if drop := bits.Len64(n) - 53; drop > 0 {
		rest, half := n&(1<<drop-1), uint64(1)<<(drop-1)
		n >>= drop
		if r.roundsUp(n, rest, half, negative) {
			n++
		}
		v := math.Ldexp(float64(n), drop)
		if negative {
			return -v
		}
		return v
	}
	if negative {
		return -float64(n)
	}
	return float64(n)
}

// roundsUp reports whether n and a rest are rounded to n+1. Twice half is one unit of n.
func (r rounding) roundsUp(n, rest, half uint64, negative bool) bool {
	switch r {
	case towardsZero:
		return false
	case towardsPositive:
		return rest > 0 && !negative
	case towardsNegative:
		return rest > 0 && negative
	case nearestAway:
		return rest >= half
	case toOdd:
		return rest > 0 && n&1 == 0
	}
	return rest > half || rest == half && n&1 == 1
}
