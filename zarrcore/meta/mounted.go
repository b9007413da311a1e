package meta

import (
	"strings"

	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// A mount shows the document of each group as zarr.json, but not the objects of its arrays. A
// library that took the mount for a store would find groups without arrays. So three members say
// there that it is not a store:
//
//   - "consolidated_metadata" is of a kind that no reader knows, and zarr-python's error names the
//     kind;
//   - "zarr_format" is a text, for readers that leave consolidated metadata aside;
//   - "node_type" is left out, so that a library which wants to create something goes on, to an
//     error that says why, and does not just find a group.

const (
	formatMember       = "zarr_format"
	typeMember         = "node_type"
	consolidatedMember = "consolidated_metadata"

	// begins the kind of consolidated metadata
	mountKind   = "zarrfs mount: open the store itself, "
	mountFormat = ", in a zarrfs mount: open the store itself, " // follows the format
	// the format of a folder without metadata
	noFormat = "none"
)

// InMount returns the document of a group as a mount of the store shows it. One that is not a JSON
// object stays as it is: no reader takes it for a group.
func InMount(doc []byte, store string) []byte {
	root, err := pyjson.Parse(doc)
	if err != nil || root.Kind() != pyjson.Object {
		return doc
	}
	store = strings.ToValidUTF8(store, "\ufffd")
	format := noFormat
	if v := root.Get(formatMember); v.Exists() {
		format = string(v.Standard())
	}
	// consolidated metadata may be long, and are not parsed again once they are replaced
	return changed(doc,
		member{consolidatedMember, pyjson.Empty.With("kind", pyjson.StringOf(mountKind+store)).
			With("must_understand", pyjson.BoolOf(true)).With("metadata", pyjson.Empty)},
		member{formatMember, pyjson.StringOf(format + mountFormat + store)},
		member{typeMember, pyjson.Value{}})
}

// Signpost returns the text of a document of a store, as a mount of the store has it under that
// name: it says to open the store itself, in the member that libraries check and print. It has no
// other member that zarr-python 3 would refuse before that.
func Signpost(name, store string) []byte {
	why := pyjson.StringOf(strings.ToValidUTF8(mountKind+store, "\ufffd"))
	said := []member{{formatMember, why}}
	switch name {
	case "zarr.json": // of an array: a group's is the group's document
		said = append(said, member{typeMember, pyjson.StringOf("array")})
	case ".zmetadata":
		said = []member{{"metadata", pyjson.Empty}, {"zarr_consolidated_format", why}}
	}
	return append(changed([]byte("{}"), said...), '\n')
}

// FromMount returns a document that was read in a mount, and perhaps edited, without what InMount
// has made of it.
func FromMount(doc []byte) []byte {
	root, err := pyjson.Parse(doc)
	if err != nil || root.Kind() != pyjson.Object {
		return doc
	}
	var plain []member
	if strings.HasPrefix(root.Get(consolidatedMember).Get("kind").Text(), mountKind) {
		plain = append(plain, member{consolidatedMember, pyjson.Value{}})
	}
	format, _, found := strings.Cut(root.Get(formatMember).Text(), mountFormat)
	if !found {
		return changed(doc, plain...)
	}
	value, _ := pyjson.Parse([]byte(format)) // absent in a folder without metadata
	plain = append(plain, member{formatMember, value})
	if n, _ := value.Int64(); n == 3 && !root.Get(typeMember).Exists() {
		plain = append(plain, member{typeMember, pyjson.StringOf("group")})
	}
	return changed(doc, plain...)
}

// member is a member of a document to be set, or, where the value is absent, to be removed.
type member struct {
	name  string
	value pyjson.Value
}

// changed returns an object with members changed.
func changed(doc []byte, members ...member) []byte {
	for _, m := range members {
		next, err := pyjson.Set(doc, m.value, m.name)
		if err != nil {
			return doc // not of an object
		}
		doc = next
	}
	return doc
}

// DescribesArray reports whether a document is one of an array, of whatever format.
func DescribesArray(doc []byte) bool {
	root, err := pyjson.Parse(doc)
	if err != nil || root.Kind() != pyjson.Object {
		return false
	}
	kind := root.Get(typeMember).Text()
	return kind == "array" || kind == "" && root.Get("shape").Exists()
}

// DescribesGroup reports whether a document is one of a group, of whatever format: it is an object,
// and nothing says that it is an array.
func DescribesGroup(doc []byte) bool {
	root, err := pyjson.Parse(doc)
	if err != nil || root.Kind() != pyjson.Object {
		return false
	}
	kind := root.Get(typeMember).Text()
	return kind == "group" || kind == "" && !root.Get("shape").Exists()
}
