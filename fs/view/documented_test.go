package view

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestDocumented holds that the table of views in docs/FORMATS.md has each view, and no other, and
// says whether it is listed.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/FORMATS.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n## Views\n")
	table, _, _ = strings.Cut(table, "\n## ")
	documented, files := map[string]bool{}, regexp.MustCompile("`[ag]\\.([^`]+)`")
	for _, row := range regexp.MustCompile("(?m)^\\| `.*").FindAllString(table, -1) {
		cells := strings.Split(row, "|")
		for _, file := range files.FindAllStringSubmatch(cells[1], -1) {
			v := Named(file[1])
			if v == nil {
				t.Errorf("FORMATS.md has the view %s, which there is not", file[1])
				continue
			}
			if listed := strings.TrimSpace(cells[3]) != "no"; listed == IsDerived(v) {
				t.Errorf("FORMATS.md: .%s is listed: %t, expected %t", file[1], listed, !listed)
			}
			documented[v.Name()] = true
		}
	}
	for _, name := range Names() {
		if !documented[name] {
			t.Errorf("FORMATS.md lacks the view %s", name)
		}
	}
}
