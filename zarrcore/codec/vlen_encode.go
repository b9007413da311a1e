package codec

import (
	"fmt"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/zarrcore/vlen"
)

// addEncoder appends a step's encoder, or notes that there is none for what it decodes.
func (r *Vlen) addEncoder(s step) {
	switch {
	case r.why != nil:
	case s.why != nil:
		r.why = cannotWrite(s.name, s.why)
	case s.enc != nil:
		r.encs = append(r.encs, s)
	case s.decodes():
		r.why = cannotWrite(s.name, notEncoded("it is decoded only"))
	}
}

// Writable returns nil if chunks can be encoded. Otherwise the error wraps errors.ErrUnsupported
// and names the codec at fault.
func (r *Vlen) Writable() error {
	if err := r.levels.writableIndexes(); err != nil {
		return err
	}
	return r.why
}

// Accepts refuses, given its bytes, an element of the chain's kind that could not be read back.
func (r *Vlen) Accepts(element []byte) error { return r.form.accepts(element) }

// Encode appends the encoding of a chunk of Count elements in C order to dst; Assemble makes an
// object of it. It fails with compress.ErrTooLarge where Decode would with the same limit.
func (r *Vlen) Encode(dst []byte, e *vlen.Elements, limit int64) ([]byte, error) {
	if e.Len() != r.count {
		return dst, fmt.Errorf("codec: expected a chunk of %d elements, found %d", r.count, e.Len())
	}
	if r.why != nil {
		return dst, r.why
	}
	arranged := *e
	for i := range r.moves {
		arranged.Spans = moved(&r.moves[i].encode, arranged.Spans)
	}
	if len(r.encs) == 0 {
		start := len(dst)
		out, err := r.form.encode(dst, &arranged, len(r.moves) > 0)
		return out, withinLimit(len(out)-start, limit, err)
	}
	b, err := r.form.encode(nil, &arranged, len(r.moves) > 0)
	if err := withinLimit(len(b), limit, err); err != nil {
		return dst, err
	}
	last := len(r.encs) - 1
	for i := range r.encs[:last] {
		if b, err = r.encs[i].enc.encode(nil, b); err != nil {
			return dst, r.encs[i].failed(err)
		}
	}
	start := len(dst)
	out, err := r.encs[last].enc.encode(dst, b)
	if err != nil {
		return dst, r.encs[last].failed(err)
	}
	return out, withinLimit(len(out)-start, limit, nil)
}

// withinLimit returns err, or that n bytes are too many.
func withinLimit(n int, limit int64, err error) error {
	if err == nil && int64(n) > min(limit, maxVlen) {
		err = fmt.Errorf("%w: a chunk of %d bytes, expected at most %d",
			compress.ErrTooLarge, n, limit)
	}
	return err
}

// Compare orders chunks as Chain.Compare does.
func (r *Vlen) Compare(a, b int64) int { return r.levels.Compare(a, b) }

// Assemble writes an object to dst, as Chain.Assemble does.
func (r *Vlen) Assemble(
	dst Sink, old Source, inner []int64, next func() ([]byte, error),
) (empty bool, err error) {
	return r.levels.Assemble(dst, old, inner, next)
}
