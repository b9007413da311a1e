package compress

import (
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"

	"github.com/ulikunitz/xz/lzma"
)

// presetDicts are the dictionary sizes of xz's presets, as powers of two.
var presetDicts = [10]int{18, 20, 21, 22, 22, 23, 23, 24, 25, 26}

// DefaultPreset is the preset of an encoder whose caller names none.
const DefaultPreset = 6

// PresetDict is the size of the dictionary that a preset, 0 to 9, asks for.
func PresetDict(preset int) int { return 1 << presetDicts[preset] }

// dictFor is the dictionary that a content needs: a power of two, no more than asked for.
func dictFor(asked, size int) int {
	asked = max(asked, lzma.MinDictCap)
	return min(1<<(bits.Len(uint(asked))-1), max(1<<bits.Len(uint(size)), lzma.MinDictCap))
}

// Encode implements Encoder. In the xz format there is one stream of one block, filtered as Filters
// say, if they do.
func (l LZMA) Encode(dst, src []byte) ([]byte, error) {
	var err error
	switch l.Format {
	case LZMAXZ:
		dst, err = l.encodeXZ(dst, src)
	case LZMAAlone:
		dst, err = l.last(LZMAFilter{ID: FilterLZMA1, Dict: l.Dict}).encodeAlone(dst, src, 0)
	case LZMARaw:
		dst, err = l.encodeRaw(dst, src)
	default:
		err = unsupported("encoding format %d, expected 1 to 3", l.Format)
	}
	if err != nil {
		return dst, fmt.Errorf("lzma: %w", err)
	}
	return dst, nil
}

// last is the filter that compresses, or missing if Filters is empty.
func (l LZMA) last(missing LZMAFilter) LZMAFilter {
	if len(l.Filters) == 0 {
		return missing
	}
	return l.Filters[len(l.Filters)-1]
}

func (l LZMA) encodeRaw(dst, src []byte) ([]byte, error) {
	if len(l.Filters) == 0 {
		return dst, unsupported("raw format without filters")
	}
	src, err := l.filtered(src)
	if err != nil {
		return dst, err
	}
	switch last := l.last(LZMAFilter{}); last.ID {
	case FilterLZMA1:
		return last.encodeAlone(dst, src, aloneHeaderLen)
	case FilterLZMA2:
		return last.encodeLZMA2(dst, src)
	default:
		return dst, unsupported("last filter %#x, expected LZMA1 or LZMA2", last.ID)
	}
}

// filtered is src behind all filters but the last.
func (l LZMA) filtered(src []byte) ([]byte, error) {
	if len(l.Filters) > 4 {
		return nil, unsupported("%d filters, expected at most 4", len(l.Filters))
	}
	for _, f := range l.Filters[:max(len(l.Filters), 1)-1] {
		var err error
		if src, err = f.filter(src); err != nil {
			return nil, err
		}
	}
	return src, nil
}

// properties are lc, lp and pb.
func (f LZMAFilter) properties() *lzma.Properties {
	if f.Props == nil {
		return &lzma.Properties{LC: 3, LP: 0, PB: 2}
	}
	return &lzma.Properties{LC: f.Props[0], LP: f.Props[1], PB: f.Props[2]}
}

// aloneHeaderLen is the length of the .lzma format's header.
const aloneHeaderLen = 13

// encodeAlone appends the .lzma format, with an end mark, without its first skip bytes.
func (f LZMAFilter) encodeAlone(dst, src []byte, skip int) ([]byte, error) {
	if f.ID != FilterLZMA1 {
		return dst, unsupported("filter %#x, expected LZMA1", f.ID)
	}
	out := &appender{b: dst}
	w, err := lzma.WriterConfig{Properties: f.properties(), DictCap: dictFor(f.dict(), len(src)),
		EOSMarker: true}.NewWriter(out)
	if err == nil {
		err = writeAll(w, src)
	}
	if err != nil {
		return dst, err
	}
	return slices.Delete(out.b, len(dst), len(dst)+skip), nil
}

// longestStored is more than an LZMA2 chunk that is stored can hold.
const longestStored = 128 << 10

// encodeLZMA2 appends LZMA2 chunks and their end mark.
func (f LZMAFilter) encodeLZMA2(dst, src []byte) ([]byte, error) {
	out := &appender{b: dst}
	dict := dictFor(f.dict(), len(src))
	w, err := lzma.Writer2Config{Properties: f.properties(), DictCap: dict}.NewWriter2(out)
	// The library stores what does not compress by copying it from its dictionary, so no chunk may
	// be longer than that.
	for err == nil && dict < longestStored && len(src) > dict {
		if _, err = w.Write(src[:dict]); err == nil {
			err = w.Flush()
		}
		src = src[dict:]
	}
	if err == nil {
		err = writeAll(w, src)
	}
	if err != nil {
		return dst, err
	}
	return out.b, nil
}

// dict is the size of the dictionary that a filter asks for.
func (f LZMAFilter) dict() int {
	if f.Dict > 0 {
		return f.Dict
	}
	return PresetDict(DefaultPreset)
}

// writeAll writes a whole content.
func writeAll(w io.WriteCloser, src []byte) error {
	_, err := w.Write(src)
	return errors.Join(err, w.Close())
}
