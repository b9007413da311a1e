package codec

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
	"github.com/zarrfs/zarrfs/zarrcore/vlen"
)

// vlen-utf8, vlen-bytes and vlen-array (numcodecs; the first two also in the registry of v3) store
// the number of elements. Then come, for each element, the number of its bytes and the bytes. Both
// numbers are 32 bits, little-endian. An element that is missing has no bytes.
func init() {
	for _, prefix := range []string{"", "numcodecs."} {
		registerForm(prefix+"vlen-utf8", bindStrings(vlen.Text))
		registerForm(prefix+"vlen-bytes", bindStrings(vlen.Binary))
		registerForm(prefix+"vlen-array", bindLists)
	}
}

// A CountError is the error of a chunk whose number of elements is not the expected one. It is a
// compress.ErrCorrupt.
type CountError struct{ Expected, Found int64 }

// Error gives both numbers.
func (e *CountError) Error() string {
	return fmt.Sprintf("%v: expected %d elements, found %d",
		compress.ErrCorrupt, e.Expected, e.Found)
}

// Unwrap returns compress.ErrCorrupt.
func (e *CountError) Unwrap() error { return compress.ErrCorrupt }

// lengthPrefixed is one of these codecs, bound.
type lengthPrefixed struct {
	kind vlen.Kind
	item dtype.Type // of a list's numbers
}

// bindStrings binds a codec of strings. In v3 the data type says which: both codecs store both.
func bindStrings(objects vlen.Kind) formBinder {
	return func(in state, _ config) (form, state, error) {
		kind := objects
		switch in.typ.Name {
		case "string":
			kind = vlen.Text
		case "bytes":
			kind = vlen.Binary
		}
		return lengthPrefixed{kind: kind}, in.encoded(), nil
	}
}

func bindLists(in state, cfg config) (form, state, error) {
	if in.typ.Name != objectName {
		return nil, in, fmt.Errorf("elements of type %s are not lists", in.typ.Name)
	}
	t, err := dtype.ParseV2(cfg.get("dtype"))
	if err != nil {
		return nil, in, fmt.Errorf("configuration \"dtype\": %w", err)
	}
	if !vlen.IsListable(t) {
		return nil, in, fmt.Errorf("lists of type %s: %w", t.NumPy(), errors.ErrUnsupported)
	}
	return lengthPrefixed{vlen.List, t}, in.encoded(), nil
}

// objectName is the name of v2's type of any objects. The codec says of which kind they are.
const objectName = "object"

func (v lengthPrefixed) least(n int64) int64 { return 4 + 4*n }

func (v lengthPrefixed) decode(b []byte, n int64) (*vlen.Elements, bool, error) {
	if len(b) < 4 {
		return nil, false, fmt.Errorf("%w: expected the number of elements, found %d bytes",
			compress.ErrCorrupt, len(b))
	}
	if found := int64(binary.LittleEndian.Uint32(b)); found != n {
		return nil, false, &CountError{Expected: n, Found: found}
	}
	if int64(len(b)) < v.least(n) {
		return nil, false, fmt.Errorf("%w: expected at least %d bytes for %d elements, found %d",
			compress.ErrCorrupt, v.least(n), n, len(b))
	}
	e := &vlen.Elements{Kind: v.kind, Item: v.item, Data: b, Spans: make([]vlen.Span, n)}
	at := 4
	for i := range e.Spans {
		if len(b)-at < 4 {
			return nil, false, fmt.Errorf("%w: element %d of %d: expected its length at byte %d, "+
				"found the end at %d", compress.ErrCorrupt, i, n, at, len(b))
		}
		size := binary.LittleEndian.Uint32(b[at:])
		at += 4
		if uint64(size) > uint64(len(b)-at) {
			return nil, false, fmt.Errorf("%w: element %d of %d: expected at most %d bytes, "+
				"found %d", compress.ErrCorrupt, i, n, len(b)-at, size)
		}
		e.Spans[i] = vlen.Span{Off: uint32(at), Len: size}
		at += int(size)
		if err := v.check(e.At(int64(i))); err != nil {
			return nil, false, fmt.Errorf("%w: element %d of %d: %w",
				compress.ErrCorrupt, i, n, err)
		}
	}
	if at != len(b) {
		return nil, false, fmt.Errorf("%w: expected the end after %d elements at byte %d, "+
			"found it at %d", compress.ErrCorrupt, n, at, len(b))
	}
	return e, false, nil
}

// check refuses an element that is not of the codec's kind.
func (v lengthPrefixed) check(b []byte) error {
	switch {
	case v.kind == vlen.Text && !utf8.Valid(b):
		return fmt.Errorf("expected UTF-8, found %.40q", b)
	case v.kind == vlen.List && int64(len(b))%v.item.Size != 0:
		return fmt.Errorf("expected a multiple of %d bytes, found %d", v.item.Size, len(b))
	}
	return nil
}

// fill reads the fill value. In v2 null, 0 and "" stand for an element that is missing, a byte
// string is base64 as zarr-python 3 writes it, or text.
func (v lengthPrefixed) fill(a *meta.Array) (*vlen.Elements, error) {
	b := a.Fill
	if a.Type.Name == objectName {
		value, err := pyjson.Parse(a.Fill)
		if err != nil {
			return nil, err
		}
		if b, err = v.fillV2(value); err != nil {
			return nil, err
		}
	}
	if err := v.check(b); err != nil {
		return nil, fmt.Errorf("fill value: %w", err)
	}
	return single(v.kind, v.item, b), nil
}

func (v lengthPrefixed) fillV2(value pyjson.Value) ([]byte, error) {
	n, isNumber := value.Int64()
	switch {
	case value.Kind() == pyjson.Null || isNumber && n == 0 ||
		value.Kind() == pyjson.String && value.Text() == "":
		return nil, nil
	case value.Kind() != pyjson.String || v.kind == vlen.List:
		return nil, fmt.Errorf("fill value: expected a string, null or 0 for %s, found %s",
			v.kind, shorten(value.Raw()))
	}
	if v.kind == vlen.Binary {
		if b, err := base64.StdEncoding.DecodeString(value.Text()); err == nil {
			return b, nil
		}
	}
	return []byte(value.Text()), nil
}

func (v lengthPrefixed) writable() error { return nil }

func (v lengthPrefixed) accepts(b []byte) error { return v.check(b) }

func (v lengthPrefixed) encode(dst []byte, e *vlen.Elements, _ bool) ([]byte, error) {
	bytes := int64(0)
	for _, s := range e.Spans {
		bytes += int64(s.Len)
	}
	dst = slices.Grow(dst, int(v.least(e.Len())+bytes))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(e.Len()))
	for i := range e.Len() {
		b := e.At(i)
		dst = append(binary.LittleEndian.AppendUint32(dst, uint32(len(b))), b...)
	}
	return dst, nil
}

// single is one element by itself.
func single(kind vlen.Kind, item dtype.Type, b []byte) *vlen.Elements {
	return &vlen.Elements{Kind: kind, Item: item, Data: b,
		Spans: []vlen.Span{{Off: 0, Len: uint32(len(b))}}}
}
