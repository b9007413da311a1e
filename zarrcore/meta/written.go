package meta

import "github.com/zarrfs/zarrfs/zarrcore/pyjson"

// member is one of an object that is being written.
type member struct {
	key   string
	value pyjson.Value
}

var null = made("null")

// written is a document as zarr-python lays it out.
func written(root pyjson.Value) []byte { return root.Python(indent) }

func objectOf(members ...member) pyjson.Value {
	return pyjson.ObjectOf(func(yield func(string, pyjson.Value) bool) {
		for _, m := range members {
			if !yield(m.key, m.value) {
				return
			}
		}
	})
}

// extensionOf is version 3's way to name something, with a configuration that may be absent.
func extensionOf(name string, config pyjson.Value) pyjson.Value {
	if !config.Exists() {
		return objectOf(member{"name", pyjson.StringOf(name)})
	}
	return objectOf(member{"name", pyjson.StringOf(name)}, member{"configuration", config})
}

// orEmpty is the object itself, or one without members.
func orEmpty(object pyjson.Value) pyjson.Value {
	if object.Kind() != pyjson.Object {
		return objectOf()
	}
	return object
}

// axisList is the names of the axes; "" becomes null.
func axisList(names []string) pyjson.Value {
	list := make([]pyjson.Value, len(names))
	for i, name := range names {
		list[i] = null
		if name != "" {
			list[i] = pyjson.StringOf(name)
		}
	}
	return pyjson.ArrayOf(list...)
}
