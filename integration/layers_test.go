package integration

import (
	"cmp"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/zarrfs/zarrfs/fs/view"
)

// module is the import path of the repository's root.
const module = "github.com/zarrfs/zarrfs/"

// layers gives every package its layer: it may import packages of lower layers only.
// docs/ARCHITECTURE.md has the same table (TestRoomTable). The backends of stores are not in it;
// see layerOf.
var layers = map[string]int{
	"compress/inflate":               0,
	"compress/shuffle":               0,
	"compress/zstd":                  0,
	"fs/attach":                      0,
	"fs/names":                       0,
	"fs/pagecache":                   0,
	"fs/program":                     0,
	"fs/scratch":                     0,
	"layout":                         0,
	"layout/npy":                     0,
	"layout/volume":                  0,
	"fs/view/axes":                   3,
	"fs/terminal":                    0,
	"zarrcore/mapped":                0,
	"zarrcore/keyed":                 0,
	"zarrcore/parallel":              0,
	"zarrcore/pyjson":                0,
	"zarrcore/store":                 0,
	"compress":                       1,
	"zarrcore/chunk":                 1,
	"fs/pathstate":                   1,
	"fs/wire":                        1,
	"zarrcore/band":                  2,
	"zarrcore/dirty":                 2,
	"zarrcore/durable":               1,
	"zarrcore/dtype":                 1,
	"zarrcore/store/ahead":           1,
	"zarrcore/store/diskcache":       1,
	"zarrcore/store/remote":          1,
	"zarrcore/store/storetest/cloud": 2,
	"zarrcore/store/storetest":       1,
	"compress/blosc":                 2,
	"fs/input":                       2,
	"layout/hdf5":                    2,
	"zarrcore/meta":                  2,
	"zarrcore/vlen":                  2,
	"layout/vtkhdf":                  3,
	"zarrcore/codec":                 3,
	"zarrcore/lines":                 3,
	"zarrcore/rescue":                3,
	"zarrcore/recipe":                3,
	"zarrcore/object":                4,
	"zarrcore/catalog":               5,
	"zarrcore/generation":            5,
	"zarrcore/merge":                 5,
	"zarrcore/batch":                 6,
	"zarrcore/pieces":                6,
	"zarrcore/scan":                  6,
	"zarrcore/unstored":              6,
	"zarrcore/edit":                  7,
	"zarrcore/live":                  7,
	"zarrcore/vlenarray":             7,
	"zarrcore":                       8,
	"zarrcore/hierarchytest":         9,
	"fs/errno":                       9,
	"fs/netcdf":                      9,
	"fs/rights":                      9,
	"fs/page":                        9,
	"fs/picture":                     9,
	"fs/slice":                       9,
	"fs/view":                        10,
	"fs/stat":                        10,
	"fs/xattr":                       11,
	"fs/alias":                       11,
	"fs/compare":                     12,
	"fs/identity":                    11,
	"fs/nodes":                       12,
	"fs/material":                    11,
	"fs/resolve":                     12,
	"fs/selfcopy":                    11,
	"fs/transient":                   12,
	"zarrcore/migrate":               9,
	"fs/coherence":                   12,
	"fs/site":                        9,
	"fs/library":                     13,
	"fs/listing":                     13,
	"fs/texts":                       13,
	"fs/writing":                     13,
	"fs/adopt":                       14,
	"fs/creation":                    14,
	"fs/document":                    14,
	"fs/remake":                      14,
	"fs/inode":                       15,
	"fs/known":                       15,
	"fs/presence":                    16,
	"fs/links":                       17,
	"fs/xattr/requests":              15,
	"fs/install":                     15,
	"fs/composite":                   14,
	"fs/statusfile":                  15,
	"fs/replacing":                   17,
	"fs/renaming":                    18,
	"fs":                             19,
	"cmd/zarrfs":                     20,
	"integration":                    21,
	"integration/demo":               21,
	"integration/measures":           21,
	"integration/mounttest":          20,
	"integration/wan":                21,
}

// layerOf returns the layer of a package. Each zarrcore/store/NAMEstore is a backend: all are on
// one layer, so that none imports another.
func layerOf(pkg string) (layer int, known bool) {
	if isBackend, _ := path.Match("zarrcore/store/*store", pkg); isBackend {
		return backendLayer, true
	}
	layer, known = layers[pkg]
	return layer, known
}

const backendLayer = 2

