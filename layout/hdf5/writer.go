package hdf5

import (
	"encoding/binary"
	"fmt"
	"math"
)

// writer makes the metadata of a file. It writes them twice: at first with no address, to find how
// long everything is.
type writer struct {
	root       *Group
	base       int64 // length of the user block
	naming     Naming
	scopes     map[*Group]*scope
	axes       map[*Dataset][]*scale
	dimensions int
	types      []Type // committed ones

	// Of what has been written: *Group, *Dataset, *scale, typeName, *collection.
	addresses map[any]uint64
	data      map[*Dataset]uint64
	end       uint64 // of the file
	heap      heap
	spots     []uint64 // addresses of the collections of the heap
	out       []byte
}

// typeName is the name of a committed type.
type typeName string

func newWriter(root *Group, base int64, naming Naming) *writer {
	w := &writer{
		root:      root,
		base:      base,
		naming:    naming,
		scopes:    make(map[*Group]*scope),
		axes:      make(map[*Dataset][]*scale),
		addresses: make(map[any]uint64),
		data:      make(map[*Dataset]uint64),
	}
	w.findScales(root, nil)
	w.findTypes(root)
	return w
}

// findTypes collects the types that the root group names.
func (w *writer) findTypes(g *Group) {
	for _, d := range g.Datasets {
		known := d.Type.committed == ""
		for _, t := range w.types {
			known = known || t.equal(d.Type)
		}
		if !known {
			w.types = append(w.types, d.Type)
		}
	}
	for _, sub := range g.Groups {
		w.findTypes(sub)
	}
}

// write returns the metadata, by the addresses that are known.
func (w *writer) write() []byte {
	w.out = make([]byte, superblockSize)
	w.heap = heap{known: make(map[string]heapSpot)}
	for _, t := range w.types {
		var h header
		h.add(msgDatatype, 0, t.message)
		w.put(typeName(t.committed), h.bytes())
	}
	w.writeGroup(w.root)
	w.spots = w.spots[:0]
	for _, c := range w.heap.collections {
		w.spots = append(w.spots, w.place8(c.bytes()))
	}
	copy(w.out, superblock(uint64(w.base), w.end, w.addresses[w.root]))
	return w.out
}

// put writes an object header and notes where it is.
func (w *writer) put(key any, b []byte) { w.addresses[key] = w.place8(b) }

// place8 writes b at a multiple of 8 and returns where.
func (w *writer) place8(b []byte) (at uint64) {
	w.out = pad(w.out, 8)
	at = uint64(len(w.out))
	w.out = append(w.out, b...)
	return at
}

// place gives each dataset its stretch of the file, behind the metadata.
func (w *writer) place() (*File, error) {
	end := w.base + int64(len(w.out))
	f, err := w.placeFrom(end)
	if err == nil && f.Size-end >= gapWorth {
		f, err = w.placeFrom(max(headLeast, end+ahead))
	}
	if err != nil {
		return nil, err
	}
	w.end = uint64(f.Size) // of all addresses, this one counts from the first byte of the file
	return f, nil
}

// placeFrom places the datasets from that byte of the file on.
func (w *writer) placeFrom(at int64) (*File, error) {
	f := &File{base: w.base}
	err := w.placeGroup(w.root, f, &at)
	f.Size = at
	return f, err
}

func (w *writer) placeGroup(g *Group, f *File, at *int64) error {
	for _, d := range g.Datasets {
		size, err := d.bytes()
		if err != nil {
			return err
		}
		if size == 0 || d.Inline != nil {
			continue
		}
		align := int64(smallAlign)
		if size >= largeData {
			align = dataAlign
		}
		off := *at + (align-*at%align)%align
		if off > math.MaxInt64-size {
			return fmt.Errorf("hdf5: %w", ErrTooLarge)
		}
		w.data[d] = uint64(off - w.base)
		f.Extents = append(f.Extents, Extent{off, size, d})
		*at = off + size
	}
	for _, sub := range g.Groups {
		if err := w.placeGroup(sub, f, at); err != nil {
			return err
		}
	}
	return nil
}

// writeGroup writes what a group holds, and then its header with links to all that.
func (w *writer) writeGroup(g *Group) {
	s := w.scopes[g]
	var links [][2]any // name and key
	if g == w.root {
		for _, t := range w.types {
			links = append(links, [2]any{w.typeLink(t), typeName(t.committed)})
		}
	}
	for _, x := range s.order {
		if x.variable == nil {
			w.put(x, w.emptyScale(x))
			links = append(links, [2]any{x.name, x})
		} else {
			w.put(x.variable, w.dataset(x.variable, x))
			links = append(links, [2]any{x.name, x.variable})
		}
	}
	for _, d := range g.Datasets {
		if x := s.scales[d.Name]; x == nil || x.variable != d {
			w.put(d, w.dataset(d, nil))
			links = append(links, [2]any{s.linkName(d), d})
		}
	}
	for _, sub := range g.Groups {
		w.writeGroup(sub)
		links = append(links, [2]any{sub.Name, sub})
	}
	w.put(g, w.group(g, links))
}

