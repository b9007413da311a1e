// Package hdf5 lays out an HDF5 file whose datasets have their bytes elsewhere. It makes the bytes
// of the metadata, and says which stretch of the file is which dataset. Where axes have names, the
// file is a netCDF-4 file too: a name becomes a dimension scale.
//
// The file has (HDF5 File Format Specification, version 3.0):
//
//	superblock, version 2                      48 bytes (II.A)
//	object headers, version 2                  a group, dataset or type each (IV.A.1.b)
//	global heap collections                    strings of any length, references (III.E)
//	a gap                                      see headLeast
//	the bytes of the datasets, contiguous      each from a multiple of dataAlign or smallAlign
//
// All numbers of the format are little-endian. Addresses have eight bytes, and count from the end
// of the user block.
package hdf5

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
)

// A Group is a group of the file, and all that is in it. The root has no name.
type Group struct {
	Name       string
	Attributes []Attribute
	Datasets   []*Dataset
	Groups     []*Group
}

// A Dataset is an array. Its bytes are in C order, or in chunks. These follow each other in C
// order, and each is whole, with padding where it reaches beyond the array. The bytes are not part
// of the metadata.
type Dataset struct {
	Name       string
	Type       Type
	Shape      []int64
	Fill       []byte  // one element; nil: none is defined
	Chunk      []int64 // the shape of its chunks, see Chunks; nil: its bytes are in C order
	Inline     []byte  // all elements, as a part of the metadata; nil: they are not
	Attributes []Attribute

	// Dimensions are the names of the axes, "" for one that has none; nil: no axis has one.
	Dimensions []string
}

// An Attribute is a named value of a group or dataset.
type Attribute struct {
	Name  string
	Type  Type
	Shape []int64 // nil: a scalar
	Data  []byte  // the elements; of type VarString or VarWord: none

	Strings []string // the elements, if the type is VarString or VarWord
}

// File is a file that was laid out.
type File struct {
	Meta    []byte   // its first bytes
	Extents []Extent // where the datasets are, in order; those without bytes are left out
	Size    int64    // bytes of the file; what lies between metadata and extents is zero

	base int64 // length of the user block
}

// An Extent is the stretch of a file that holds the bytes of a dataset.
type Extent struct {
	Off, Size int64
	Of        *Dataset
}

const (
	undefined = math.MaxUint64 // the address of what is not there

	superblockSize = 48
	dataAlign      = 4096 // of datasets of largeData bytes or more, so that pages hold one dataset
	smallAlign     = 8
	largeData      = 64 << 10

	// headLeast is where the bytes of the datasets begin at the earliest, unless they are fewer
	// than gapWorth. netCDF4 for Python reads so much of a file when it opens it. Where chunks are
	// long in time, the first bytes of an array can lie in all its chunks.
	headLeast = 4 << 20
	// ahead is how far the bytes of the datasets are from the metadata then: the kernel reads so
	// much more than it is asked for.
	ahead    = 1 << 20
	gapWorth = 256 << 10

	// MaxRank is the greatest number of axes.
	MaxRank = 32
	// MaxAttribute is the greatest size in bytes of an attribute's value, with its name. Strings of
	// the type VarString take 16 bytes each of it.
	MaxAttribute = MaxMessage
	// MaxMessage is the greatest size in bytes of a fill value, and of what describes a type. The
	// length of what a header says of one thing has two bytes.
	MaxMessage = 60 << 10
	// MaxAttributes is how many attributes a group or array has at most, which are numbered in two
	// bytes. The file has some of its own.
	MaxAttributes = 60000
)

// Naming says which name is kept where an array is called as a dimension, and is not its
// coordinates.
type Naming uint8

// Programs that know HDF5 alone find an array by its name. The netCDF library finds both: it knows
// that an array has another name in the file.
const (
	KeepDatasets   Naming = iota // the dimension gets a number behind its name
	KeepDimensions               // the array gets a prefix, as the netCDF library writes it
)

// ErrTooLarge says that the datasets have more bytes than a file can have.
var ErrTooLarge = errors.New("more bytes than a file can have")

// Layout lays out a file with that root behind a user block, whose length is 0 or a power of two
// from 512.
func Layout(root *Group, userblock []byte, naming Naming) (*File, error) {
	if n := len(userblock); n != 0 && (n < 512 || bits.OnesCount(uint(n)) != 1) {
		return nil, fmt.Errorf(
			"hdf5: a user block of %d bytes: expected a power of two from 512",
			n,
		)
	}
	if err := root.check(""); err != nil {
		return nil, err
	}
	w := newWriter(root, int64(len(userblock)), naming)
	w.write() // finds the sizes, which do not depend on addresses
	f, err := w.place()
	if err != nil {
		return nil, err
	}
	f.Meta = append(append([]byte{}, userblock...), w.write()...)
	return f, nil
}

