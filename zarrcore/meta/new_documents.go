package meta

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// Document is one document of an array or group, as it is to be stored.
type Document struct {
	Name string // zarr.json, .zarray, .zattrs or .zgroup: the last element of its key
	Data []byte
}

// The names of the documents.
const (
	NameV3    = "zarr.json"
	NameArray = ".zarray"
	NameGroup = ".zgroup"
	NameAttrs = ".zattrs"
)

// IsDocument reports whether name is that of a document of a node, of version 2 or 3.
func IsDocument(name string) bool {
	switch name {
	case NameV3, NameArray, NameGroup, NameAttrs, NameConsolidated:
		return true
	}
	return false
}

// The names of the axes are a member of version 3's document, and in versions 1 and 2 an attribute
// of xarray's. The document that is shown has the member in either case.
const (
	axesMember = "dimension_names"
	axesOfV2   = "_ARRAY_DIMENSIONS"
)

// Spec is what a new array is to be.
type Spec struct {
	Format int // 2 or 3

	// Shape, Chunk and Shard are lengths in elements, one for each axis. Shard is nil for no
	// sharding; otherwise an object holds Shard and Chunk is an inner chunk.
	Shape, Chunk, Shard []int64

	Type dtype.Type
	Fill []byte // one element in Type's byte order; nil: zero bytes

	// NoFill makes a fill_value of null. Format 2 alone has null, and it reads as zero bytes; Fill
	// does not count then. xarray takes any other fill_value of format 2 for one that marks missing
	// values.
	NoFill bool

	// Codecs is the chain of one chunk, as in version 3. A chain without a codec from arrays to
	// bytes gets the bytes codec. The byte order in the chain is that of Type: a codec that says
	// big for a little-endian Type is an error. Format 2 has the codecs named numcodecs.ID alone,
	// and "bytes".
	Codecs []Codec

	// Order is 'C' or 'F': the array is shown in that order, see Array.IsInFortranOrder. If Codecs
	// begins with a transpose, the elements of a chunk are stored as the transpose says, whatever
	// Order is. Otherwise the elements are stored in that order, too. 0 leaves the order to Codecs.
	Order byte

	Separator      byte     // of chunk keys; 0: '.' in format 2, '/' in format 3
	DimensionNames []string // nil: none; "" is null. In format 2 the attribute _ARRAY_DIMENSIONS
	Attributes     pyjson.Value
}

// Documents returns the array's documents, as zarr-python 3 writes them: one in format 3, two in
// format 2. The errors wrap ErrInvalid, or errors.ErrUnsupported for what the format cannot say.
func (s Spec) Documents() ([]Document, error) {
	if s.Fill == nil {
		s.Fill = make([]byte, s.Type.Size)
	}
	switch s.Format {
	case 2:
		s.Order = cmp.Or(s.Order, 'C')
		return s.documentsV2()
	case 3:
		return s.documentsV3()
	}
	return nil, &Error{Member: "zarr_format", Expected: "2 or 3", Found: strconv.Itoa(s.Format),
		Kind: errors.ErrUnsupported}
}

// GroupDocuments returns the documents of a group of format 2 or 3 with attributes, which may be
// absent.
func GroupDocuments(format int, attributes pyjson.Value) []Document {
	if format == 2 {
		group := pyjson.Empty.With("zarr_format", pyjson.IntOf(2))
		return []Document{{NameGroup, written(group)}, {NameAttrs, written(orEmpty(attributes))}}
	}
	group := pyjson.Empty.
		With("attributes", orEmpty(attributes)).
		With("zarr_format", pyjson.IntOf(3)).
		With("node_type", pyjson.StringOf("group"))
	return []Document{{NameV3, written(group)}}
}

// separator returns the separator of chunk keys.
func (s Spec) separator() pyjson.Value {
	switch {
	case s.Separator != 0:
		return pyjson.StringOf(string(rune(s.Separator)))
	case s.Format == 2:
		return pyjson.StringOf(".")
	}
	return pyjson.StringOf("/")
}

