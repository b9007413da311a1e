package xattr

import (
	"context"
	"fmt"
	iofs "io/fs"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
	"github.com/zarrfs/zarrfs/zarrcore/recipe"
)

// Set sets what attr names of a node, or removes it where value is nil.
func Set(
	ctx context.Context, h *zarrcore.Hierarchy, n *zarrcore.Node, attr string, value []byte,
) error {
	if !utf8.Valid(value) {
		return fmt.Errorf("%w: %s: expected JSON, or text in UTF-8, found %.40q", iofs.ErrInvalid,
			attr, value)
	}
	if shown, ok := strings.CutPrefix(attr, Attr); ok {
		if name, ok := hide(shown); ok && utf8.ValidString(name) {
			return h.SetAttribute(ctx, n.Path, name, value)
		}
		return fmt.Errorf("%w: %q: expected a name in UTF-8, escaped as names of files are",
			iofs.ErrInvalid, attr)
	}
	if name, ok := strings.CutPrefix(attr, create); ok && n.Kind == zarrcore.GroupNode {
		return setSetting(ctx, h, n, name, value)
	}
	if attr == axes && n.Kind == zarrcore.ArrayNode {
		return setAxes(ctx, h, n, value)
	}
	return whyFixed(attr)
}

// IsFixed reports whether an extended attribute follows from the metadata.
func IsFixed(attr string) bool {
	name, ok := strings.CutPrefix(attr, Zarr)
	return ok && attr != axes && slices.Contains(fromMetadata, name)
}

// whyFixed returns why an extended attribute cannot be set.
func whyFixed(attr string) error {
	name, ok := strings.CutPrefix(attr, Zarr)
	switch {
	case !ok:
		return fmt.Errorf("%w: %s is set by zarrfs itself", syscall.EPERM, attr)
	case name == "" || name == "attr":
		return fmt.Errorf("%w: %s: expected a name, such as user.zarr.attr.units", syscall.EPERM,
			attr)
	case slices.Contains(fromMetadata, name):
		return fmt.Errorf("%w: %s follows from the metadata: of an array, change it in its .%s "+
			"where it can be changed", syscall.EPERM, attr, view.Document.Name())
	}
	return fmt.Errorf("%w: no attribute %s; an attribute of the array or group is %s%s",
		syscall.EPERM, attr, Attr, name)
}

// fromMetadata are the names of what Of shows of the metadata.
var fromMetadata = []string{
	"node", "path", "format", "shape", "dtype", "chunks", "shards", "codecs", "fill_value", "order",
	"dimension_names",
}

// setAxes gives the array's axes the names that a JSON list has, or none.
func setAxes(ctx context.Context, h *zarrcore.Hierarchy, n *zarrcore.Node, value []byte) error {
	names := []byte("null")
	if value != nil {
		if _, err := pyjson.Parse(value); err != nil {
			return fmt.Errorf("%w: dimension_names: %w", iofs.ErrInvalid, err)
		}
		names = value
	}
	return h.SetDocument(ctx, n.Path, slices.Concat([]byte(`{"dimension_names": `), names,
		[]byte("}")))
}

// setSetting changes one member of the group's attribute "zarrfs".
func setSetting(
	ctx context.Context, h *zarrcore.Hierarchy, n *zarrcore.Node, name string, value []byte,
) error {
	if value != nil {
		r, err := (recipe.Recipe{}).Set(name, string(value))
		if err == nil && r.Format != 0 && r.Format != n.Format {
			err = fmt.Errorf("%w: format: the group has format %d, and so have all that are "+
				"created in it", iofs.ErrInvalid, n.Format)
		}
		if err != nil {
			return err
		}
	}
	all := n.Attributes.Get(recipeAttribute)
	switch all.Kind() {
	case pyjson.Object:
	case pyjson.Invalid:
		all = pyjson.ObjectOf(func(func(string, pyjson.Value) bool) {})
	default:
		return fmt.Errorf("%w: the attribute %q of the group is %s, expected an object",
			iofs.ErrInvalid, recipeAttribute, all.Kind())
	}
	if value == nil {
		all = all.Without(name)
	} else {
		all = all.With(name, settingValue(name, value))
	}
	if all.Len() == 0 {
		return h.SetAttribute(ctx, n.Path, recipeAttribute, nil)
	}
	return h.SetAttribute(ctx, n.Path, recipeAttribute, all.Raw())
}

// settingValue returns the JSON value of a setting's text: a fill value is one, all others are
// strings.
func settingValue(name string, text []byte) pyjson.Value {
	if v, err := pyjson.Parse(text); err == nil && name == "fill_value" {
		return v
	}
	return pyjson.StringOf(string(text))
}
