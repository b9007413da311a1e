package resolve

import (
	"slices"

	"github.com/zarrfs/zarrfs/fs/view"
)

// listed are the views that are listed where arrays have them.
type listed struct{ views []view.View }

// Views returns the views that were chosen to be listed where arrays have them.
func (r listed) Views() []view.View { return r.views }

// has reports whether an array has a file of view v.
func (r listed) has(v view.View, a view.Subject) bool {
	return v.Has(a) && (!view.IsListedOnly(v) || slices.Contains(r.views, v))
}

// ViewsOf returns the views under which an array is listed, where none of them was removed. If none
// of the chosen views has all its data, it is listed with another one. Otherwise a copy of the
// listed files would lack values without an error.
func (r listed) ViewsOf(a view.Subject) []view.View {
	shown := make([]view.View, 0, len(r.views)+1)
	for _, v := range r.views {
		if view.Shows(v, a) {
			shown = append(shown, v)
		}
	}
	if slices.ContainsFunc(shown, func(v view.View) bool {
		return r.suffices(v, a)
	}) || !r.listsData() {
		return shown
	}
	if v := view.DataOf(a); v != nil {
		shown = append(shown, v)
	}
	return shown
}

// suffices reports whether a copy of a view's file has the values of an array. With the document
// comes an array of the same data type, so each value has to be there as it is.
func (r listed) suffices(v view.View, a view.Subject) bool {
	if slices.Contains(r.views, view.Document) {
		return view.HasAllData(v, a)
	}
	return view.HasData(v)
}

// listsData reports whether each array is to be listed with its data. It is not where the document
// was chosen alone. It is not for derived views alone either: removing those files ends no array.
func (r listed) listsData() bool {
	return slices.ContainsFunc(r.views, view.HasData) ||
		slices.Contains(r.views, view.Document) && len(r.views) > 1
}

// ListedOfGroups returns the listed views that groups have.
func (r listed) ListedOfGroups() (listed view.Set) {
	for _, v := range r.views {
		if _, ofGroups := v.(view.GroupView); ofGroups {
			listed |= view.SetOf(v)
		}
	}
	return listed
}

// listedViews returns the views of these names in the order of views; nil names are those that keep
// an array.
func listedViews(names []string) []view.View {
	if names == nil {
		return view.Keeping()
	}
	var listed []view.View
	for _, v := range view.All() {
		for _, name := range names {
			if v.Name() == name {
				listed = append(listed, v)
				break
			}
		}
	}
	return listed
}
