package zarrcore

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"

	"github.com/zarrfs/zarrfs/zarrcore/recipe"
)

// recipeAttribute is the attribute of a group that says what arrays created in
// it, and below it, look like: an object whose members are recipe.Settings.
const recipeAttribute = "zarrfs"

// recipeFor returns the recipe of what is created in the group at dir: that of
// the Options, changed by the groups from the root down to dir.
func (h *Hierarchy) recipeFor(ctx context.Context, dir string) (recipe.Recipe, error) {
	r := h.recipe
	if dir != "" {
		var err error
		if r, err = h.recipeFor(ctx, parent(dir)); err != nil {
			return r, err
		}
	}
	n, err := h.catalog.Placed(ctx, dir)
	if err != nil {
		return r, err
	}
	r, err = r.Override(n.Attributes.Get(recipeAttribute))
	if err != nil {
		return r, &Error{Op: "create", Path: dir, Err: fmt.Errorf("attribute %q of the group: %w", recipeAttribute, err)}
	}
	return r, nil
}

// RecipeAt returns the recipe, with its format, of an array that is created at
// path once the groups on the way to it are there: the nearest that is there
// says it. If that is an array, there can be none at path.
func (h *Hierarchy) RecipeAt(ctx context.Context, path string) (r recipe.Recipe, err error) {
	dir := parent(path)
	n, err := h.Node(ctx, dir)
	for ; errors.Is(err, iofs.ErrNotExist) && dir != ""; n, err = h.Node(ctx, dir) {
		dir = parent(dir)
	}
	if err != nil {
		return r, err
	}
	if n.Kind == ArrayNode {
		return r, &Error{Op: "create", Path: path, Err: fmt.Errorf("%q is an array, and can hold nothing else", dir)}
	}
	format, err := h.formatBelow(ctx, dir, path)
	if err != nil {
		return r, err
	}
	r, err = h.recipeFor(ctx, dir)
	r.Format = format
	return r, err
}
