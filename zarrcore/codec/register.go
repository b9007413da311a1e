package codec

import (
	"errors"
	"fmt"

	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
)

// A binder makes a codec's step for one chain. in is what the codec was given when it encoded, so
// what the step decodes to. The state returned is what the codec made of it. A zero step means that
// decoding moves and changes no byte.
type binder func(in state, cfg config) (step, state, error)

// entry is a registered codec.
type entry struct {
	kind meta.CodecKind
	bind binder
	form formBinder // for codecs that make bytes of elements without a fixed size
	need string     // for codecs known but not decoded: what decoding them would need
}

var registry = map[string]entry{}

// register makes a codec decodable. It is called by its name in v3's codecs; those of v2 are called
// numcodecs.<id>. The name has a row in meta's table of codecs.
func register(name string, b binder) {
	registry[name] = entry{kind: meta.Codec{Name: name}.Kind(), bind: b}
}

// registerForm makes a codec known that is for elements without a fixed size; it may be registered
// for others too.
func registerForm(name string, f formBinder) {
	e := registry[name]
	e.kind, e.form = meta.Codec{Name: name}.Kind(), f
	registry[name] = e
}

// refuse makes a codec known as one that is not decoded, and says what decoding it would need.
func refuse(name, need string) { registry[name] = entry{need: need} }

// lookup finds a codec, or says why there is none.
func lookup(name string) (entry, error) {
	e, known := registry[name]
	switch {
	case !known:
		return e, notDecoded("unknown to this version of zarrfs")
	case e.form != nil && e.bind == nil:
		return e, notDecoded("not decoded, it is for elements that have no fixed size")
	case e.bind == nil:
		return e, notDecoded("not decoded, " + e.need)
	}
	return e, nil
}

// lookupVlen is lookup for elements that have no fixed size.
func lookupVlen(name string) (entry, error) {
	if e := registry[name]; e.form != nil {
		return e, nil
	}
	return lookup(name)
}

// notDecoded is an errors.ErrUnsupported with a text of its own.
type notDecoded string

func (e notDecoded) Error() string { return string(e) }

// Is makes errors.Is find errors.ErrUnsupported.
func (e notDecoded) Is(target error) bool { return target == errors.ErrUnsupported }

// unknown is a size in bytes that is known only after decoding.
const unknown = -1

// state is what an array has become after some of a chain's codecs.
type state struct {
	// filters of v2 see the buffer of the step before, in the byte order of their dtype
	v2    bool
	order dtype.Order // v3: the order of every number, that of the bytes codec to come

	array bool       // it has a shape; false once it is bytes
	mixed bool       // its bytes are no longer elements one after the other
	typ   dtype.Type // of the array's elements
	shape []int64
	// the state's axis i is axis axes[i] of the array that the pipeline began with, or newAxis
	axes  []int
	recut bool    // axes were cut or joined, and begin and axes count from there
	fill  []byte  // one element; nil where a filter has made it unknown
	begin []int64 // shape with the axes in their first order
	depth int     // shards around it
	ends  bool    // objects end where the array does: one may be longer than expected

	size  int64 // bytes, or unknown
	limit int64 // the most bytes it can be; equal to size where that is known
}

// newAxis stands for an axis of length 1 that a reshape added.
const newAxis = -1

// arrayState is the state at the head of a chain.
func arrayState(a *meta.Array) (state, error) {
	order, err := meta.ByteOrder("codecs", a.Codecs)
	if err != nil {
		return state{}, err
	}
	size, err := product(a.Type.Size, a.Chunk)
	if err != nil {
		return state{}, err
	}
	return state{
		v2: a.Format < 3, order: order,
		array: true, typ: a.Type, shape: a.Chunk, axes: identityAxes(len(a.Chunk)), fill: a.Fill,
		begin: a.Chunk,
		size:  size, limit: size, ends: len(a.Bounded) > 0 && a.Chunk[0] < a.Bounded[0],
	}, nil
}

// bytes is the state after a codec that adds a number of bytes, or removes some if it is negative.
// The size is known if it was known before.
func (s state) bytes(more int64) state {
	s.array, s.mixed = false, true
	if s.size != unknown {
		s.size += more
	}
	s.limit += more
	return s
}

// compressed is the state after a compressor. Whatever it is given, it adds less than a 32nd and
// 256 bytes. That covers every format except bz2 and base64, also in frames or blocks of a few KiB.
func (s state) compressed() state {
	s.array, s.mixed, s.size = false, true, unknown
	s.limit += s.limit/32 + 256
	return s
}

// retyped is the state after a filter that made n numbers of another type.
func (s state) retyped(t dtype.Type, n int64) state {
	if !s.array || n*s.typ.Size != s.size {
		s.array = true
		s.shape, s.begin, s.axes, s.recut = []int64{n}, []int64{n}, identityAxes(1), true
	}
	if t.Kind != s.typ.Kind || t.Size != s.typ.Size || t.Order != s.typ.Order {
		s.fill = nil
	}
	s.typ, s.size, s.limit, s.mixed = t, n*t.Size, n*t.Size, false
	return s
}

// item is how many bytes lie between equal places of what a compressor is given.
func (s state) item() int64 {
	if s.mixed {
		return 1
	}
	return s.typ.Size
}

func identityAxes(n int) []int {
	axes := make([]int, n)
	for i := range axes {
		axes[i] = i
	}
	return axes
}

// maxSize is the most bytes that a chunk may be said to have. No machine has that much memory, and
// sums of sizes fit int64.
const maxSize = 1 << 56

// product multiplies elem by all lengths, refusing what no int64 holds.
func product(elem int64, shape []int64) (int64, error) {
	n := elem
	for _, d := range shape {
		if d < 0 {
			return 0, fmt.Errorf("chunk shape %v has a negative length", shape)
		}
		if d != 0 && n > maxSize/d {
			return 0, fmt.Errorf("chunk shape %v of %d-byte elements is too large", shape, elem)
		}
		n *= d
	}
	return n, nil
}
