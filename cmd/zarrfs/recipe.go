package main

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/zarrfs/zarrfs/zarrcore/recipe"
)

// recipeFlags are the flags that say what new arrays look like, one for each of recipe.Settings.
type recipeFlags struct {
	prefix string
	texts  map[string]*string // by setting
	flags  *pflag.FlagSet
}

// addRecipeFlags declares the flags. Their names begin with prefix.
func addRecipeFlags(flags *pflag.FlagSet, prefix, of string) *recipeFlags {
	r := &recipeFlags{prefix, map[string]*string{}, flags}
	for _, s := range recipe.Settings {
		r.texts[s.Name] = flags.String(r.flag(s.Name), "",
			fmt.Sprintf("%s of %s: %s", strings.ReplaceAll(s.Name, "_", " "), of, s.Takes))
	}
	return r
}

// flag returns the name of a setting's flag.
func (r *recipeFlags) flag(setting string) string {
	return r.prefix + strings.ReplaceAll(setting, "_", "-")
}

// recipe returns what the flags say. What is not set is left to the groups of the store, and to
// zarr-python's defaults.
func (r *recipeFlags) recipe() (recipe.Recipe, error) { return r.over(recipe.Recipe{}) }

// over returns a recipe changed by what the flags say.
func (r *recipeFlags) over(made recipe.Recipe) (_ recipe.Recipe, err error) {
	for _, s := range recipe.Settings {
		if !r.flags.Changed(r.flag(s.Name)) {
			continue
		}
		if made, err = made.Set(s.Name, *r.texts[s.Name]); err != nil {
			return made,
				usageError{fmt.Errorf("--%s: %s", r.flag(s.Name),
					strings.TrimPrefix(err.Error(), s.Name+": "))}
		}
	}
	return made, nil
}
