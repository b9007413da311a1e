package main

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// schemeOfPath returns the scheme of the store at a local path: that of the ending of a file, and
// otherwise "file".
func schemeOfPath(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil || info.IsDir() {
		return "file", nil // openLocal says why there is nothing
	}
	kinds := fileKinds()
	for _, scheme := range kinds {
		if hasEnding(path, backends[scheme].endings) {
			return scheme, nil
		}
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	by := make([]string, len(kinds))
	for i, scheme := range kinds {
		by[i] = scheme + ":" + path
	}
	return "", errors.Join(fmt.Errorf("%s is a file; a store is a folder, or a %s file (for one "+
		"of another name: %s)", path, strings.Join(kinds, " or "), strings.Join(by, " or ")),
		parentHint(abs))
}

// fileKinds returns the schemes of the stores that are local files.
func fileKinds() (schemes []string) {
	for _, scheme := range slices.Sorted(maps.Keys(backends)) {
		if len(backends[scheme].endings) > 0 {
			schemes = append(schemes, scheme)
		}
	}
	return schemes
}

// splitScheme splits a URL; a plain path has the scheme file. "zip:", or another kind of local
// files, says of a path that such a file is there, whatever its name.
func splitScheme(name string) (scheme, location string) {
	kind, path, _ := strings.Cut(name, ":")
	if slices.Contains(fileKinds(), kind) {
		return kind, strings.TrimPrefix(path, "//")
	}
	i := strings.Index(name, "://")
	if i <= 0 || strings.ContainsAny(name[:i], "/.") {
		return "file", name
	}
	scheme, location = strings.ToLower(name[:i]), name[i+3:]
	if scheme != "file" {
		return scheme, location
	}
	if path, err := url.PathUnescape(location); err == nil {
		location = path
	}
	return scheme, strings.TrimPrefix(location, "localhost")
}
