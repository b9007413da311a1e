package codec

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/vlen"
)

// Vlen is the codec chain of an array whose elements have no fixed size. It is safe for concurrent
// use.
//
// Somewhere in such a chain stands a codec that makes bytes of the elements (a form). Before it
// there can only be codecs that move elements, and what stands behind it sees bytes of unknown
// size.
type Vlen struct {
	levels *Chain // finds the chunks of shards; it has no pipeline
	count  int64  // elements of a chunk
	moves  []movement
	form   form
	steps  []vlenStep // behind the form, in the order of encoding; run backwards
	encs   []step     // those that encode
	why    error      // why chunks cannot be encoded; nil if they can
	fill   *vlen.Elements
}

// movement is a transpose of elements, planned both ways.
type movement struct{ decode, encode permute }

// form is a codec that makes bytes of the elements of a chunk, bound to it.
type form interface {
	// least is the fewest bytes that a chunk of n elements can be encoded to.
	least(n int64) int64
	// decode returns the n elements that b holds. They may refer to b. ordered reports whether they
	// are in C order of the chunk's own shape, whatever order the chain has moved them to.
	decode(b []byte, n int64) (e *vlen.Elements, ordered bool, err error)
	// fill returns the fill value as an element by itself.
	fill(a *meta.Array) (*vlen.Elements, error)
	// writable returns nil if elements can be encoded, otherwise an errors.ErrUnsupported.
	writable() error
	// accepts refuses an element that decode would not give back.
	accepts(b []byte) error
	// encode appends the encoding of a chunk of elements to dst. moved reports whether they are no
	// longer in C order of the chunk's own shape.
	encode(dst []byte, e *vlen.Elements, moved bool) ([]byte, error)
}

// formBinder makes a codec's form for one chain, and returns the state after it.
type formBinder func(in state, cfg config) (form, state, error)

// vlenStep is a step, and the most bytes that it has decoded to so far.
type vlenStep struct {
	step
	most *atomic.Int64
}

// maxVlen is the most bytes that a chunk may decode to: Spans have 32 bits.
const maxVlen = math.MaxUint32

// BindVlen binds the codecs of an array of type Object. Its errors are as those of Bind.
func BindVlen(a *meta.Array) (*Vlen, error) {
	r, err := bindVlen(a)
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return nil, fmt.Errorf("%w: %w", meta.ErrInvalid, err)
	}
	return r, err
}

func bindVlen(a *meta.Array) (*Vlen, error) {
	if a.Type.Kind != dtype.Object {
		return nil, fmt.Errorf("codec: expected a type whose elements have no fixed size, found %s",
			a.Type.NumPy())
	}
	st, err := arrayState(a)
	if err != nil {
		return nil, err
	}
	r := &Vlen{levels: &Chain{}}
	codecs, st, err := r.levels.bindLevels(a.Codecs, st)
	if err != nil {
		return nil, err
	}
	r.levels.shape = st.begin
	r.levels.finishLevels(a.Chunk)
	if r.count, err = product(1, st.begin); err != nil {
		return nil, err
	}
	if err := r.bindChunk(codecs, st); err != nil {
		return nil, err
	}
	r.fill, err = r.form.fill(a)
	return r, err
}

// bindChunk binds the codecs of one chunk, from the state before the first.
func (r *Vlen) bindChunk(codecs []meta.Codec, st state) error {
	order := chainOrder{v2: st.v2}
	for _, c := range codecs {
		e, err := lookupVlen(c.Name)
		if err == nil {
			err = order.next(e.kind)
		}
		if err == nil {
			st, err = r.bindOne(c, e, st)
		}
		if err != nil {
			return fmt.Errorf("codec %q: %w", c.Name, err)
		}
	}
	if r.form == nil {
		return fmt.Errorf("codecs: expected one for elements of type %q, which have no fixed "+
			"size, as vlen-utf8; found none: %w", st.typ.Name, errors.ErrUnsupported)
	}
	return order.end()
}

func (r *Vlen) bindOne(c meta.Codec, e entry, st state) (state, error) {
	switch {
	case r.form == nil && e.form != nil:
		f, after, err := e.form(st, configOf(c, st))
		if err != nil {
			return st, err
		}
		r.form = f
		if err := f.writable(); err != nil {
			r.why = cannotWrite(c.Name, err)
		}
		r.addMove(st)
		return after, nil
	case r.form == nil && st.v2 && e.kind == meta.ArrayToBytes:
		return st, nil // chains of version 2 always have it; a missing form is reported at the end
	case r.form == nil && c.Name != transposeName:
		st = r.addMove(st)
	}
	switch {
	case c.Name == shardingName:
		return st, notDecoded(
			"not decoded where elements have no fixed size and its chunks cannot be read apart")
	case e.bind == nil:
		return st, errors.New("stands after a codec that has made bytes of the elements")
	}
	s, after, err := e.bind(st, configOf(c, st))
	moves := s.move != nil || s.place != nil
	switch {
	case err != nil:
		return st, err
	case r.form == nil && (moves || !after.array):
		return st, notDecoded("not decoded where elements have no fixed size")
	case moves:
		s.name, s.size, s.limit = c.Name, st.size, st.limit
		r.steps = append(r.steps, vlenStep{s, &atomic.Int64{}})
		r.addEncoder(s)
	}
	return after, nil
}

