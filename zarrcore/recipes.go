package zarrcore

import (
	"context"
	"fmt"

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
	n, err := h.Node(ctx, dir)
	if err != nil {
		return r, err
	}
	r, err = r.Override(n.Attributes.Get(recipeAttribute))
	if err != nil {
		return r, &Error{Op: "create", Path: dir, Err: fmt.Errorf("attribute %q of the group: %w", recipeAttribute, err)}
	}
	return r, nil
}
