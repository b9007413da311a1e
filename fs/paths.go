package fs

import (
	"path/filepath"
	"strings"
)

// Paths of nodes in the store are names joined by "/"; "" is the root.

// join returns the path of a child.
func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// splitPath returns the path of a node's group and its name there.
func splitPath(path string) (dir, name string) {
	i := strings.LastIndexByte(path, '/')
	return path[:max(0, i)], path[i+1:]
}

// depth returns how many groups a path leads through, with the one that it ends at.
func depth(path string) int {
	if path == "" {
		return 0
	}
	return strings.Count(path, "/") + 1
}

// way returns the relative path that leads from the group at dir to a node.
func way(dir, path string) string {
	rel, err := filepath.Rel("/"+dir, "/"+path)
	if err != nil { // both are absolute, so there is a way
		return path
	}
	return filepath.ToSlash(rel)
}

// isUnder tells whether path is top or lies below it.
func isUnder(path, top string) bool {
	return len(path) >= len(top) && path[:len(top)] == top && (len(path) == len(top) || path[len(top)] == '/' || top == "")
}

// movedPath returns what becomes of a path when from, at which or below which it lies, is renamed to to.
func movedPath(path, from, to string) string { return to + path[len(from):] }