func (s Spec) documentsV3() ([]Document, error) {
	dataType, err := s.Type.SpellV3()
	if err != nil {
		return nil, because("data_type", err)
	}
	fill, err := dtype.FillV3.Spell(s.Type, s.Fill)
	if err != nil {
		return nil, because("fill_value", err)
	}
	codecs, err := s.codecsV3()
	if err != nil {
		return nil, err
	}
	object := s.Chunk
	if s.Shard != nil {
		object = s.Shard
	}
	root := pyjson.Empty.
		With("shape", pyjson.IntsOf(s.Shape)).
		With("data_type", dataType).
		With("chunk_grid",
			extensionOf("regular", pyjson.Empty.With("chunk_shape", pyjson.IntsOf(object)))).
		With("chunk_key_encoding",
			extensionOf("default", pyjson.Empty.With("separator", s.separator()))).
		With("fill_value", fill).
		With("codecs", codecs).
		With("attributes", orEmpty(s.Attributes))
	if s.DimensionNames != nil {
		root = root.With(axesMember, axisList(s.DimensionNames))
	}
	doc := written(root.
		With("zarr_format", pyjson.IntOf(3)).
		With("node_type", pyjson.StringOf("array")).
		With("storage_transformers", pyjson.ArrayOf()))
	a, _, err := ParseV3(doc)
	if err == nil {
		err = s.checkShard()
	}
	return []Document{{NameV3, doc}}, s.check(a, err)
}

// check holds that the documents read as the array they were to describe.
func (s Spec) check(a *Array, err error) error {
	if err != nil {
		return err
	}
	if a.Type.Descr() != s.Type.Descr() {
		return &Error{Member: "dtype", Expected: s.Type.NumPy(),
			Found: "in format " + strconv.Itoa(s.Format) + " " + a.Type.NumPy(),
			Kind:  errors.ErrUnsupported}
	}
	if s.Order != 0 && !a.HasOrder(s.Order == 'F') {
		return &Error{Member: "codecs", Expected: "codecs of an array in order " + string(s.Order),
			Found: "those of the other order", Kind: errors.ErrUnsupported}
	}
	return nil
}

// checkShard holds that a shard is cut into whole chunks.
func (s Spec) checkShard() error {
	if s.Shard == nil {
		return nil
	}
	if len(s.Chunk) != len(s.Shard) {
		return &Error{Member: "chunk_shape", Expected: fmt.Sprintf("%d lengths", len(s.Shard)),
			Found: fmt.Sprint(s.Chunk), Kind: ErrInvalid}
	}
	for i, n := range s.Chunk {
		if n < 1 || s.Shard[i]%n != 0 {
			return &Error{Member: fmt.Sprintf("chunk_shape[%d]", i),
				Expected: fmt.Sprintf("a divisor of the shard's %d", s.Shard[i]),
				Found:    strconv.FormatInt(n, 10), Kind: ErrInvalid}
		}
	}
	return nil
}

// codecsV3 writes the chain, within a shard if there are shards.
func (s Spec) codecsV3() (pyjson.Value, error) {
	chain := slices.Clone(s.Codecs)
	at := slices.IndexFunc(chain, func(c Codec) bool { return c.Kind() == ArrayToBytes })
	if at < 0 {
		if at = slices.IndexFunc(chain, func(c Codec) bool {
			return c.Kind() == BytesToBytes
		}); at < 0 {
			at = len(chain)
		}
		chain = slices.Insert(chain, at, Codec{Name: "bytes"})
	}
	if chain[at].Name == "bytes" {
		order, err := s.Type.ByteOrder()
		if err != nil {
			return pyjson.Value{}, because("data_type", err)
		}
		if err := checkEndian(chain[at], order); err != nil {
			return pyjson.Value{}, err
		}
		chain[at].Config = endianOf(order)
	}
	if s.Order != 0 {
		chain = inOrder(chain, len(s.Shape), s.Order)
	}
	if s.Shard != nil {
		return pyjson.ArrayOf(s.sharding(chain)), nil
	}
	return codecList(chain), nil
}

// checkEndian refuses a bytes codec that is to store big-endian what is little-endian: the views
// show what is stored, so that what is copied in would not read back as it was. That a list of
// codecs says little, as most do, does not matter to a big-endian type.
func checkEndian(c Codec, order dtype.Order) error {
	if v := c.Config.Get("endian"); order == dtype.Little && v.Text() == "big" {
		return &Error{Member: "codecs", Expected: `an endian of "little", as the data type has it`,
			Found: show(v), Kind: ErrInvalid}
	}
	return nil
}

