package fs

// viewSet is a set of views, a bit each.
type viewSet uint64

func setOf(v view) viewSet {
	for i, other := range views {
		if other == v {
			return 1 << i
		}
	}
	return 0
}

// keepers is the set of the views that keep an array.
func keepers() (set viewSet) {
	for _, v := range views {
		if v.keeps() {
			set |= setOf(v)
		}
	}
	return set
}

// allViews is the set of every view.
func allViews() viewSet { return 1<<len(views) - 1 }
