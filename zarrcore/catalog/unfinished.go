package catalog

import (
	"context"
	"fmt"
	"regexp"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// This file is about arrays that are made beside another one, to take its place when they are
// finished.

// Beside returns a path beside another one, for an array that is to take the place of that.
func Beside(path string, i int) string { return fmt.Sprintf("%s~%d", path, i) }

// besideName matches the names that Beside makes: only these are looked at again in a listing.
var besideName = regexp.MustCompile(`~[0-9]+$`)

// isUnfinished reports whether a child of the group at path is an array that is not finished. It
// may be what a program is making just now, or what a power cut has left.
func (cat *looks) isUnfinished(ctx context.Context, path, name string) bool {
	return besideName.MatchString(name) &&
		cat.Exists(ctx, store.Join(store.Join(path, name), store.UnfinishedMark))
}
