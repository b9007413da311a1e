package view

// Set is a set of views, a bit each.
type Set uint64

// SetOf returns the set of one view.
func SetOf(v View) Set {
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

// FullSet is the set of every view.
func FullSet() Set { return 1<<len(views) - 1 }
