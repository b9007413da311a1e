package xattr

import (
	"encoding/json"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// Attribute is one extended attribute; its value is made when it is asked for.
type Attribute struct {
	Name  string
	Value func() []byte
}

// Of returns the extended attributes of a node.
func Of(n *zarrcore.Node) []Attribute {
	list := []Attribute{
		{Zarr + "node", text(n.Kind.String())},
		{Path, text("/" + n.Path)},
	}
	if n.Format != 0 {
		list = append(list, Attribute{Zarr + "format", asJSON(n.Format)})
	}
	if n.Kind == zarrcore.ArrayNode && n.Meta != nil {
		list = append(list, ofArray(n)...)
	}
	for name, v := range n.Attributes.Entries() {
		if full := Attr + show(name); len(full) <= nameMax {
			list = append(list, Attribute{full, v.Compact})
		}
	}
	list = append(list, settings(n)...)
	if n.Err != nil {
		list = append(list, Attribute{Error, text(errno.Reason(n.Err))})
	}
	return list
}

func text(s string) func() []byte { return func() []byte { return []byte(s) } }

func asJSON(v any) func() []byte {
	return func() []byte {
		b, _ := json.Marshal(v)
		return b
	}
}

// Find returns the extended attribute of that name, nil if the node has none.
func Find(n *zarrcore.Node, attr string) *Attribute {
	all := Of(n)
	if i := slices.IndexFunc(all, func(x Attribute) bool { return x.Name == attr }); i >= 0 {
		return &all[i]
	}
	return nil
}

// settings returns the settings of a group as extended attributes.
func settings(n *zarrcore.Node) (list []Attribute) {
	if n.Kind != zarrcore.GroupNode || n.Attributes.Get(recipeAttribute).Kind() != pyjson.Object {
		return nil
	}
	for name, v := range n.Attributes.Get(recipeAttribute).Entries() {
		if full := create + show(name); len(full) <= nameMax {
			list = append(list, Attribute{full, func() []byte {
				if v.Kind() == pyjson.String && name != "fill_value" {
					return []byte(v.Text())
				}
				return v.Standard()
			}})
		}
	}
	return list
}

// Copy answers as getxattr(2) does: an empty dest asks for the size.
func Copy(dest, value []byte, limit int) (uint32, syscall.Errno) {
	switch {
	case len(value) > limit:
		return 0, unix.E2BIG
	case len(dest) == 0:
		return uint32(len(value)), 0
	case len(value) > len(dest):
		return uint32(len(value)), unix.ERANGE
	}
	return uint32(copy(dest, value)), 0
}
