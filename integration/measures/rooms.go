package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// A room is the measures of one package, without its tests.
type room struct {
	path         string
	files, lines int
	fields       count          // of the struct that has the most
	methods      count          // of the type that has the most
	byType       map[string]int // methods
	functions    []int          // lines of each, from func to the closing brace
}

// A count is a number and the name of what has it.
type count struct {
	name string
	n    int
}

func (c *count) add(name string, n int) {
	if n > c.n {
		*c = count{name, n}
	}
}

// measure returns the rooms below root, sorted by path.
func measure(root string) ([]*room, error) {
	rooms := map[string]*room{}
	fset := token.NewFileSet()
	err := walk(root, func(name string) error {
		if filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(fset, filepath.Join(root, name), nil,
			parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		path := filepath.ToSlash(filepath.Dir(name))
		if rooms[path] == nil {
			rooms[path] = &room{path: path, byType: map[string]int{}}
		}
		rooms[path].addFile(fset, f)
		return nil
	})
	var all []*room
	for _, r := range rooms {
		for _, name := range slices.Sorted(maps.Keys(r.byType)) {
			r.methods.add(name, r.byType[name])
		}
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *room) int { return cmp.Compare(a.path, b.path) })
	return all, err
}

func (r *room) addFile(fset *token.FileSet, f *ast.File) {
	r.files++
	r.lines += fset.Position(f.FileEnd).Line - 1
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeSpec:
			if s, ok := n.Type.(*ast.StructType); ok {
				r.fields.add(n.Name.Name, s.Fields.NumFields())
			}
		case *ast.FuncDecl:
			lines := fset.Position(n.End()).Line - fset.Position(n.Pos()).Line + 1
			r.functions = append(r.functions, lines)
			if n.Recv != nil {
				r.byType[receiver(n)]++
			}
		}
		return true
	})
}

// receiver returns the name of the type that a method belongs to.
func receiver(f *ast.FuncDecl) string {
	t := f.Recv.List[0].Type
	for {
		switch u := t.(type) {
		case *ast.StarExpr:
			t = u.X
		case *ast.IndexExpr: // of one type parameter
			t = u.X
		case *ast.IndexListExpr: // of several
			t = u.X
		case *ast.Ident:
			return u.Name
		default:
			return ""
		}
	}
}

// printRooms prints a line for each room, and one for the functions of all.
func printRooms(rooms []*room) {
	fmt.Printf("%-26s %5s %6s  %-30s %-30s %4s %4s\n",
		"room", "files", "lines", "most fields", "most methods", "p90", "max")
	var functions []int
	for _, r := range rooms {
		fmt.Printf("%-26s %5d %6d  %-30s %-30s %4d %4d\n", r.path, r.files, r.lines,
			r.fields, r.methods, percentile(r.functions, 90), percentile(r.functions, 100))
		functions = append(functions, r.functions...)
	}
	fmt.Printf("functions: %d, median %d, p90 %d, p99 %d, max %d lines\n", len(functions),
		percentile(functions, 50), percentile(functions, 90),
		percentile(functions, 99), percentile(functions, 100))
}

func (c count) String() string { return fmt.Sprintf("%3d %s", c.n, c.name) }

// percentile returns the smallest of values that p per cent of them do not exceed.
func percentile(values []int, p int) int {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[max(0, (len(values)*p+99)/100-1)]
}

// notOurs are folders of test data, and of what is built or downloaded.
var notOurs = []string{"testdata", "bench-data", "bin", "target", "node_modules"}

// walk calls visit with the name of each file below root that people write: not those of hidden
// folders other than .ci, nor data of tests, nor what is built or downloaded.
func walk(root string, visit func(name string) error) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if !d.IsDir() {
			return visit(filepath.ToSlash(name))
		}
		hidden := strings.HasPrefix(d.Name(), ".") && name != "." && name != ".ci"
		if hidden || slices.Contains(notOurs, d.Name()) {
			return filepath.SkipDir
		}
		return nil
	})
}
