package view

// Set is a set of views, a bit each.
type Set uint64

// ofIndex is the set of Index, which is not among the views.
const ofIndex Set = 1 << 63

// SetOf returns the set of one view. That of a part of an array is empty.
func SetOf(v View) Set {
	if v == Index {
		return ofIndex
	}
	for i, other := range views {
		if other == v {
			return 1 << i
		}
	}
	return 0
}

// Keepers is the set of the views that keep an array.
func Keepers() (set Set) {
	for _, v := range views {
		if v.IsKeeper() {
			set |= SetOf(v)
		}
	}
	return set
}

// FullSet is the set of every view, and of Index.
func FullSet() Set { return 1<<len(views) - 1 | ofIndex }
