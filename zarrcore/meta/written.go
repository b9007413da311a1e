package meta

import "github.com/zarrfs/zarrfs/zarrcore/pyjson"

var null = made("null")

// written is a document as zarr-python lays it out.
func written(root pyjson.Value) []byte { return root.Python(indent) }

// extensionOf is version 3's way to name something, with a configuration that may be absent.
func extensionOf(name string, config pyjson.Value) pyjson.Value {
	v := pyjson.Empty.With("name", pyjson.StringOf(name))
	if !config.Exists() {
		return v
	}
	return v.With("configuration", config)
}

// orEmpty is the object itself, or one without members.
func orEmpty(object pyjson.Value) pyjson.Value {
	if object.Kind() != pyjson.Object {
		return pyjson.Empty
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