// addMove plans one move of elements for all transposes so far, unless they move nothing.
func (r *Vlen) addMove(st state) state {
	if !st.array {
		return st
	}
	plan := newPermute(st.begin, st.axes, spanSize)
	if !plan.isIdentity() {
		r.moves = append(r.moves, movement{plan, newTranspose(st.begin, st.axes, spanSize)})
	}
	st.begin, st.axes = st.shape, identityAxes(len(st.shape))
	return st
}

// spanSize is the memory of a Span: what is moved where elements are.
const spanSize = int64(unsafe.Sizeof(vlen.Span{}))

// encoded is the state behind a form whose bytes have no known size.
func (s state) encoded() state {
	s.array, s.size, s.limit = false, unknown, maxVlen
	return s
}

// Chunk is the shape, in the array's axes, of the chunk that can be decoded apart.
func (r *Vlen) Chunk() []int64 { return r.levels.shape }

// PerObject is how many chunks one object holds: 1 where it is not sharded.
func (r *Vlen) PerObject() int64 { return r.levels.PerObject() }

// IsSharded reports whether objects are shards.
func (r *Vlen) IsSharded() bool { return r.levels.IsSharded() }

// Shards finds the chunks of shards. It decodes none.
func (r *Vlen) Shards() *Chain { return r.levels }

// Count is the number of elements in a chunk.
func (r *Vlen) Count() int64 { return r.count }

// Fill is the fill value, as the only one of Elements.
func (r *Vlen) Fill() *vlen.Elements { return r.fill }

// Decode decodes the chunk of that number, counted in C order of the array's axes within the
// object. It takes at most about three times limit bytes of memory. It fails with
// compress.ErrTooLarge where the elements, or what they are decoded from, have more than limit.
// ErrEmpty says that the shard has no such chunk.
func (r *Vlen) Decode(src Source, inner, limit int64) (*vlen.Elements, error) {
	if err := r.levels.checkInner(inner); err != nil {
		return nil, err
	}
	limit = min(limit, maxVlen)
	if err := r.Fits(limit); err != nil {
		return nil, err
	}
	s, err := r.levels.find(src, inner)
	if err != nil {
		return nil, err
	}
	if s.n > limit {
		return nil, fmt.Errorf("%w: %d encoded bytes, expected at most %d",
			compress.ErrTooLarge, s.n, limit)
	}
	b := make([]byte, s.n)
	if err := s.read(b, 0); err != nil {
		return nil, err
	}
	for i := len(r.steps) - 1; i >= 0; i-- {
		if b, err = r.steps[i].unpack(b, limit); err != nil {
			return nil, fmt.Errorf("codec %q: %w", r.steps[i].name, err)
		}
	}
	return r.elements(b)
}

// Fits returns compress.ErrTooLarge if limit bytes cannot hold the elements of a chunk, even the
// shortest ones.
func (r *Vlen) Fits(limit int64) error {
	if least := r.form.least(r.count); least > limit/2 || r.count > limit/(2*spanSize) {
		return fmt.Errorf("%w: a chunk of %d elements, expected at most %d bytes",
			compress.ErrTooLarge, r.count, limit)
	}
	return nil
}

// elements returns the elements that the form's bytes hold, in C order.
func (r *Vlen) elements(b []byte) (*vlen.Elements, error) {
	e, ordered, err := r.form.decode(b, r.count)
	if err != nil {
		return nil, err
	}
	for i := len(r.moves) - 1; i >= 0 && !ordered; i-- {
		e.Spans = moved(&r.moves[i].decode, e.Spans)
	}
	return e, nil
}

// moved returns spans in the order of a plan.
func moved(plan *permute, spans []vlen.Span) []vlen.Span {
	out := make([]vlen.Span, len(spans))
	plan.run(spanMemory(out), spanMemory(spans))
	return out
}

// spanMemory returns the memory of spans, as bytes.
func spanMemory(spans []vlen.Span) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(spans))),
		spanSize*int64(len(spans)))
}

// unpack decodes b, to at most limit bytes. Only decoding shows how many they are, so it is tried
// with more and more memory. Chunks of an array are much alike, and the first try has room for the
// largest one so far.
func (s *vlenStep) unpack(b []byte, limit int64) ([]byte, error) {
	if s.place != nil {
		return s.place.decodeInPlace(b)
	}
	limit = min(limit, s.limit)
	room := s.most.Load()
	if room == 0 {
		room = max(4*int64(len(b)), 4<<10)
	}
	for ; ; room *= 4 {
		room = min(room, limit)
		out, err := s.try(b, room)
		if err == nil || room == limit || !errors.Is(err, compress.ErrTooLarge) {
			return out, err
		}
	}
}

// try decodes b to at most room bytes.
func (s *vlenStep) try(b []byte, room int64) ([]byte, error) {
	mem := getBuffer(room)
	defer mem.release()
	n, err := s.move.decode(mem.b[:room], b)
	if err := s.check(n, err); err != nil {
		return nil, err
	}
	for was := s.most.Load(); int64(n) > was && !s.most.CompareAndSwap(was, int64(n)); {
		was = s.most.Load()
	}
	return slices.Clone(mem.b[:n]), nil
}
