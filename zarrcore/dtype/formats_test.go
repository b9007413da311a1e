package dtype

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// TestFormatsPage holds that the tables of data types in docs/FORMATS.md list just what this
// package knows: what the first lists is read, what the second lists is refused, and no name, size,
// unit or kind is missing.
func TestFormatsPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/FORMATS.md")
	if err != nil {
		t.Fatal(err)
	}
	_, types, _ := strings.Cut(string(page), "\n## Data types\n")
	types, _, _ = strings.Cut(types, "\n## ")
	read, refused, ok := strings.Cut(types, "| refused |")
	if !ok {
		t.Fatal("FORMATS.md has no table of refused types")
	}
	listed := map[string]bool{}
	kinds := map[Kind]bool{}
	for _, row := range rows(read) {
		checkDescr(t, row)
		for format, cell := range map[int]string{2: row[2], 3: row[3]} {
			for _, spelling := range spellings(cell) {
				listed[spelling] = true
				typ, err := parseType(spelled(t, spelling, format), format)
				if err != nil {
					t.Errorf("FORMATS.md lists %s for format %d: %v", spelling, format, err)
				}
				kinds[typ.Kind] = true
			}
		}
	}
	for _, row := range rows("| refused |" + refused) {
		for _, spelling := range spellings(row[1]) {
			listed[spelling] = true
			for format := 2; format <= 3; format++ {
				typ, err := parseType(spelled(t, spelling, format), format)
				if !errors.Is(err, errors.ErrUnsupported) && typ.Kind != Object {
					t.Errorf("FORMATS.md lists %s as refused; format %d reads it as %+v, %v",
						spelling, format, typ, err)
				}
			}
		}
	}
	for _, name := range append(known(t), typestrs()...) {
		if !listed[name] {
			t.Errorf("FORMATS.md lacks the data type %s", name)
		}
	}
	for kind := Bool; kind <= Object; kind++ {
		if !kinds[kind] {
			t.Errorf("FORMATS.md lists no %s", kind)
		}
	}
	for _, unit := range timeUnits {
		if unit != "generic" && !strings.Contains(read, "`"+unit+"`") {
			t.Errorf("FORMATS.md lacks the unit of time %s", unit)
		}
	}
}

// checkDescr holds that the view's dtype is the one that a row of the table says of its first
// spelling.
func checkDescr(t *testing.T, row []string) {
	t.Helper()
	typ, err := ParseV2(spelled(t, spellings(row[2])[0], 2))
	want := spellings(row[5])
	if err == nil && len(want) == 1 && strings.Trim(typ.Descr(), "'") != want[0] {
		t.Errorf("FORMATS.md: the view's dtype of %s is %s, found %s", row[1], typ.Descr(), want[0])
	}
}

// rows returns the cells of a table's rows, without its head.
func rows(text string) (rows [][]string) {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "| ") {
			rows = append(rows, strings.Split(strings.ReplaceAll(line, `\|`, "\x00"), "|"))
		}
	}
	return rows[1:]
}

// spellings returns what a cell spells as code.
func spellings(cell string) (all []string) {
	for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1) {
		all = append(all, strings.ReplaceAll(m[1], "\x00", "|"))
	}
	return all
}

// spelled is a type as a document has it. In format 3 it gets a configuration that has what any
// type could ask for.
func spelled(t *testing.T, spelling string, format int) pyjson.Value {
	t.Helper()
	text := spelling
	if !strings.HasPrefix(spelling, "[") {
		b, _ := json.Marshal(spelling)
		text = string(b)
		if format == 3 {
			text = `{"name": ` + text +
				`, "configuration": {"length_bytes": 8, "unit": "s", "fields": [["a", "int8"]]}}`
		}
	}
	return parseJSON(t, text)
}

// known returns the names of all types that format 3 reads: those of this package's tables, and
// those that parseNamed tells apart.
func known(t *testing.T) (names []string) {
	t.Helper()
	for name := range coreTypes {
		names = append(names, name)
	}
	for name := range smallInts {
		names = append(names, name)
	}
	for name := range smallFloats {
		names = append(names, name, complexPrefix+name)
	}
	file, err := parser.ParseFile(token.NewFileSet(), "parsev3.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	before := len(names)
	ast.Inspect(file, func(n ast.Node) bool {
		if f, ok := n.(*ast.FuncDecl); ok {
			return f.Name.Name == "parseNamed"
		}
		if c, ok := n.(*ast.CaseClause); ok {
			for _, e := range c.List {
				name, _ := strconv.Unquote(e.(*ast.BasicLit).Value)
				names = append(names, name)
			}
		}
		return true
	})
	if len(names) == before {
		t.Error("parseNamed tells no names apart any more")
	}
	return names
}

// typestrs returns the typestrs of all numbers.
func typestrs() (all []string) {
	for letter, number := range numbers {
		for _, size := range number.sizes {
			sign := "<"
			if size == 1 {
				sign = "|"
			}
			all = append(all, sign+string(letter)+strconv.FormatInt(size, 10))
		}
	}
	return all
}
