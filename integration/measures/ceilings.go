package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// ceilingsFile is the table of ceilings, below the root.
const ceilingsFile = "integration/measures/ceilings.txt"

// A ceiling is how many faults of each kind the files below a path may have, without those of a
// longer path of the table.
type ceiling struct {
	path string
	most [kinds]int
	have [kinds]int
}

// ceilings returns the table, in the order of the file, with the faults counted.
func ceilings(root string, faults []fault) ([]*ceiling, error) {
	f, err := os.Open(filepath.Join(root, ceilingsFile))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []*ceiling
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if text := lines.Text(); text != "" && !strings.HasPrefix(text, "#") {
			c := &ceiling{}
			numbers := []any{&c.path}
			for k := range c.most {
				numbers = append(numbers, &c.most[k])
			}
			if _, err := fmt.Sscan(text, numbers...); err != nil {
				return nil, fmt.Errorf("%s: %q: %w", ceilingsFile, text, err)
			}
			all = append(all, c)
		}
	}
	for _, f := range faults {
		c := longest(all, f.file)
		if c == nil {
			return nil, fmt.Errorf("%s has no line for %s", ceilingsFile, f.file)
		}
		c.have[f.kind]++
	}
	return all, lines.Err()
}

// longest returns the ceiling with the longest path that a file is below.
func longest(all []*ceiling, file string) (best *ceiling) {
	for _, c := range all {
		if (c.path == "." || below(file, []string{c.path})) &&
			(best == nil || len(c.path) > len(best.path)) {
			best = c
		}
	}
	return best
}

func printCeilings(root string, faults []fault) error {
	all, err := ceilings(root, faults)
	if err != nil {
		return err
	}
	var sum [kinds]int
	printRow("prose (of a ceiling)", kindNames)
	for _, c := range all {
		var cells [kinds]string
		for k, n := range c.have {
			cells[k] = fmt.Sprintf("%d of %d", n, c.most[k])
			sum[k] += n
		}
		printRow(c.path, cells)
	}
	printRow("all", sum)
	return nil
}

// printRow prints a row of the table with one cell for each kind.
func printRow[T any](head string, cells [kinds]T) {
	fmt.Printf("%-26s", head)
	for _, cell := range cells {
		fmt.Printf(" %16v", cell)
	}
	fmt.Println()
}

// lowerCeilings writes the table again, with each ceiling that is higher than the count lowered to
// it. It raises none.
func lowerCeilings(root string, faults []fault) error {
	all, err := ceilings(root, faults)
	if err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString("# How many faults of prose each path may have: phrases, " +
		"sentences of more than 25 words,\n# sentences of more than one relative clause, " +
		"lines of more than 100 columns. Faults count for\n# the longest path. A number never " +
		"rises; `go run ./integration/measures -lower` lowers them.\n")
	for _, c := range all {
		fmt.Fprintf(&b, "%-28s", c.path)
		for k := range c.most {
			fmt.Fprintf(&b, " %5d", min(c.most[k], c.have[k]))
		}
		b.WriteByte('\n')
	}
	return os.WriteFile(filepath.Join(root, ceilingsFile), []byte(b.String()), 0o644)
}
