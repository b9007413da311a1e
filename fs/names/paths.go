package names

import (
	"path/filepath"
	"strings"
)

// Join returns the path of a child. The path of the root is "".
func Join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// Split returns the path of a node's group and its name there.
func Split(path string) (dir, name string) {
	i := strings.LastIndexByte(path, '/')
	return path[:max(0, i)], path[i+1:]
}

// Depth returns how many names a path has.
func Depth(path string) int {
	if path == "" {
		return 0
	}
	return strings.Count(path, "/") + 1
}

// Relative returns the relative path that leads from the group at dir to a node.
func Relative(dir, path string) string {
	rel, err := filepath.Rel("/"+dir, "/"+path)
	if err != nil { // both are absolute, so there is a way
		return path
	}
	return filepath.ToSlash(rel)
}

// IsUnder reports whether path is top or lies below it.
func IsUnder(path, top string) bool {
	return len(path) >= len(top) && path[:len(top)] == top &&
		(len(path) == len(top) || path[len(top)] == '/' || top == "")
}

// Moved returns what becomes of a path when from is renamed to to. The path is from or lies below
// it.
func Moved(path, from, to string) string { return to + path[len(from):] }

// ShowLink returns the text of a link with each name as it is shown.
func ShowLink(text string) string {
	elems := strings.Split(text, "/")
	for i, elem := range elems {
		if elem != "" && elem != "." && elem != ".." {
			elems[i] = Show(elem)
		}
	}
	return strings.Join(elems, "/")
}