// typeLink returns the name of a committed type that nothing else in the root group has.
func (w *writer) typeLink(t Type) string {
	taken := func(name string) bool {
		s := w.scopes[w.root]
		for _, d := range w.root.Datasets {
			if s.linkName(d) == name {
				return true
			}
		}
		return s.names[name] || s.scales[name] != nil
	}
	name := t.committed
	for n := 1; taken(name); n++ {
		name = fmt.Sprintf("%s_%d", t.committed, n)
	}
	return name
}

func (w *writer) group(g *Group, links [][2]any) []byte {
	var h header
	h.add(msgLinkInfo, 0, linkInfo(len(links)))
	h.add(msgGroupInfo, isConstant, []byte{0, 0})
	for i, l := range links {
		h.add(msgLink, 0, link(l[0].(string), i, w.addresses[l[1]]))
	}
	w.attributes(&h, g.Attributes)
	return h.bytes()
}

// dataset returns the header of a dataset, which has the coordinates of x unless that is nil.
func (w *writer) dataset(d *Dataset, x *scale) []byte {
	var h header
	address := uint64(undefined)
	size, _ := d.bytes() // it was checked
	if size > 0 {
		address = w.data[d]
	}
	layout := contiguous(address, size)
	switch {
	case d.Inline != nil:
		layout = compact(d.Inline)
	case d.isChunked():
		layout = chunked(address, d.Chunk, d.Type.size)
	}
	shape := d.Shape
	if len(shape) == 0 {
		shape = nil // a scalar
	}
	w.begin(&h, shape, d.Type, fillMessage(d.Fill, d.isChunked()), layout)
	if x != nil {
		w.scaleAttributes(&h, x, x.name)
	} else if axes := w.axes[d]; axes != nil {
		shape, list := []int64{int64(len(axes))}, w.dimensionList(axes)
		h.add(msgAttribute, 0, attribute("DIMENSION_LIST", references, shape, list))
	}
	if w.isRenamed(d) {
		w.attributes(
			&h,
			[]Attribute{
				{
					Name:    originalNames,
					Type:    VarString,
					Shape:   []int64{int64(len(d.Dimensions))},
					Strings: d.Dimensions,
				},
			},
		)
	}
	w.attributes(&h, d.Attributes)
	return h.bytes()
}

// begin adds the messages that each dataset has.
func (w *writer) begin(h *header, shape []int64, t Type, fill, layout []byte) {
	h.add(msgDataspace, 0, dataspace(shape))
	if t.committed == "" {
		h.add(msgDatatype, isConstant, t.message)
	} else {
		const inHeader = 2
		at := w.addresses[typeName(t.committed)]
		h.add(msgDatatype, isConstant|isShared, appendAddress([]byte{3, inHeader}, at))
	}
	h.add(msgFill, 0, fill)
	h.add(msgLayout, 0, layout)
}

// appendSpot appends an element that is n items in the heap.
func (w *writer) appendSpot(b []byte, n int, spot heapSpot) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(n))
	b = appendAddress(b, w.spotAddress(spot))
	return binary.LittleEndian.AppendUint32(b, spot.number)
}

// spotAddress returns the address of a collection, which is not known at first.
func (w *writer) spotAddress(spot heapSpot) uint64 {
	for i, c := range w.heap.collections {
		if c == spot.in && i < len(w.spots) {
			return w.spots[i]
		}
	}
	return 0
}

// attributes adds the attributes of a group or dataset.
func (w *writer) attributes(h *header, all []Attribute) {
	for _, a := range all {
		data := a.Data
		if a.Type.isVariable {
			data = w.strings(a.Strings)
		}
		h.add(msgAttribute, 0, attribute(a.Name, a.Type, a.Shape, data))
	}
}

// strings puts strings into the heap and returns the elements that say where they are. An empty one
// is an object too: without one programs in C get no string but a null pointer, as R and CDO do.
func (w *writer) strings(all []string) (b []byte) {
	for _, s := range all {
		b = w.appendSpot(b, len(s), w.heap.put([]byte(s)))
	}
	return b
}

// attribute returns the message of an attribute (IV.A.2.m).
func attribute(name string, t Type, shape []int64, data []byte) []byte {
	const isUTF8 = 1
	space := dataspace(shape)
	b := []byte{3, 0}
	for _, n := range []int{len(name) + 1, len(t.message), len(space)} {
		b = binary.LittleEndian.AppendUint16(b, uint16(n))
	}
	b = append(append(b, isUTF8), name...)
	b = append(append(append(b, 0), t.message...), space...)
	return append(b, data...)
}

// Size returns the bytes of the attribute's message, at most.
func (a Attribute) Size() int {
	n := len(a.Data)
	if a.Type.isVariable {
		n = referenceToHeap * len(a.Strings)
	}
	return n + len(a.Name) + len(a.Type.message) + 8*len(a.Shape) + 16
}