// third says which third-party modules each package may use beside
// golang.org/x; all others use none.
var third = map[string][]string{
	"compress": {"github.com/klauspost/compress", "github.com/pierrec/lz4",
		"github.com/dsnet/compress", "github.com/ulikunitz/xz"},
	"compress/blosc": {"github.com/klauspost/compress", "github.com/pierrec/lz4"},
	"fs":             {"github.com/hanwen/go-fuse"},
	"fs/attach":      {"github.com/hanwen/go-fuse"},
	"fs/inode":       {"github.com/hanwen/go-fuse"},
	"fs/nodes":       {"github.com/hanwen/go-fuse"},
	"fs/pagecache":   {"github.com/hanwen/go-fuse"},
	"fs/wire":        {"github.com/hanwen/go-fuse"},
	"cmd/zarrfs":     {"github.com/hanwen/go-fuse", "github.com/spf13/pflag"},

	"zarrcore/store/s3store":         {"github.com/aws/aws-sdk-go-v2"},
	"zarrcore/store/azurestore":      {"github.com/Azure/azure-sdk-for-go"},
	"zarrcore/store/storetest/cloud": {"github.com/aws/aws-sdk-go-v2"},
}

// fset holds the positions of all parsed files.
var fset = token.NewFileSet()

// sources parses every Go file of the repository and calls visit with the
// package's path below the module.
func sources(t *testing.T, visit func(pkg, file string, f *ast.File)) {
	t.Helper()
	root := ".."
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root &&
			(strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		src, err := os.ReadFile(path) // in-process, so that the test cache sees the file
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(fset, path, src, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, filepath.Dir(path))
		visit(filepath.ToSlash(rel), path, f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestLayers(t *testing.T) {
	sources(t, func(pkg, file string, f *ast.File) {
		if strings.HasSuffix(file, "_test.go") {
			return
		}
		layer, known := layerOf(pkg)
		if !known {
			t.Errorf("%s: package %s has no layer", file, pkg)
		}
		for _, imp := range f.Imports {
			path, _ := strconv.Unquote(imp.Path.Value)
			if own, ok := strings.CutPrefix(path, module); ok {
				if below, _ := layerOf(own); below >= layer {
					t.Errorf("%s (layer %d) imports %s (layer %d)", file, layer, own, below)
				}
			} else if !allowed(pkg, path) {
				t.Errorf("%s imports %s, which its package may not", file, path)
			}
		}
	})
}

// TestRoomTable holds that the table of rooms in docs/ARCHITECTURE.md has each package once, with
// its layer, and no other package.
func TestRoomTable(t *testing.T) {
	page, err := os.ReadFile("../docs/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	want := maps.Clone(layers)
	want["zarrcore/store/NAMEstore"] = backendLayer
	for _, row := range roomRow.FindAllStringSubmatch(string(page), -1) {
		for _, room := range roomName.FindAllStringSubmatch(row[2], -1) {
			name, layer := room[1], cmp.Or(room[2], row[1])
			if n, known := want[name]; !known {
				t.Errorf("the table has %s, which is not a package or is there twice", name)
			} else if layer != strconv.Itoa(n) {
				t.Errorf("the table has %s in layer %s, expected %d", name, layer, n)
			}
			delete(want, name)
		}
	}
	for name := range want {
		t.Errorf("the table of rooms has no row for %s", name)
	}
}

var (
	roomRow  = regexp.MustCompile(`(?m)^\| (\d+) \| ([^|]*) \|`)
	roomName = regexp.MustCompile("`([^`]+)`" + `(?: \((\d+)\))?`)
)

func allowed(pkg, path string) bool {
	if !strings.Contains(strings.SplitN(path, "/", 2)[0], ".") ||
		strings.HasPrefix(path, "golang.org/x/") {
		return true
	}
	if (pkg == "compress/shuffle" || pkg == "compress/zstd") &&
		strings.HasPrefix(path, "github.com/klauspost/cpuid") {
		return true
	}
	for _, m := range third[pkg] {
		if strings.HasPrefix(path, m) {
			return true
		}
	}
	return false
}

// TestNoViewIsNamed holds that in the mount and in the program only package view knows which views
// there are. No other code has the name of one, nor the suffix of its files, also within a text.
func TestNoViewIsNamed(t *testing.T) {
	seen := map[string]bool{}
	longestFirst := slices.SortedFunc(maps.Keys(namesOfViews), func(a, b string) int {
		return len(b) - len(a)
	})
	sources(t, func(pkg, file string, f *ast.File) {
		isView := pkg == "fs/view" || strings.HasPrefix(pkg, "fs/view/")
		isMount := pkg == "fs" || strings.HasPrefix(pkg, "fs/")
		if isView || !isMount && pkg != "cmd/zarrfs" || strings.HasSuffix(file, "_test.go") {
			return
		}
		texts(f, func(at token.Pos, text string) {
			if text == "json" && !isMount { // the flag --json
				return
			}
			for _, known := range longestFirst {
				seen[known] = seen[known] || strings.Contains(text, known)
				text = strings.ReplaceAll(text, known, "")
			}
			if found := viewIn(text); found != "" {
				t.Errorf("%s has the name of the view %q", fset.Position(at), found)
			}
		})
	})
	for known, why := range namesOfViews {
		if !seen[known] {
			t.Errorf("no text has %q any more (%s)", known, why)
		}
	}
}

// namesOfViews are the texts that may look like names of views, each with its reason.
var namesOfViews = map[string]string{
	"zarr.json":                "the document of a group in a store",
	"status.json":              "what a mount says of itself",
	"zarrfs-note.json":         "a note in the scratch folder",
	"FILE.json":                "the note beside what is kept",
	"azureProfile.json":        "a file of another program",
	"credentials.json":         "a file of another program",
	"temperature.npy":          "help: an example",
	"--view raw climate.zarr":  "help: an example",
	"--view json climate.zarr": "help: an example",
	"A.npy (a NumPy file)":     "help: what a mount shows first",
	"A.raw (its":               "help: what a mount shows first",
	"A.json (its":              "help: what a mount shows first",
	"write to .npy and\n.raw":  "help: what becomes of what programs write",
	"in .nc and .h5 files":     "help: the flag is about these two alone",
	".h5 file":                 "netcdf lies below view, and has the flavours of its files",
}

// viewIn returns the suffix of a view's files if text contains one, or the flag --view with its
// name. If text itself is the name of a view, it returns text. Otherwise it returns "".
func viewIn(text string) string {
	for _, v := range view.All() {
		suffix := "." + v.Name()
		for at := 0; ; {
			i := strings.Index(text[at:], suffix)
			if i < 0 {
				break
			}
			at += i + len(suffix)
			if at == len(text) || !isWord(text[at]) {
				return suffix
			}
		}
	}
	if view.Named(text) != nil {
		return text
	}
	if _, flag, ok := strings.Cut(text, "--view "); ok {
		name := flag[:len(flag)-len(strings.TrimLeftFunc(flag, unicode.IsLetter))]
		if view.Named(name) != nil {
			return "--view " + name
		}
	}
	return ""
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}

// texts calls visit with each string of a file, except those of its imports.
func texts(f *ast.File, visit func(at token.Pos, text string)) {
	ast.Inspect(f, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			text, _ := strconv.Unquote(lit.Value)
			visit(lit.Pos(), text)
		}
		_, isImport := n.(*ast.ImportSpec)
		return !isImport
	})
}

// TestDocumented holds that every package has a package comment and every
// exported name a comment of its own.
func TestDocumented(t *testing.T) {
	files := map[string][]*ast.File{}
	sources(t, func(pkg, file string, f *ast.File) {
		if !strings.HasSuffix(file, "_test.go") {
			files[pkg] = append(files[pkg], f)
		}
	})
	for pkg, asts := range files {
		p, err := doc.NewFromFiles(fset, asts, module+pkg, doc.PreserveAST)
		if err != nil {
			t.Fatal(err)
		}
		if strings.TrimSpace(p.Doc) == "" {
			t.Errorf("package %s has no package comment", pkg)
		}
		undocumented(p, func(name string) { t.Errorf("%s: exported %s has no comment", pkg, name) })
	}
}

func undocumented(p *doc.Package, report func(name string)) {
	funcs := func(prefix string, list []*doc.Func) {
		for _, f := range list {
			if f.Doc == "" {
				report(prefix + f.Name)
			}
		}
	}
	values := func(list []*doc.Value) {
		for _, v := range list {
			if v.Doc == "" && !everySpecCommented(v.Decl) {
				report(strings.Join(v.Names, ", "))
			}
		}
	}
	funcs("", p.Funcs)
	values(p.Consts)
	values(p.Vars)
	for _, typ := range p.Types {
		if typ.Doc == "" {
			report(typ.Name)
		}
		funcs(typ.Name+".", typ.Methods)
		funcs("", typ.Funcs)
		values(typ.Consts)
		values(typ.Vars)
	}
}

// everySpecCommented reports that a group of constants or variables needs no
// comment of its own, since each of its exported members has one.
func everySpecCommented(d *ast.GenDecl) bool {
	for _, s := range d.Specs {
		v := s.(*ast.ValueSpec)
		for _, name := range v.Names {
			if name.IsExported() && v.Doc.Text() == "" && v.Comment.Text() == "" {
				return false
			}
		}
	}
	return true
}

// TestNothingLeftOpen holds that no comment in the code promises work.
func TestNothingLeftOpen(t *testing.T) {
	sources(t, func(_, file string, f *ast.File) {
		for _, group := range f.Comments {
			for _, word := range []string{"TO" + "DO", "FIX" + "ME", "XX" + "X:"} {
				if strings.Contains(group.Text(), word) {
					t.Errorf("%s: comment says %s", file, word)
				}
			}
		}
	})
}
