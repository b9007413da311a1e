package main

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// What is known of a path is one value in one table, so that a rename moves all of it and a removal
// ends it. In fs that is State of fs/known. A map with paths as keys beside it is one more table
// that a rename has to update. So each map of fs and zarrcore that has strings as keys, or structs
// with strings, is reviewed.

// mapsFile is the table of maps that were reviewed, below the root.
const mapsFile = "integration/measures/maps.txt"

// A mapField is a field of a struct, or a type, that is a map with strings as keys.
type mapField struct{ room, name string }

func (m mapField) String() string { return m.room + " " + m.name }

// A review is what was found of such a map.
type review struct {
	of      mapField
	isPaths bool   // its keys are paths, which a rename changes
	why     string // why it is not a part of the one state, or what its keys are
}

// mapRooms are the folders whose maps are reviewed, except testRooms in them. Only tests use
// testRooms.
var (
	mapRooms  = []string{"fs", "zarrcore"}
	testRooms = []string{"zarrcore/store/storetest", "zarrcore/hierarchytest"}
)

// stringMaps returns all maps to be reviewed, in the order of the files.
func stringMaps(root string) (all []mapField, err error) {
	err = eachFile(root, func(room string, f *ast.File) {
		if below(room, mapRooms) && !below(room, testRooms) {
			all = append(all, mapsIn(room, f)...)
		}
	})
	return all, err
}

// eachFile calls visit with each file of Go that is not a test.
func eachFile(root string, visit func(room string, f *ast.File)) error {
	return walk(root, func(name string) error {
		if filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, name), nil,
			parser.SkipObjectResolution)
		if err == nil {
			visit(filepath.ToSlash(filepath.Dir(name)), f)
		}
		return err
	})
}

// mapsIn returns the maps of a file's types.
func mapsIn(room string, f *ast.File) (all []mapField) {
	keys := stringKeys(f)
	ast.Inspect(f, func(n ast.Node) bool {
		t, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		if hasStringMap(t.Type, keys) {
			all = append(all, mapField{room, t.Name.Name})
		}
		s, ok := t.Type.(*ast.StructType)
		if !ok {
			return true
		}
		for _, field := range s.Fields.List {
			for _, name := range field.Names {
				if hasStringMap(field.Type, keys) {
					all = append(all, mapField{room, t.Name.Name + "." + name.Name})
				}
			}
		}
		return true
	})
	return all
}

// stringKeys returns the names of the types that are strings to a reader of the file: the type
// itself, and the structs of the file that have a string.
func stringKeys(f *ast.File) map[string]bool {
	keys := map[string]bool{"string": true}
	ast.Inspect(f, func(n ast.Node) bool {
		t, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		if s, ok := t.Type.(*ast.StructType); ok {
			keys[t.Name.Name] = slices.ContainsFunc(s.Fields.List, func(field *ast.Field) bool {
				of, ok := field.Type.(*ast.Ident)
				return ok && of.Name == "string"
			})
		}
		return true
	})
	return keys
}

// hasStringMap reports whether a type is a map with such keys, or a pointer, a list or another
// generic type of such maps.
func hasStringMap(t ast.Expr, keys map[string]bool) bool {
	has := func(t ast.Expr) bool { return hasStringMap(t, keys) }
	switch t := t.(type) {
	case *ast.MapType:
		key, ok := t.Key.(*ast.Ident)
		return ok && keys[key.Name] || has(t.Value)
	case *ast.StarExpr:
		return has(t.X)
	case *ast.ArrayType:
		return has(t.Elt)
	case *ast.IndexExpr:
		return has(t.Index)
	case *ast.IndexListExpr:
		return slices.ContainsFunc(t.Indices, has)
	}
	return false
}

// reviews returns the table of maps that were reviewed.
func reviews(root string) (all []review, err error) {
	f, err := os.Open(filepath.Join(root, mapsFile))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		text := lines.Text()
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		words := strings.Fields(text)
		if len(words) < 4 || words[2] != "paths" && words[2] != "other" {
			return nil, fmt.Errorf("%s: %q: expected a room, a map, \"paths\" or \"other\", "+
				"and a reason", mapsFile, text)
		}
		all = append(all, review{mapField{words[0], words[1]}, words[2] == "paths",
			strings.Join(words[3:], " ")})
	}
	return all, lines.Err()
}

// statesParts returns how many parts the one state of a path has.
func statesParts(root string) (parts int, err error) {
	err = eachFile(root, func(room string, f *ast.File) {
		if room != "fs/known" {
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if t, ok := n.(*ast.TypeSpec); ok && t.Name.Name == "State" {
				if s, ok := t.Type.(*ast.StructType); ok {
					parts = s.Fields.NumFields()
				}
			}
			return true
		})
	})
	if err == nil && parts == 0 {
		err = fmt.Errorf("fs/known has no struct State")
	}
	return parts, err
}

// printMaps prints how many parts the one state has, and the maps beside it.
func printMaps(root string) error {
	parts, err := statesParts(root)
	if err != nil {
		return err
	}
	all, err := reviews(root)
	if err != nil {
		return err
	}
	others := 0
	fmt.Printf("what is known of a path: State of fs/known has %d parts. Other maps by path:\n",
		parts)
	for _, r := range all {
		if !r.isPaths {
			others++
			continue
		}
		fmt.Printf("  %-44s %s\n", r.of, r.why)
	}
	fmt.Printf("maps by other strings: %d (%s)\n", others, mapsFile)
	return nil
}
