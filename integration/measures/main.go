// Command measures prints how large the rooms of the house are, which maps have paths as keys, and
// how plain the prose is.
//
// A room is a package. The sizes are those that a reader feels: files and lines at its top, the
// struct with the most fields, the type with the most methods, the longest functions. The prose is
// comments, documents, texts of errors and of help; see [check] for what counts as a fault.
//
//	go run ./integration/measures                print all measures
//	go run ./integration/measures -faults fs/input ...   print each fault of prose below a path
//	go run ./integration/measures -lower         lower the ceilings in ceilings.txt to the counts
//
// The tests of this package hold that no directory has more faults than its ceiling, and that each
// map by path was reviewed (maps.txt).
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
)

func main() {
	root := flag.String("root", ".", "the root of the repository")
	list := flag.Bool("faults", false, "print each fault below the given paths")
	lower := flag.Bool("lower", false, "lower the ceilings to today's counts")
	flag.Parse()
	if err := run(*root, *list, *lower, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "measures:", err)
		os.Exit(1)
	}
}

func run(root string, list, lower bool, paths []string) error {
	faults, err := check(root)
	if err != nil {
		return err
	}
	switch {
	case list:
		printFaults(faults, paths)
		return nil
	case lower:
		return lowerCeilings(root, faults)
	}
	rooms, err := measure(root)
	if err != nil {
		return err
	}
	printRooms(rooms)
	fmt.Println()
	if err := printMaps(root); err != nil {
		return err
	}
	fmt.Println()
	return printCeilings(root, faults)
}

// printFaults prints the faults in files below some of paths, or all if there are none.
func printFaults(faults []fault, paths []string) {
	for _, f := range faults {
		if below(f.file, paths) {
			fmt.Printf("%s:%d: %s: %s\n", f.file, f.line, f.what, f.text)
		}
	}
}

func below(file string, paths []string) bool {
	for _, p := range paths {
		p = strings.TrimSuffix(p, "/")
		if file == p || strings.HasPrefix(file, p+"/") {
			return true
		}
	}
	return len(paths) == 0
}
