package main

import (
	"strings"
	"testing"
)

// TestRoomsAreSmall holds how large rooms may be: the packages of fs and zarrcore, and what lies at
// the top of each.
func TestRoomsAreSmall(t *testing.T) {
	const mostFields, mostMethods = 15, 30
	tops := map[string]struct{ files, lines int }{
		"fs":       {30, 4500},
		"zarrcore": {15, 3000},
	}
	rooms, err := measure("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rooms {
		name, _, _ := strings.Cut(r.path, "/")
		if _, ok := tops[name]; !ok {
			continue
		}
		if r.fields.n > mostFields {
			t.Errorf("%s has a struct of %d fields, %s; at most %d are allowed",
				r.path, r.fields.n, r.fields.name, mostFields)
		}
		if r.methods.n > mostMethods {
			t.Errorf("%s has a type of %d methods, %s; at most %d are allowed",
				r.path, r.methods.n, r.methods.name, mostMethods)
		}
	}
	for _, r := range rooms {
		most, ok := tops[r.path]
		if !ok {
			continue
		}
		delete(tops, r.path)
		if r.files > most.files || r.lines > most.lines {
			t.Errorf("%s has %d files and %d lines at its top, at most %d and %d are allowed",
				r.path, r.files, r.lines, most.files, most.lines)
		}
	}
	for path := range tops {
		t.Errorf("no package %s was measured", path)
	}
}
