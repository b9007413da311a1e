package codec

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
)

// mover is a bound codec that decodes from one memory into another, and returns how many bytes it
// wrote. dst is as long as the result may be; the bytes between its length and capacity may be
// overwritten.
type mover interface {
	decode(dst, src []byte) (int, error)
}

// placer is a bound codec that decodes in place. It returns the part of buf with the result.
type placer interface {
	decodeInPlace(buf []byte) ([]byte, error)
}

// step is one codec's part in a chain; a zero step changes nothing.
type step struct {
	move  mover // how it decodes: one of the two, or neither where nothing is to be done
	place placer
	enc   encoder // how it encodes; nil where there is nothing to do, or it cannot
	why   error   // why it cannot be encoded

	name  string
	size  int64 // bytes it decodes to, or unknown
	limit int64 // the most it may decode to
}

// decodes reports whether decoding has something to do.
func (s *step) decodes() bool { return s.move != nil || s.place != nil }

// pipeline decodes and encodes one separately stored chunk: all codecs of a chain, or all behind
// the sharding codecs.
type pipeline struct {
	steps   []step // those that decode, in the order of encoding; run backwards
	encs    []step // those that encode
	why     error  // why chunks cannot be encoded; nil if they can
	size    int64  // bytes decoded
	encoded state  // what the encoded bytes are
	moves   int    // steps that move bytes
}

// slack is how many bytes an object may exceed the longest sensible encoding, for formats that
// ignore trailing bytes.
const slack = 1 << 20

// bindPipeline binds codecs in the order of encoding, from the state before the first.
func bindPipeline(codecs []meta.Codec, in state) (*pipeline, error) {
	p := &pipeline{size: in.size}
	order := chainOrder{v2: in.v2}
	st := in
	for _, c := range codecs {
		e, err := lookup(c.Name)
		if err == nil {
			err = order.next(e.kind)
		}
		if err == nil {
			st, err = p.bind(c, e, st)
		}
		if err != nil {
			return nil, fmt.Errorf("codec %q: %w", c.Name, err)
		}
	}
	p.encoded = p.addMove(st)
	return p, order.end()
}

// bind appends one codec's step and returns the state after it.
func (p *pipeline) bind(c meta.Codec, e entry, st state) (state, error) {
	if c.Name != transposeName {
		st = p.addMove(st)
	}
	s, after, err := e.bind(st, configOf(c, st))
	if err != nil {
		return st, err
	}
	p.add(s, c.Name, st)
	return after, nil
}

func (p *pipeline) add(s step, name string, before state) {
	s.name, s.size, s.limit = name, before.size, before.limit
	p.addEncoder(s)
	if !s.decodes() {
		return
	}
	p.steps = append(p.steps, s)
	if s.move != nil {
		p.moves++
	}
}

// addMove makes one step of all transposes so far, unless they move nothing.
func (p *pipeline) addMove(st state) state {
	if !st.array {
		return st
	}
	plan := newPermute(st.begin, st.axes, st.typ.Size)
	if !plan.isIdentity() {
		back := newTranspose(st.begin, st.axes, st.typ.Size)
		p.add(step{move: &plan, enc: &back}, transposeName, st)
	}
	st.begin, st.axes = st.shape, identityAxes(len(st.shape))
	return st
}

// isPlain reports whether the encoded bytes are the decoded ones.
func (p *pipeline) isPlain() bool { return len(p.steps) == 0 }

// decode decodes the stretch s of an object into dst, p.size bytes long.
func (p *pipeline) decode(dst []byte, s span) error {
	if p.size == 0 && s.n == 0 {
		return nil
	}
	if err := p.checkEncoded(s.n); err != nil {
		return err
	}
	w := work{dst: dst, left: p.moves}
	defer w.release()
	buf := w.room(s.n)
	if err := s.read(buf, 0); err != nil {
		return err
	}
	for i := len(p.steps) - 1; i >= 0; i-- {
		var err error
		if buf, err = w.run(&p.steps[i], buf); err != nil {
			return fmt.Errorf("codec %q: %w", p.steps[i].name, err)
		}
	}
	if int64(len(buf)) != p.size {
		return fmt.Errorf("%w: expected %d decoded bytes, found %d",
			compress.ErrCorrupt, p.size, len(buf))
	}
	if unsafe.SliceData(buf) != unsafe.SliceData(dst) {
		copy(dst, buf)
	}
	return nil
}

// checkEncoded refuses an encoded length that cannot decode, before any memory is taken for it.
func (p *pipeline) checkEncoded(n int64) error {
	switch {
	case p.encoded.size == unknown && n == 0:
		return fmt.Errorf("%w: empty, expected the encoding of %d bytes",
			compress.ErrCorrupt, p.size)
	case p.encoded.size != unknown && n != p.encoded.size:
		return fmt.Errorf("%w: expected %d encoded bytes, found %d",
			compress.ErrCorrupt, p.encoded.size, n)
	case n > p.encoded.limit+slack:
		return fmt.Errorf("%w: %d encoded bytes for %d decoded ones, expected at most %d",
			compress.ErrTooLarge, n, p.size, p.encoded.limit+slack)
	}
	return nil
}

// work is the memory of one decode. Bytes move back and forth between dst and one lent buffer. The
// last move ends in dst, and no third memory is needed while results fit dst.
type work struct {
	dst  []byte
	held *buffer // where the bytes are now; nil: in dst
	left int     // moves to come
}

// room returns memory of n bytes for a result after which w.left moves follow, and holds it.
func (w *work) room(n int64) []byte {
	if w.left%2 == 0 && n <= int64(cap(w.dst)) {
		w.held = nil
		return w.dst[:n]
	}
	w.held = getBuffer(n)
	return w.held.b[:n]
}

func (w *work) release() { w.held.release() }

// run decodes one step and returns the result.
func (w *work) run(s *step, buf []byte) ([]byte, error) {
	if s.place != nil {
		out, err := s.place.decodeInPlace(buf)
		return out, s.check(len(out), err)
	}
	from := w.held
	w.left--
	to := w.room(s.limit)
	n, err := s.move.decode(to, buf)
	from.release()
	return to[:min(n, len(to))], s.check(n, err)
}

// check compares a result's length with the expected one.
func (s *step) check(n int, err error) error {
	if err == nil && s.size != unknown && int64(n) != s.size {
		return fmt.Errorf("%w: expected %d decoded bytes, found %d", compress.ErrCorrupt, s.size, n)
	}
	return err
}

// chainOrder holds a chain of v3 to its order. In v2 every filter and the compressor see a buffer,
// so any order works.
type chainOrder struct {
	v2   bool
	last meta.CodecKind
	seen bool // an array->bytes codec
}

func (o *chainOrder) next(k meta.CodecKind) error {
	switch {
	case o.v2:
	case k == meta.ArrayToBytes && o.seen:
		return errors.New("a second array->bytes codec")
	case k < o.last:
		return errors.New("stands after a codec that yields bytes, but needs an array")
	case k == meta.BytesToBytes && !o.seen:
		return errors.New("stands before the array->bytes codec, but needs bytes")
	}
	o.last = k
	o.seen = o.seen || k == meta.ArrayToBytes
	return nil
}

func (o *chainOrder) end() error {
	if !o.seen {
		return errors.New("codecs: expected an array->bytes codec, found none")
	}
	return nil
}
