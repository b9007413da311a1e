package main

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// metadataFiles are the files of which one makes a folder a group or array.
var metadataFiles = []string{"zarr.json", ".zgroup", ".zarray"}

// Looking for a store below a folder ends after so many folders, or so long.
const (
	searchFolders  = 100_000
	searchPatience = 5 * time.Second
)

// holdsStore reports whether a store lies below a folder, at any depth. Mounts below it do not
// count.
func holdsStore(folder string) bool {
	if folder == "" {
		return false
	}
	found, seen, start := false, 0, time.Now()
	filepath.WalkDir(folder, func(path string, e iofs.DirEntry, err error) error {
		switch {
		case err != nil || !e.IsDir():
			return nil // others may be looked into
		case path != folder && isNode(path):
			found = true
			return filepath.SkipAll
		case path != folder && isMount(path):
			return filepath.SkipDir
		}
		if seen++; seen > searchFolders || time.Since(start) > searchPatience {
			return filepath.SkipAll
		}
		return nil
	})
	return found
}

// Looking for a store below a prefix of a remote one ends after so many listings. Each takes a
// round trip, and four for each directory in it.
const searchListings = 100

// holdsStore reports whether a store lies below the root of a remote one that can list, at any
// depth. Higher ones are found first.
func (s *source) holdsStore(ctx context.Context) bool {
	t := s.Traits()
	if !t.Remote || t.List == store.ListNever {
		return false
	}
	ctx, stop := context.WithTimeout(ctx, searchPatience)
	defer stop()
	dirs := []string{""}
	for seen := 0; len(dirs) > 0 && seen < searchListings; seen++ {
		dir := dirs[0]
		dirs = dirs[1:]
		isStore := errors.New("a store")
		err := s.List(ctx, dir, func(e store.Entry) error {
			path := store.Join(dir, e.Name)
			switch {
			case !e.Dir:
				return nil
			case s.hasMetadata(ctx, path):
				return isStore
			}
			dirs = append(dirs, path)
			return nil
		})
		if err == isStore {
			return true
		}
	}
	return false
}

// hasMetadata reports whether a directory of the store has the metadata of a group or array.
func (s *source) hasMetadata(ctx context.Context, dir string) bool {
	return slices.ContainsFunc(metadataFiles, func(name string) bool {
		info, err := s.Stat(ctx, store.Join(dir, name))
		return err == nil && !info.Dir
	})
}

// isMount reports whether something of ours is mounted at a folder.
func isMount(folder string) bool {
	m, ok := mountAt(folder)
	return ok && m.kind == ourKind
}

// notStore explains that a folder is not a store, and which folder near it is one.
func notStore(name, folder string) error {
	text := name + " is not a Zarr store: it has no zarr.json, .zgroup or .zarray (nor meta and " +
		"attrs, as format 1 has)"
	if folder == "" {
		return errors.New(text)
	}
	if isEmpty(folder) {
		return fmt.Errorf("%s is an empty folder; `zarrfs create %[1]s --group` makes it a "+
			"store, and so does `zarrfs mount --create-format 3`", name)
	}
	text += ", and no store lies below it"
	if hint := parentHint(folder); hint != nil {
		return errors.Join(errors.New(text), hint)
	}
	return fmt.Errorf("%s. To make a store in it: zarrfs create %s --group", text,
		filepath.Join(name, "new.zarr"))
}

// swapped explains that the store and the folder of a mount were given the wrong way round.
func swapped(store, dir string) error {
	return fmt.Errorf("%s is an empty folder, and %s is a store: "+
		"give the store first, as in `zarrfs mount %[2]s %[1]s`", store, dir)
}

// isNode reports whether a folder holds a group or array. A mount of one does not count.
func isNode(folder string) bool {
	return hasMetadata(folder) && !isMount(folder)
}

// hasMetadata reports whether a folder has the metadata of a group or array.
func hasMetadata(folder string) bool {
	for _, file := range metadataFiles {
		if _, err := os.Stat(filepath.Join(folder, file)); err == nil {
			return true
		}
	}
	_, errMeta := os.Stat(filepath.Join(folder, "meta"))
	_, errAttrs := os.Stat(filepath.Join(folder, "attrs"))
	return errMeta == nil && errAttrs == nil
}

// parentHint is a line that names the outermost store around a path; nil if there is no such store.
func parentHint(path string) error {
	if found := lyingIn(path); found != nil {
		return fmt.Errorf("  but %w", found)
	}
	return nil
}

// lyingIn says that a path lies in a store, and that the store is to be given in its place. It
// returns nil if that is not so.
func lyingIn(path string) error {
	if found := storeAround(path); found != "" {
		return fmt.Errorf("it lies in the store %s: give that folder", found)
	}
	return nil
}

// storeAround returns the outermost store that a path lies in, or "".
func storeAround(path string) (found string) {
	for dir := filepath.Dir(path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if isNode(dir) {
			found = dir
		}
	}
	return found
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
