package zarrcore

import (
	"context"
	"strings"

	"github.com/zarrfs/zarrfs/zarrcore/recipe"
)

// recipeAttribute is the attribute by which a group sets what arrays created in
// it, and below it, look like.
const recipeAttribute = "zarrfs"

// recipeFor returns the recipe for arrays that are created in the group at dir:
// that of the Options, changed by each group on the way to it.
func (h *Hierarchy) recipeFor(ctx context.Context, dir string) (recipe.Recipe, error) {
	r := h.recipe
	for end := 0; ; end++ {
		n, err := h.Node(ctx, dir[:end])
		if err != nil {
			return r, err
		}
		if r, err = r.Override(n.Attributes.Get(recipeAttribute)); err != nil {
			return r, &Error{Op: "create in", Path: n.Path, Err: err}
		}
		if end == len(dir) {
			return r, nil
		}
		next := strings.IndexByte(dir[end+1:], '/')
		if next < 0 {
			end = len(dir) - 1
		} else {
			end += next
		}
	}
}
