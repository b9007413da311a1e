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
			_, err := fmt.Sscan(text, &c.path, &c.most[phrasing], &c.most[sentence],
				&c.most[clauses], &c.most[column])
			if err != nil {
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
	fmt.Printf("%-26s %16s %16s %16s %16s\n",
		"prose (of a ceiling)", "phrases", "sentences > 25", "clauses > 1", "lines > 100")
	for _, c := range all {
		fmt.Printf("%-26s", c.path)
		for k, n := range c.have {
			fmt.Printf(" %16s", fmt.Sprintf("%d of %d", n, c.most[k]))
			sum[k] += n
		}
		fmt.Println()
	}
	fmt.Printf("%-26s %16d %16d %16d %16d\n",
		"all", sum[phrasing], sum[sentence], sum[clauses], sum[column])
	return nil
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
		for k := range c.most {
			c.most[k] = min(c.most[k], c.have[k])
		}
		fmt.Fprintf(&b, "%-28s %5d %5d %5d %5d\n",
			c.path, c.most[phrasing], c.most[sentence], c.most[clauses], c.most[column])
	}
	return os.WriteFile(filepath.Join(root, ceilingsFile), []byte(b.String()), 0o644)
}
