package integration

import (
	"strings"
	"testing"
)

// This file compares the mount of a bucket, web server or zip file with that of the folder that it
// was made of.

// treeInFolder returns a store in a folder, and the files of its mount.
func treeInFolder(t *testing.T) (store string, files map[string]string) {
	t.Helper()
	store = treeStore(t)
	files = mountedTree(t, store, "--read-only")
	if len(files) < 10 {
		t.Fatalf("there are only %d files to compare", len(files))
	}
	return store, files
}

// mountedTree mounts a store for a moment, and returns the files of its mount.
func mountedTree(t *testing.T, store string, flags ...string) map[string]string {
	t.Helper()
	d := started(t, store, flags...)
	files := d.tree(t)
	if err := d.stop(); err != nil {
		t.Error(err)
	}
	return files
}

// tree returns the files of the mount without the name of the store, which is in the documents of
// groups.
func (d *daemon) tree(t *testing.T) map[string]string {
	t.Helper()
	files := tree(t, d.dir)
	name := strings.TrimSuffix(strings.TrimPrefix(d.store, "zip+"), "/")
	for path, data := range files {
		files[path] = strings.ReplaceAll(data, name, "STORE")
	}
	return files
}
