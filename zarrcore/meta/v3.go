package meta

import (
	"errors"
	"fmt"

	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// ParseV3 reads a zarr.json. One of the two results is set, and beside an error as much of it as
// was understood. Neither is if the document does not tell what it describes.
func ParseV3(doc []byte) (*Array, *Group, error) {
	root, err := pyjson.Parse(doc)
	if err != nil {
		return nil, nil, because("", err)
	}
	if root.Kind() != pyjson.Object {
		return nil, nil, invalid("", "an object", root)
	}
	d := splitV3(root)
	if d.draft != "" {
		return d.refuseDraft(doc)
	}
	format := d.known["zarr_format"]
	if n, ok := format.Int64(); !ok {
		return nil, nil, invalid("zarr_format", "3", format)
	} else if n != 3 {
		return nil, nil, unsupported("zarr_format", "3", format)
	}
	switch node := d.known["node_type"]; node.Text() {
	case "array":
		a, err := d.array(doc, root)
		return a, nil, err
	case "group":
		g, err := d.group(doc, root)
		return nil, g, err
	default:
		return nil, nil, invalid("node_type", `"array" or "group"`, node)
	}
}

// documentV3 is a zarr.json's members, sorted.
type documentV3 struct {
	known   map[string]pyjson.Value
	unknown error  // about the first member that we neither know nor may ignore
	draft   string // the member that shows a draft of version 3 from before its final specification
}

// splitV3 sorts the members of a document, in one walk through it.
func splitV3(root pyjson.Value) documentV3 {
	d := documentV3{known: map[string]pyjson.Value{}}
	for key, value := range root.Entries() {
		switch key {
		case "zarr_format":
			if value.Kind() == pyjson.String { // drafts had a URL here
				d.draft = key
			}
			d.known[key] = value
		case "metadata_encoding", "chunk_memory_layout":
			d.draft = key
		case "node_type", "attributes", "consolidated_metadata", "shape", "data_type", "chunk_grid",
			"chunk_key_encoding", "fill_value",
			"codecs", "dimension_names", "storage_transformers":
			d.known[key] = value
		default:
			if must, ok := value.Get("must_understand").Bool(); d.unknown == nil && (!ok || must) {
				d.unknown = unsupported(key,
					"no such member, or an object with must_understand false", value)
			}
		}
	}
	return d
}

// refuseDraft refuses documents of the drafts that zarr-python 2 and others wrote. Only an array's
// has chunk_memory_layout.
func (d documentV3) refuseDraft(doc []byte) (*Array, *Group, error) {
	err := &Error{
		Member:   d.draft,
		Expected: "a document of the final Zarr v3 specification",
		Found: "one of a draft; zarr-python 2.18 reads it with ZARR_V3_EXPERIMENTAL_API=1 and " +
			"can copy it to version 2",
		Kind: errors.ErrUnsupported,
	}
	if d.draft == "chunk_memory_layout" || d.known["shape"].Exists() {
		return &Array{Format: 3, Order: 'C', Document: doc}, nil, err
	}
	return nil, &Group{Format: 3, Document: doc}, err
}

func (d documentV3) group(doc []byte, root pyjson.Value) (*Group, error) {
	g := &Group{Format: 3, Document: verbatim(doc, root)}
	var first firstError
	var err error
	g.Attributes, err = attributes("attributes", d.known["attributes"])
	first.note(err)
	first.note(checkConsolidated(d.known["consolidated_metadata"]))
	for _, key := range []string{"shape", "data_type", "chunk_grid", "chunk_key_encoding",
		"fill_value", "codecs", "dimension_names"} {
		if v := d.known[key]; v.Exists() {
			first.note(invalid(key, "no such member of a group", v))
		}
	}
	first.note(checkTransformers(d.known["storage_transformers"]))
	first.note(d.unknown)
	return g, first.err
}

func (d documentV3) array(doc []byte, root pyjson.Value) (*Array, error) {
	a := &Array{Format: 3, Order: 'C', SeparatorKnown: true, Document: verbatim(doc, root)}
	var first firstError
	var err error
	a.Attributes, err = attributes("attributes", d.known["attributes"])
	first.note(err)
	first.note(a.gridV3(d.known["shape"], d.known["chunk_grid"]))
	a.Codecs, err = parseCodecs("codecs", d.known["codecs"])
	first.note(err)
	a.setOrder()
	first.note(a.typeV3(d.known["data_type"], d.known["fill_value"]))
	a.Keys, err = keysV3("chunk_key_encoding", d.known["chunk_key_encoding"])
	first.note(err)
	a.DimensionNames, err = dimensionNames(d.known[axesMember], a.Shape)
	first.note(err)
	first.note(checkTransformers(d.known["storage_transformers"]))
	first.note(checkConsolidated(d.known["consolidated_metadata"]))
	first.note(d.unknown)
	first.note(a.checkSizes())
	return a, first.err
}

// typeV3 reads the data type, gives it the byte order of the codecs, and reads the fill value.
func (a *Array) typeV3(dataType, fill pyjson.Value) error {
	if !dataType.Exists() {
		return invalid("data_type", "a name or an object with a name", dataType)
	}
	if err := mustUnderstand("data_type", dataType); err != nil {
		return err
	}
	t, err := dtype.ParseV3(dataType)
	if err != nil {
		return because("data_type", err)
	}
	order, err := ByteOrder("codecs", a.Codecs)
	if err != nil {
		return err
	}
	a.Type = t.WithOrder(order)
	if !fill.Exists() {
		return invalid("fill_value", "a value", fill)
	}
	if a.Fill, err = dtype.FillV3.Element(a.Type, fill); err != nil {
		return because("fill_value", err)
	}
	a.FillDefined = fill.Kind() != pyjson.Null // which GDAL writes, and the format does not allow
	return nil
}

// nameOf returns the name within an extension, for an error message.
func nameOf(v pyjson.Value) pyjson.Value {
	if v.Kind() == pyjson.String {
		return v
	}
	return v.Get("name")
}

// dimensionNames reads version 3's names of the axes.
func dimensionNames(v pyjson.Value, shape []int64) ([]string, error) {
	if !v.Exists() || v.Kind() == pyjson.Null || shape == nil {
		return nil, nil
	}
	names, ok := axisNames(v, len(shape), true)
	if !ok {
		return nil,
			invalid(axesMember,
				fmt.Sprintf("an array of %d strings or nulls, one for each axis of shape",
					len(shape)), v)
	}
	return names, nil
}

// axisNames reads an array of exactly rank strings, or nulls if those are allowed.
func axisNames(v pyjson.Value, rank int, nulls bool) ([]string, bool) {
	names := make([]string, 0, rank)
	for e := range v.Elements() {
		if len(names) == rank || e.Kind() != pyjson.String && !(nulls && e.Kind() == pyjson.Null) {
			return nil, false
		}
		names = append(names, e.Text())
	}
	if v.Kind() != pyjson.Array || len(names) != rank {
		return nil, false
	}
	return names, true
}

// attributes takes an object; null and nothing are not attributes.
func attributes(member string, v pyjson.Value) (pyjson.Value, error) {
	switch v.Kind() {
	case pyjson.Object:
		return v, nil
	case pyjson.Invalid, pyjson.Null:
		return pyjson.Value{}, nil
	}
	return pyjson.Value{}, invalid(member, "an object", v)
}

// checkConsolidated tolerates consolidated metadata if they are inline, are null, or need not be
// understood. Consolidated metadata only repeat the nodes' own documents.
func checkConsolidated(v pyjson.Value) error {
	if !v.Exists() || v.Kind() == pyjson.Null || v.Get("kind").Text() == "inline" {
		return nil
	}
	if must, ok := v.Get("must_understand").Bool(); ok && !must {
		return nil
	}
	return unsupported("consolidated_metadata", "null or an object of kind inline", v)
}

// checkTransformers refuses storage transformers: none is specified, and each could change every
// stored byte.
func checkTransformers(v pyjson.Value) error {
	if !v.Exists() || v.Kind() == pyjson.Null {
		return nil
	}
	if v.Kind() != pyjson.Array {
		return invalid("storage_transformers", "an array", v)
	}
	for e := range v.Elements() {
		return unsupported("storage_transformers", "no storage transformer", e)
	}
	return nil
}
