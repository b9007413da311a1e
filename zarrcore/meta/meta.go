// Package meta reads the documents that describe Zarr arrays and groups, in versions 1, 2 and 3,
// into one model. It writes those of new ones in versions 2 and 3, and edits stored ones so that
// all that does not change keeps its bytes.
//
// It judges each document on its own: it reads no store, and does not know which codecs there are.
// What a document must not hold, or holds in a way that cannot be read correctly, is an [Error]. It
// names the member, what was expected and what was found. As much of the model as could be
// understood is returned beside the error. So the node can be listed and its document shown all the
// same.
package meta

import (
	"errors"

	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// ErrInvalid is wrapped by the errors about malformed documents. Those about documents that are
// well-formed but need what this program cannot do wrap errors.ErrUnsupported instead.
var ErrInvalid = errors.New("invalid metadata")

// Array is what the document of an array says, whatever its version. A member that could not be
// understood has its zero value.
type Array struct {
	Format int // 1, 2 or 3

	// Shape is the lengths of the axes of the array, in elements. It is set if Chunk is. A length
	// of Chunk is 0 only where that of Shape is.
	Shape []int64
	Chunks

	// Type is the type of the elements in their stored byte order, which is the order of the views.
	// In version 3 that is the endian of the innermost bytes codec.
	Type dtype.Type

	// Fill is the fill value as one element in Type's byte order: zero bytes where the document
	// says null. Of an Object it is what dtype says of it.
	Fill        []byte
	FillDefined bool // false: the document says null or nothing

	// Codecs is the chain from the array to its stored bytes, as version 3 has it. Versions 1 and 2
	// read as filters, bytes, and the compressor. A transpose is first where the order is "F" and
	// there are two axes or more. Their bytes codec has no configuration: Type has the byte order,
	// of structured types for each field.
	Codecs []Codec

	Keys layout.KeyEncoding

	// SeparatorKnown is false for version 2 without a dimension_separator. That means ".", but old
	// nested stores left it out too and have "/": only the store can tell.
	SeparatorKnown bool

	Order byte // 'C' or 'F' as versions 1 and 2 say; 'C' in version 3

	fortran bool // what IsInFortranOrder reports

	// DimensionNames are version 3's dimension_names ("" for null) or the attribute
	// _ARRAY_DIMENSIONS of versions 1 and 2; nil if there are none.
	DimensionNames []string

	Attributes pyjson.Value // an object, or absent

	// Document is strict JSON for people. Version 3's is the stored document verbatim (or indented
	// again, if it was Python's JSON only). Those of versions 1 and 2 are the members of the
	// array's document and, where there is a document of attributes, those under "attributes". A
	// document that is not JSON at all is given as it is stored.
	Document []byte
}

// Chunks are how the grid of an array cuts it into stored objects, which are shards where it is
// sharded.
type Chunks struct {
	// Chunk is the lengths of the axes of one object, in elements. Where objects differ in shape,
	// it has the longest lengths along each axis.
	Chunk []int64

	// Cuts, where objects differ in shape, has all lengths as they are listed, also behind the
	// array's end. Otherwise it is nil.
	Cuts [][]layout.Cut

	// Bounded is the shape of the objects if these end at the array's end, otherwise nil.
	Bounded []int64
}

// Codec is one step of an array's codec chain.
type Codec struct {
	Name   string       // as in version 3; version 2's ids are named numcodecs.ID
	Config pyjson.Value // an object, or absent
}

// Group is what the document of a group says.
type Group struct {
	Format     int          // 2 or 3
	Attributes pyjson.Value // an object, or absent
	Document   []byte       // as an Array's
}