// IsMetadata reports whether the metadata from off on say what p says. libhdf5 marks the superblock
// while it has a file open for writing: that mark, and the checksum with it, does not count.
func (f *File) IsMetadata(p []byte, off int64) bool {
	if off < 0 || off > int64(len(f.Meta))-int64(len(p)) {
		return false
	}
	const flags, checksum = 11, superblockSize - 4
	for i, b := range p {
		at := off + int64(i) - f.base
		isMark := at == flags || at >= checksum && at < superblockSize
		if b != f.Meta[off+int64(i)] && !isMark {
			return false
		}
	}
	return true
}

// check refuses what a file cannot say.
func (g *Group) check(path string) error {
	seen := make(map[string]bool)
	for _, d := range g.Datasets {
		if err := checkName(path, d.Name, seen); err != nil {
			return err
		}
		if err := d.Check(); err != nil {
			return fmt.Errorf("hdf5: %s: %w", path+"/"+d.Name, err)
		}
	}
	if err := checkAttributes(g.Attributes); err != nil {
		return fmt.Errorf("hdf5: %s/: %w", path, err)
	}
	for _, sub := range g.Groups {
		if err := checkName(path, sub.Name, seen); err != nil {
			return err
		}
		if err := sub.check(path + "/" + sub.Name); err != nil {
			return err
		}
	}
	return nil
}

func checkName(path, name string, seen map[string]bool) error {
	if name == "" || name == "." || len(name) > math.MaxUint16/2 ||
		strings.ContainsAny(name, "/\x00") {
		return fmt.Errorf("hdf5: %s: %q cannot be a name", path, name)
	}
	if seen[name] {
		return fmt.Errorf("hdf5: %s: expected distinct names, found %q twice", path, name)
	}
	seen[name] = true
	return nil
}

// Check returns why a file cannot have the dataset; nil if it can.
func (d *Dataset) Check() error {
	switch {
	case len(d.Shape) > MaxRank:
		return fmt.Errorf("%d axes, expected at most %d", len(d.Shape), MaxRank)
	case d.Dimensions != nil && len(d.Dimensions) != len(d.Shape):
		return fmt.Errorf("%d names of %d axes", len(d.Dimensions), len(d.Shape))
	case d.Type.size <= 0 || d.Type.isVariable:
		return errors.New("a type without a fixed size")
	case len(d.Type.message) > MaxMessage:
		return fmt.Errorf("a type that takes %d bytes to say, expected at most %d",
			len(d.Type.message), MaxMessage)
	case len(d.Fill) > MaxMessage:
		return fmt.Errorf("a fill value of %d bytes, expected at most %d", len(d.Fill), MaxMessage)
	case d.Fill != nil && len(d.Fill) != d.Type.size:
		return fmt.Errorf("a fill value of %d bytes, expected %d", len(d.Fill), d.Type.size)
	}
	n, err := d.bytes()
	if err != nil {
		return fmt.Errorf("the shape %v: %w", d.Shape, err)
	}
	if d.Chunk != nil && !FitsChunk(d.Chunk, d.Type, len(d.Shape)) {
		return fmt.Errorf("chunks of shape %v", d.Chunk)
	}
	if d.Inline != nil && (int64(len(d.Inline)) != n || n > MaxMessage) {
		return fmt.Errorf("%d bytes of an array of %d, expected at most %d",
			len(d.Inline), n, MaxMessage)
	}
	return checkAttributes(d.Attributes)
}

func checkAttributes(all []Attribute) error {
	if len(all) > MaxAttributes {
		return fmt.Errorf("%d attributes, at most %d", len(all), MaxAttributes)
	}
	seen := make(map[string]bool)
	for _, a := range all {
		if a.Name == "" || strings.ContainsRune(a.Name, 0) || seen[a.Name] {
			return fmt.Errorf("%q cannot be the name of one attribute", a.Name)
		}
		if n := a.Size(); n > MaxAttribute {
			return fmt.Errorf("attribute %q of %d bytes, at most %d", a.Name, n, MaxAttribute)
		}
		seen[a.Name] = true
	}
	return nil
}

// isChunked reports whether the dataset has chunks. One without elements has none.
func (d *Dataset) isChunked() bool { return d.Chunk != nil && !slices.Contains(d.Shape, 0) }

// FitsChunk reports whether a dataset of that rank can have chunks of that shape. They may have
// less than 4 GiB.
func FitsChunk(chunk []int64, t Type, rank int) bool {
	size := int64(t.size)
	for _, n := range chunk {
		if n <= 0 || n > math.MaxUint32/size {
			return false
		}
		size *= n
	}
	return rank > 0 && len(chunk) == rank
}

// bytes returns how many bytes the dataset has.
func (d *Dataset) bytes() (int64, error) {
	size := uint64(d.Type.size)
	overflow := false
	for i, n := range d.Shape {
		if d.Chunk != nil && n > 0 {
			n = (n-1)/d.Chunk[i] + 1 // chunks
			size *= uint64(d.Chunk[i])
		}
		if n < 0 {
			return 0, fmt.Errorf("the length %d", n)
		}
		if n == 0 {
			return 0, nil
		}
		hi, lo := bits.Mul64(size, uint64(n))
		overflow = overflow || hi != 0 || lo > math.MaxInt64
		size = lo
	}
	if overflow {
		return 0, ErrTooLarge
	}
	return int64(size), nil
}
