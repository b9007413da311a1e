package main

import (
	"go/parser"
	"go/token"
	"slices"
	"testing"
)

// TestMapsAreReviewed holds that maps.txt has each map of fs and zarrcore that has strings as keys,
// and no other.
func TestMapsAreReviewed(t *testing.T) {
	const root = "../.."
	all, err := stringMaps(root)
	if err != nil {
		t.Fatal(err)
	}
	reviewed, err := reviews(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if !slices.ContainsFunc(reviewed, func(r review) bool { return r.of == m }) {
			t.Errorf("%s is a map with strings as keys, and is not in %s. If they are paths, a "+
				"rename must move them, and a removal must end them. In fs, make it a part of "+
				"State in fs/known. In zarrcore, add it to TestRenameUpdatesTables. If that "+
				"cannot be, or if they are no paths, add a line that says why", m, mapsFile)
		}
	}
	for _, r := range reviewed {
		if !slices.Contains(all, r.of) {
			t.Errorf("%s has a line for %s, which is not a map any more: delete the line",
				mapsFile, r.of)
		}
	}
}

// TestStringMaps holds which types and fields are maps to be reviewed.
func TestStringMaps(t *testing.T) {
	const src = `package a
type named map[string]int
type byNumber map[int]string
type s struct {
	a, b map[string]int
	c    []*map[string]bool
	d    map[int]map[string]bool
	e    holder[map[string]int]
	f    map[key]int
	g    func() map[string]int
	h    map[file]int
}
type file struct {
	path string
	n    int
}
type key struct{ n int }`
	f, err := parser.ParseFile(token.NewFileSet(), "a.go", src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range mapsIn("r", f) {
		names = append(names, m.name)
	}
	want := []string{"named", "s.a", "s.b", "s.c", "s.d", "s.e", "s.h"}
	if !slices.Equal(names, want) {
		t.Errorf("the maps are %q, expected %q", names, want)
	}
}
