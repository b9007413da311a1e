package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// metadataFiles are the files of which one makes a folder a group or array.
var metadataFiles = []string{"zarr.json", ".zgroup", ".zarray"}

// notStore explains that a folder is no store, and which folder near it is one.
func notStore(name, folder string) error {
	text := fmt.Sprintf("%s is not a Zarr store: looked for zarr.json, .zgroup, .zarray, and meta with attrs, and found none", name)
	if folder == "" {
		return errors.New(text)
	}
	if isEmpty(folder) {
		return fmt.Errorf("%s is an empty folder; `zarrfs create %[1]s --group` makes it a store, and so does `zarrfs mount --create-format 3`", name)
	}
	return errors.New(text + childHint(folder) + parentHint(folder))
}

// isNode tells whether a folder holds a group or array. A mount of one does not count.
func isNode(folder string) bool {
	if _, ok := mountAt(folder); ok {
		return false
	}
	for _, file := range metadataFiles {
		if _, err := os.Stat(filepath.Join(folder, file)); err == nil {
			return true
		}
	}
	_, errMeta := os.Stat(filepath.Join(folder, "meta"))
	_, errAttrs := os.Stat(filepath.Join(folder, "attrs"))
	return errMeta == nil && errAttrs == nil
}

// childHint names stores among a folder's children.
func childHint(folder string) string {
	const most, shown = 1000, 3
	f, err := os.Open(folder)
	if err != nil {
		return ""
	}
	defer f.Close()
	names, _ := f.Readdirnames(most)
	var stores []string
	for _, name := range names {
		if isNode(filepath.Join(folder, name)) {
			stores = append(stores, filepath.Join(folder, name))
		}
	}
	if len(stores) == 0 {
		return ""
	}
	head, more := "\n  but there is one below it: ", ""
	if len(stores) > shown {
		more = fmt.Sprintf(" and %d more", len(stores)-shown)
	}
	if len(stores) > 1 {
		head = "\n  but there are stores below it: "
	}
	return head + strings.Join(stores[:min(len(stores), shown)], ", ") + more
}

// parentHint names the outermost store that a path lies in.
func parentHint(path string) string {
	found := ""
	for dir := filepath.Dir(path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if isNode(dir) {
			found = dir
		}
	}
	if found == "" {
		return ""
	}
	return "\n  but it lies in the store " + found
}

// similar names a sibling that differs from a missing path only in case or in ".zarr".
func similar(path string) string {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return ""
	}
	want := strings.ToLower(strings.TrimSuffix(filepath.Base(path), ".zarr"))
	for _, e := range entries {
		if strings.ToLower(strings.TrimSuffix(e.Name(), ".zarr")) == want {
			return "; did you mean " + filepath.Join(filepath.Dir(path), e.Name()) + "?"
		}
	}
	return ""
}
