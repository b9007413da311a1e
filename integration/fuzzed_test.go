package integration

import (
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// reads are the names of functions that read input from strangers, and readers the packages with
// such functions.
var (
	reads = regexp.MustCompile(
		`^(Parse|Decode|Strip|Consolidated|Upgrade|Posted|FromPosted|Fill(V2|V3)$)`)
	readers = []string{
		"compress", "compress/blosc", "compress/inflate", "compress/zstd", "layout/npy",
		"zarrcore/codec", "zarrcore/dtype", "zarrcore/meta", "zarrcore/pyjson",
	}
)

// TestEveryParserIsFuzzed holds that a fuzz target of its package reaches each parser and decoder,
// by name. It names the parser, or a function of the package that leads to it.
func TestEveryParserIsFuzzed(t *testing.T) {
	parsers := map[string][]string{}
	bodies := map[string]map[string][]string{} // package, function: the names in it
	sources(t, func(pkg, file string, f *ast.File) {
		if bodies[pkg] == nil {
			bodies[pkg] = map[string][]string{}
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			name := fn.Name.Name
			bodies[pkg][name] = append(bodies[pkg][name], namesIn(fn)...)
			if !strings.HasSuffix(file, "_test.go") && reads.MatchString(name) {
				parsers[pkg] = append(parsers[pkg], name)
			}
		}
	})
	for _, pkg := range readers {
		if len(parsers[pkg]) == 0 {
			t.Errorf("%s has no parsers", pkg)
		}
	}
	for pkg, names := range parsers {
		if !slices.Contains(readers, pkg) {
			continue
		}
		reached := map[string]bool{}
		for name := range bodies[pkg] {
			if strings.HasPrefix(name, "Fuzz") {
				reach(bodies[pkg], name, reached)
			}
		}
		for _, name := range names {
			if !reached[name] {
				t.Errorf("%s: no fuzz target reaches %s", pkg, name)
			}
		}
	}
}

// reach notes a name, and all names in the functions that have it, and so on.
func reach(bodies map[string][]string, name string, reached map[string]bool) {
	if reached[name] {
		return
	}
	reached[name] = true
	for _, next := range bodies[name] {
		reach(bodies, next, reached)
	}
}

func namesIn(n ast.Node) []string {
	var names []string
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			names = append(names, id.Name)
		}
		return true
	})
	return names
}
