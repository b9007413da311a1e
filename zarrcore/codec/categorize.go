package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// categorize (numcodecs) stores strings as numbers: k for label k, and 0 for any other string,
// which decodes to the empty one. Strings are of fixed size, or objects (categorize_object.go).
func init() { register("numcodecs.categorize", bindCategorize) }

// labels is categorize bound to its strings.
type labels struct {
	from  scalar
	size  int64
	table [][]byte // what each number decodes to, each size bytes
	whole []bool   // label k+1 was not cut, so that an element can be equal to it

	numbers map[string]uint64 // the number of each label that an element can be equal to
}

func bindCategorize(in state, cfg config) (step, state, error) {
	t, err := dtype.ParseV2(cfg.get("dtype"))
	if err != nil {
		return step{}, in, fmt.Errorf("configuration \"dtype\": %w", err)
	}
	if !in.v2 {
		t = t.WithOrder(in.order)
	}
	if t.Kind != dtype.Unicode {
		return step{}, in, fmt.Errorf("labels of type %s have no fixed size: %w",
			t.NumPy(), errors.ErrUnsupported)
	}
	if in.size == unknown || in.size%t.Size != 0 {
		return step{}, in, fmt.Errorf("configuration \"dtype\": "+
			"expected a type whose size divides %d bytes, found %s", in.size, t.NumPy())
	}
	astype, from, err := in.numberType(cfg, "astype", dtype.Type{Kind: dtype.Uint, Size: 1})
	if err != nil {
		return step{}, in, err
	}
	if !from.isIntegral() {
		return step{}, in, cfg.expected("astype", "an integer type")
	}
	l := &labels{from: from, size: t.Size}
	if l.table, l.whole, err = labelTable(cfg, t); err != nil {
		return step{}, in, err
	}
	return l.step(), in.retyped(astype, in.size/t.Size), nil
}

// step makes the labels a step, which encodes only if the numbers can count them.
func (l *labels) step() step {
	s := step{move: l}
	if s.why = l.from.counts(len(l.table) - 1); s.why != nil {
		return s
	}
	l.numbers = map[string]uint64{}
	for k, label := range l.table[1:] {
		if l.whole[k] {
			l.numbers[string(label)] = uint64(k) + 1
		}
	}
	s.enc = l
	return s
}

// counts returns nil if numbers of the type can count that many labels.
func (s scalar) counts(labels int) error {
	_, most := s.bounds()
	if s.class == boolean {
		most = 1
	}
	if uint64(labels) > most {
		return notEncoded(
			fmt.Sprintf("%d labels are more than numbers of type %s can count", labels, s))
	}
	return nil
}

// encode writes 0 for what is not a label.
func (l *labels) encode(dst, src []byte) ([]byte, error) {
	count := int(int64(len(src)) / l.size)
	out, room := extend(dst, count*l.from.size)
	var block [blockLen]uint64
	for len(src) > 0 {
		n := min(len(src)/int(l.size), blockLen)
		for i := range block[:n] {
			block[i] = l.numbers[string(src[:l.size])]
			src = src[l.size:]
		}
		storeInts(room, block[:n], l.from)
		room = room[n*l.from.size:]
	}
	return out, nil
}

// labelTable returns each label as an element, cut and padded as NumPy does; number 0 is the empty
// string. whole says which labels were not cut.
func labelTable(cfg config, t dtype.Type) (table [][]byte, whole []bool, err error) {
	v := cfg.get("labels")
	if v.Kind() != pyjson.Array {
		return nil, nil, cfg.expected("labels", "a list of strings")
	}
	table = [][]byte{make([]byte, t.Size)}
	for label := range v.Elements() {
		if label.Kind() != pyjson.String {
			return nil, nil, cfg.expected("labels", "a list of strings")
		}
		table = append(table, spell(label.Text(), t))
		whole = append(whole, 4*int64(utf8.RuneCountInString(label.Text())) <= t.Size)
	}
	return table, whole, nil
}

// spell returns a string as one element.
func spell(text string, t dtype.Type) []byte {
	b := make([]byte, t.Size)
	off := 0
	for _, r := range text {
		if off+4 > len(b) {
			break
		}
		binary.LittleEndian.PutUint32(b[off:], uint32(r))
		off += 4
	}
	if t.Order == dtype.Big {
		swapBytes(b, 4)
	}
	return b
}

func (l *labels) decode(dst, src []byte) (int, error) {
	count := len(src) / l.from.size
	if len(src)%l.from.size != 0 || int64(len(dst))/l.size < int64(count) {
		return 0, fmt.Errorf("%w: expected %d numbers of %d bytes, found %d bytes",
			compress.ErrCorrupt, int64(len(dst))/l.size, l.from.size, len(src))
	}
	var block [blockLen]uint64
	out := dst
	for len(src) > 0 {
		n := min(len(src)/l.from.size, blockLen)
		loadInts(block[:n], src[:n*l.from.size], l.from)
		for _, k := range block[:n] {
			if k >= uint64(len(l.table)) {
				k = 0
			}
			copy(out[:l.size], l.table[k])
			out = out[l.size:]
		}
		src = src[n*l.from.size:]
	}
	return len(dst) - len(out), nil
}