// endianOf is the configuration of a bytes codec.
func endianOf(o dtype.Order) pyjson.Value {
	switch o {
	case dtype.Little:
		return pyjson.Empty.With("endian", pyjson.StringOf("little"))
	case dtype.Big:
		return pyjson.Empty.With("endian", pyjson.StringOf("big"))
	}
	return pyjson.Value{}
}

// sharding is the codec of shards whose chunks go through a chain.
func (s Spec) sharding(chain []Codec) pyjson.Value {
	index := codecList([]Codec{{"bytes", endianOf(dtype.Little)}, {Name: "crc32c"}})
	return extensionOf("sharding_indexed", pyjson.Empty.
		With("chunk_shape", pyjson.IntsOf(s.Chunk)).
		With("codecs", codecList(chain)).
		With("index_codecs", index).
		With("index_location", pyjson.StringOf("end")))
}

func codecList(chain []Codec) pyjson.Value {
	list := make([]pyjson.Value, len(chain))
	for i, c := range chain {
		list[i] = extensionOf(c.Name, c.Config)
	}
	return pyjson.ArrayOf(list...)
}

func (s Spec) documentsV2() ([]Document, error) {
	if s.Shard != nil {
		return nil, &Error{Member: "shards", Expected: "none in format 2",
			Found: fmt.Sprint(s.Shard), Kind: errors.ErrUnsupported}
	}
	typ, err := s.Type.SpellV2()
	if err != nil {
		return nil, because("dtype", err)
	}
	fill, err := s.fillV2()
	if err != nil {
		return nil, err
	}
	filters, compressor, err := s.codecsV2()
	if err != nil {
		return nil, err
	}
	doc := written(pyjson.Empty.
		With("shape", pyjson.IntsOf(s.Shape)).
		With("chunks", pyjson.IntsOf(s.Chunk)).
		With("dtype", typ).
		With("fill_value", fill).
		With("order", pyjson.StringOf(string(rune(s.Order)))).
		With("filters", filters).
		With("dimension_separator", s.separator()).
		With("compressor", compressor).
		With("zarr_format", pyjson.IntOf(2)))
	attributes := written(s.attributesV2())
	a, err := ParseV2Array(doc, attributes)
	return []Document{{NameArray, doc}, {NameAttrs, attributes}}, s.check(a, err)
}

func (s Spec) fillV2() (pyjson.Value, error) {
	if s.NoFill {
		return null, nil
	}
	fill, err := dtype.FillV2.Spell(s.Type, s.Fill)
	if err != nil {
		return null, because("fill_value", err)
	}
	return fill, nil
}

// attributesV2 is the attributes with the names of the axes as one of them, unless it is there
// already.
func (s Spec) attributesV2() pyjson.Value {
	object := orEmpty(s.Attributes)
	if s.DimensionNames == nil || object.Get(axesOfV2).Exists() {
		return object
	}
	return object.With(axesOfV2, axisList(s.DimensionNames))
}

// codecsV2 takes the chain apart: the last codec of bytes is the compressor, all before are
// filters.
func (s Spec) codecsV2() (filters, compressor pyjson.Value, err error) {
	filters, compressor = null, null
	var list []pyjson.Value
	for i, c := range s.Codecs {
		if c.Name == "bytes" { // the one place that format 2 has for it is between the two
			if order, err := s.Type.ByteOrder(); err == nil {
				if err := checkEndian(c, order); err != nil {
					return null, null, err
				}
			}
			continue
		}
		id, ok := strings.CutPrefix(c.Name, "numcodecs.")
		if !ok {
			return null, null, &Error{Member: "codecs", Expected: "codecs of format 2, which are " +
				"named numcodecs.ID", Found: strconv.Quote(c.Name), Kind: errors.ErrUnsupported}
		}
		v := idFirst(id, c.Config)
		if i == len(s.Codecs)-1 && c.Kind() == BytesToBytes {
			compressor = v
		} else {
			list = append(list, v)
		}
	}
	if list != nil {
		filters = pyjson.ArrayOf(list...)
	}
	return filters, compressor, nil
}

// idFirst is format 2's way to name a codec.
func idFirst(id string, config pyjson.Value) pyjson.Value {
	return pyjson.ObjectOf(func(yield func(string, pyjson.Value) bool) {
		if !yield("id", pyjson.StringOf(id)) {
			return
		}
		for key, value := range config.Entries() {
			if key != "id" && !yield(key, value) {
				return
			}
		}
	})
}
