package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// A passage is prose without a break: a paragraph, an item of a list, a text of the program.
type passage struct {
	line int
	text string
}

// passages returns the prose of a file: all of a page, and of code the comments and the texts that
// people read.
func passages(name string, src []byte) ([]passage, error) {
	switch base := filepath.Base(name); {
	case filepath.Ext(name) == ".go":
		return ofGo(name, src)
	case filepath.Ext(name) == ".md":
		return ofPage(string(src)), nil
	case filepath.Ext(name) == ".s":
		return ofComments(string(src), "//"), nil
	case filepath.Ext(name) == ".sh", filepath.Ext(name) == ".py",
		base == "Makefile", name == ".ci/run":
		return ofComments(string(src), "#"), nil
	}
	return nil, nil
}

// A collector makes passages of lines.
type collector struct {
	done []passage
	open bool
}

// add takes one line. Blank lines, the items of a list, and indented lines, which are code, end a
// passage.
func (c *collector) add(line int, text string) {
	trimmed := strings.TrimSpace(text)
	item := strings.HasPrefix(trimmed, "- ") || numbered.MatchString(trimmed)
	switch {
	case trimmed == "", strings.HasPrefix(text, "\t"), strings.HasPrefix(text, "    "):
		c.open = false
	case !c.open, item, strings.HasPrefix(trimmed, "#"):
		c.done = append(c.done, passage{line, marks.ReplaceAllString(trimmed, "")})
		c.open = !strings.HasPrefix(trimmed, "#")
	default:
		c.done[len(c.done)-1].text += " " + trimmed
	}
}

var (
	numbered = regexp.MustCompile(`^\d+\. `)
	marks    = regexp.MustCompile(`^(#+ |- |\d+\. )`)
)

func ofGo(name string, src []byte) ([]passage, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var c collector
	for _, group := range f.Comments {
		c.open = false
		for _, comment := range group.List {
			text := comment.Text
			if strings.HasPrefix(text, "//go:") {
				continue
			}
			text = strings.TrimPrefix(strings.TrimPrefix(text, "//"), " ")
			c.add(fset.Position(comment.Pos()).Line, text)
		}
	}
	isTest := strings.HasSuffix(name, "_test.go")
	if isTest {
		c.done = append(c.done, namesOfTests(fset, f)...)
	}
	for _, lit := range texts(f, isTest) {
		text, err := strconv.Unquote(lit.Value)
		if err != nil || len(strings.Fields(text)) < 3 {
			continue
		}
		c.open = false
		for i, line := range strings.Split(text, "\n") {
			c.open = c.open && !strings.HasPrefix(line, "  ") // an example, or a row of a table
			c.add(fset.Position(lit.Pos()).Line+i, line)
		}
	}
	return c.done, nil
}

// namesOfTests returns the names of a file's tests, each as the words that it is made of.
func namesOfTests(fset *token.FileSet, f *ast.File) (all []passage) {
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Recv != nil {
			continue
		}
		if m := testName.FindStringSubmatch(fn.Name.Name); m != nil {
			words := strings.ToLower(wordStart.ReplaceAllString(m[1], " $0"))
			all = append(all, passage{fset.Position(fn.Pos()).Line, strings.TrimSpace(words)})
		}
	}
	return all
}

var (
	testName  = regexp.MustCompile(`^(?:Test|Fuzz|Benchmark)(\w+)$`)
	wordStart = regexp.MustCompile(`[A-Z][a-z]`)
)

// texts returns the strings of a file that people read. In a test these are those that it reports,
// and the names of its cases. Otherwise they are all but imports and tags.
func texts(f *ast.File, test bool) (all []*ast.BasicLit) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			n.Tag = nil
		case *ast.CallExpr:
			if test && reports(n) {
				all = append(all, literals(n.Args)...)
			}
		case *ast.CompositeLit:
			if test {
				all = append(all, literals(namesOfCases(n))...)
			}
		case *ast.BasicLit:
			if !test && n.Kind == token.STRING {
				all = append(all, n)
			}
		}
		return true
	})
	return all
}

// namesOfCases returns what a composite literal may have for t.Run: the keys of a map, the member
// called name, or the first of members without names.
func namesOfCases(c *ast.CompositeLit) (all []ast.Expr) {
	for i, e := range c.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		switch {
		case !ok && i == 0:
			all = append(all, e)
		case !ok:
		case isName(kv.Key):
			all = append(all, kv.Value)
		default:
			all = append(all, kv.Key)
		}
	}
	return all
}

func isName(key ast.Expr) bool {
	id, ok := key.(*ast.Ident)
	return ok && id.Name == "name"
}

// reports reports whether a call is one of testing.T's that print, or that name a case.
func reports(call *ast.CallExpr) bool {
	s, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	switch s.Sel.Name {
	case "Error", "Errorf", "Fatal", "Fatalf", "Log", "Logf", "Skip", "Skipf",
		"Run":
		return true
	}
	return false
}

func literals(args []ast.Expr) (all []*ast.BasicLit) {
	for _, a := range args {
		if lit, ok := a.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			all = append(all, lit)
		}
	}
	return all
}

// ofPage returns the prose of a page in Markdown: no code, and each cell of a table by itself.
func ofPage(page string) []passage {
	var c collector
	code := false
	for i, line := range strings.Split(page, "\n") {
		switch {
		case strings.HasPrefix(strings.TrimSpace(line), "```"):
			code, c.open = !code, false
		case code:
		case strings.HasPrefix(strings.TrimSpace(line), "|"):
			for _, cell := range strings.Split(spans.ReplaceAllString(line, "x"), "|") {
				c.open = false
				c.add(i+1, strings.TrimSpace(cell))
			}
		default:
			c.add(i+1, strings.TrimLeft(line, " "))
		}
	}
	for i := range c.done {
		text := links.ReplaceAllString(spans.ReplaceAllString(c.done[i].text, "x"), "$1")
		c.done[i].text = promised.ReplaceAllString(text, ".")
	}
	return c.done
}

var (
	spans    = regexp.MustCompile("`[^`]*`")
	links    = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	promised = regexp.MustCompile(` \([\w., ]*(Test|Fuzz)[\w., ]*\)\.$`) // the tests of a promise
)

// ofComments returns the comments of a file, each of which begins with mark and goes to the end of
// its line.
func ofComments(src, mark string) []passage {
	var c collector
	for i, line := range strings.Split(src, "\n") {
		before, text, found := strings.Cut(line, mark+" ")
		if !found || strings.ContainsAny(before, `"'`) {
			c.open = false
			continue
		}
		if strings.TrimSpace(before) != "" {
			c.open = false
		}
		c.add(i+1, strings.TrimLeft(text, "# "))
	}
	return c.done
}
