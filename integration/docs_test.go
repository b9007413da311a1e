package integration

import (
	"go/ast"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPromisesAreTested holds that docs/SEMANTICS.md promises nothing without a test: each item of
// a list is one sentence that ends in the names of tests, as "(TestName, package.TestName)".
func TestPromisesAreTested(t *testing.T) {
	tests := testNames(t)
	items := listItems(readPage(t, "docs/SEMANTICS.md"))
	if len(items) < 20 {
		t.Fatalf("SEMANTICS.md has %d items only; it is not understood", len(items))
	}
	promise := regexp.MustCompile(`^(.*) \(([\w., ]+)\)\.$`)
	another := regexp.MustCompile(`[a-z)\x60]\. +[A-Z]`)
	for _, item := range items {
		m := promise.FindStringSubmatch(item)
		if m == nil {
			t.Errorf("SEMANTICS.md: names no test: %s", item)
			continue
		}
		if another.MatchString(m[1]) {
			t.Errorf("SEMANTICS.md: more than one sentence: %s", item)
		}
		for _, name := range strings.Split(m[2], ", ") {
			if !tests[name] {
				t.Errorf("SEMANTICS.md: there is no %s, named by: %s", name, item)
			}
		}
	}
}

// TestFormatsAreTested holds the same for the tables in docs/FORMATS.md that have a column "shown
// by".
func TestFormatsAreTested(t *testing.T) {
	tests := testNames(t)
	name := regexp.MustCompile(`(\w+\.)?(Test|Fuzz|Example)\w+`)
	code := regexp.MustCompile("`[^`]*`")
	shown, rows := false, 0
	for line := range strings.Lines(readPage(t, "docs/FORMATS.md")) {
		isRow := strings.HasPrefix(line, "|")
		if !isRow || strings.HasSuffix(strings.TrimSpace(line), "shown by |") {
			shown = isRow
		}
		found := name.FindAllString(code.ReplaceAllString(line, ""), -1)
		if isRow && shown && !strings.HasPrefix(line, "|--") &&
			!strings.Contains(line, "shown by |") {
			rows++
			if len(found) == 0 && !strings.Contains(line, "`TestInterop`") {
				t.Errorf("FORMATS.md: names no test: %s", line)
			}
		}
		for _, test := range found {
			if !tests[test] {
				t.Errorf("FORMATS.md: there is no %s, named by: %s", test, line)
			}
		}
	}
	if rows < 50 {
		t.Errorf("FORMATS.md has %d rows only; it is not understood", rows)
	}
}

// testNames returns the names of all tests, as they are and behind the name of their package.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	sources(t, func(pkg, file string, f *ast.File) {
		if !strings.HasSuffix(file, "_test.go") {
			return
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
				names[fn.Name.Name], names[path.Base(pkg)+"."+fn.Name.Name] = true, true
			}
		}
	})
	return names
}

// listItems returns the items of a page's lists, each as one line.
func listItems(page string) (items []string) {
	open := false
	for line := range strings.Lines(page) {
		text := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "- "):
			items, open = append(items, text[2:]), true
		case open && strings.HasPrefix(line, "  "):
			items[len(items)-1] += " " + text
		default:
			open = false
		}
	}
	return items
}

func readPage(t *testing.T, name string) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// TestPagesAreShort: each page can be read in five minutes.
func TestPagesAreShort(t *testing.T) {
	for name, most := range map[string]int{"README.md": 150, "docs/ARCHITECTURE.md": 150} {
		if n := strings.Count(readPage(t, name), "\n"); n > most {
			t.Errorf("%s has %d lines, at most %d are allowed", name, n, most)
		}
	}
}

// TestLinks holds that every relative link of a page leads to a file of the repository.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	code := regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
	pages := 0
	err := filepath.WalkDir("..", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && file != ".." &&
			(strings.HasPrefix(d.Name(), ".") || d.Name() == "bench-data") {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(file) != ".md" {
			return nil
		}
		page, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		pages++
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(string(page), ""), -1) {
			target, _, _ := strings.Cut(m[1], "#")
			if target == "" || strings.Contains(target, "://") ||
				strings.HasPrefix(target, "mailto:") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), target)); err != nil {
				t.Errorf("%s: the link to %s leads nowhere", file, m[1])
			}
		}
		return nil
	})
	if err != nil || pages < 3 {
		t.Errorf("%d pages, %v", pages, err)
	}
}

// TestPagesNameFiles holds that every file that ARCHITECTURE and WHERE name is there.
func TestPagesNameFiles(t *testing.T) {
	name := regexp.MustCompile("`((?:cmd|compress|fs|layout|zarrcore|integration)/[\\w./]+\\.go)`")
	named := 0
	for _, page := range []string{"docs/ARCHITECTURE.md", "docs/WHERE.md"} {
		for _, m := range name.FindAllStringSubmatch(readPage(t, page), -1) {
			if strings.Contains(m[1], "NAME") {
				continue
			}
			named++
			if _, err := os.Stat(filepath.Join("..", m[1])); err != nil {
				t.Errorf("%s names %s: %v", page, m[1], err)
			}
		}
	}
	if named < 40 {
		t.Errorf("only %d files are named: the tables of the pages have changed", named)
	}
}

// TestShortNamesOfFiles holds that each file named without its whole path exists: in a row of WHERE
// it is in the folder of the path before it. In a comment it is beside the comment's file, or in a
// package beside its own.
func TestShortNamesOfFiles(t *testing.T) {
	name := regexp.MustCompile(`[\w/]+\.go\b`)
	named := 0
	exists := func(where, file string, folders ...string) {
		t.Helper()
		named++
		for _, folder := range folders {
			if _, err := os.Stat(filepath.Join("..", folder, file)); err == nil {
				return
			}
		}
		if !strings.Contains(file, "NAME") { // which stands for any name
			t.Errorf("%s names %s, which is not in %q", where, file, folders)
		}
	}
	for _, row := range strings.Split(readPage(t, "docs/WHERE.md"), "\n") {
		folder := ""
		for _, file := range name.FindAllString(row, -1) {
			if dir, short := path.Split(file); dir == "" {
				exists("docs/WHERE.md", short, folder)
			} else {
				folder = dir
			}
		}
	}
	sources(t, func(pkg, file string, f *ast.File) {
		for _, c := range f.Comments {
			for _, short := range name.FindAllString(c.Text(), -1) {
				exists(file, short, pkg, path.Dir(pkg))
			}
		}
	})
	if named < 40 {
		t.Errorf("only %d files are named", named)
	}
}
