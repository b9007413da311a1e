package ahead

import (
	"cmp"
	"slices"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// Hints of one object become one request up to so many bytes and hints. The gaps between their
// stretches take at most one part in gapShare of it.
const (
	mostJoinedBytes = 8 << 20
	mostJoined      = 64
	gapShare        = 64
)

// joined returns hints in groups, each for one request. Groups keep the order of their first hints.
func joined(hints []store.Hint) (groups [][]store.Hint) {
	order := map[store.Hint]int{} // of objects, as they come
	object := func(h store.Hint) store.Hint {
		return store.Hint{Key: h.Key, Want: store.Want{Version: h.Want.Version}}
	}
	for _, h := range hints {
		if _, known := order[object(h)]; !known {
			order[object(h)] = len(order)
		}
	}
	sorted := slices.Clone(hints)
	slices.SortStableFunc(sorted, func(a, b store.Hint) int {
		return cmp.Or(cmp.Compare(order[object(a)], order[object(b)]), cmp.Compare(a.Want.Off,
			b.Want.Off))
	})
	for _, h := range sorted {
		if last := len(groups) - 1; last >= 0 && joins(groups[last], h) {
			groups[last] = append(groups[last], h)
			continue
		}
		groups = append(groups, []store.Hint{h})
	}
	return groups
}

// joins reports whether a hint is asked for together with others: it is of the same version of the
// same object, and goes on where they end, or nearly.
func joins(group []store.Hint, h store.Hint) bool {
	first, last := group[0], group[len(group)-1]
	isStretch := func(w store.Want) bool {
		return w.Version != "" && w.Off >= 0 &&
			w.N < mostJoinedBytes
	}
	if first.Key != h.Key || first.Want.Version != h.Want.Version || len(group) == mostJoined ||
		!isStretch(first.Want) || !isStretch(h.Want) {
		return false
	}
	end := last.Want.Off + last.Want.N
	all := max(end, h.Want.Off+h.Want.N) - first.Want.Off
	return all <= mostJoinedBytes && h.Want.Off-end <= all/gapShare
}

// hull is what one request for hints of one object asks for.
func hull(hints []store.Hint) store.Hint {
	all := hints[0]
	for _, h := range hints[1:] {
		end := max(all.Want.Off+all.Want.N, h.Want.Off+h.Want.N)
		all.Want.N = end - all.Want.Off
	}
	return all
}
