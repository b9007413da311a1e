package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	iofs "io/fs"

	"github.com/zarrfs/zarrfs/zarrcore/recipe"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// recipeAttribute is the attribute of a group that says what arrays created in
// it, and below it, look like: an object whose members are recipe.Settings.
const recipeAttribute = "zarrfs"

// recipeFor returns the recipe of what is created in the group at dir: that of
// the Options, changed by the groups from the root down to dir.
func (cat *Catalog) recipeFor(ctx context.Context, dir string) (recipe.Recipe, error) {
	r := cat.recipe
	if dir != "" {
		var err error
		if r, err = cat.recipeFor(ctx, store.Parent(dir)); err != nil {
			return r, err
		}
	}
	n, err := cat.Placed(ctx, dir)
	if err != nil {
		return r, err
	}
	r, err = r.Override(n.Attributes.Get(recipeAttribute))
	if err != nil {
		return r, &Error{Op: "create", Path: dir, Err: fmt.Errorf("attribute %q of the group: %w",
			recipeAttribute, err)}
	}
	return r, nil
}

// RecipeAt returns the recipe, with its format, of an array that is created at path once the
// groups on the way to it are there. The nearest group that is there says it. Below an array no
// other one can be created.
func (cat *Catalog) RecipeAt(ctx context.Context, path string) (r recipe.Recipe, err error) {
	dir := store.Parent(path)
	n, err := cat.Node(ctx, dir)
	for ; errors.Is(err, iofs.ErrNotExist) && dir != ""; n, err = cat.Node(ctx, dir) {
		dir = store.Parent(dir)
	}
	if err != nil {
		return r, err
	}
	if n.Kind == ArrayNode {
		return r, &Error{Op: "create", Path: path,
			Err: fmt.Errorf("%q is an array, and can hold nothing else", dir)}
	}
	format, err := cat.FormatBelow(ctx, dir, path)
	if err != nil {
		return r, err
	}
	r, err = cat.recipeFor(ctx, dir)
	r.Format = format
	return r, err
}

// FormatBelow returns the format of what is created in the group at dir: its
// own, or that of the nearest group above it which has one.
func (cat *Catalog) FormatBelow(ctx context.Context, dir, path string) (int, error) {
	n, err := cat.Placed(ctx, dir)
	switch {
	case err != nil:
		return 0, err
	case n.Kind == ArrayNode:
		return 0, &Error{Op: "create", Path: path,
			Err: fmt.Errorf("%w: %q is an array", iofs.ErrNotExist, dir)}
	case n.Kind == GroupNode:
		return n.Format, nil
	case dir == "": // what is made in a folder of stores is a store of its own
		return cmp.Or(cat.recipe.Format, 3), nil
	}
	return cat.FormatBelow(ctx, store.Parent(dir), path)
}
