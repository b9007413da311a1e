package netcdf

import (
	"bytes"
	"encoding/binary"
	"maps"
	"slices"
	"testing"
	"unicode/utf16"

	"github.com/zarrfs/zarrfs/zarrcore"
)

// TestMatlabNames: a name valid in MATLAB is kept, and each other one becomes a name that no other
// node of the group has.
func TestMatlabNames(t *testing.T) {
	long := string(bytes.Repeat([]byte("n"), 70))
	var children []zarrcore.Child
	for _, name := range []string{"0", "x0", "a b", "a_b", "end", "ä", long, long + "2", "_"} {
		children = append(children, zarrcore.Child{Name: name})
	}
	got := matlabNames(children)
	want := map[string]string{"0": "x0_1", "x0": "x0", "a b": "a_b_1", "a_b": "a_b", "end": "xend",
		"ä": "x__", long: long[:63], long + "2": long[:61] + "_1", "_": "x_"}
	if !maps.Equal(got, want) {
		t.Errorf("found %q, expected %q", got, want)
	}
}

// FuzzUTF16: whatever a text of UTF-32 holds, its characters are those of a UTF-16 text of as many
// bytes, padded with NUL, also in place.
func FuzzUTF16(f *testing.F) {
	f.Add("grün \U0001f600", 3, true)
	f.Add("", 1, false)
	f.Fuzz(func(t *testing.T, text string, padding int, big bool) {
		var src []byte
		runes := []rune(text)
		for _, r := range append(slices.Clone(runes), make([]rune, padding&7)...) {
			if big {
				src = binary.BigEndian.AppendUint32(src, uint32(r))
			} else {
				src = binary.LittleEndian.AppendUint32(src, uint32(r))
			}
		}
		if len(src) == 0 {
			return
		}
		for len(runes) > 0 && runes[len(runes)-1] == 0 {
			runes = runes[:len(runes)-1]
		}
		utf16Form(int64(len(src)), big).Convert(src, src)
		var units []uint16
		for i := 0; i < len(src); i += 2 {
			units = append(units, binary.LittleEndian.Uint16(src[i:]))
		}
		wanted := utf16.Encode(runes)
		if !slices.Equal(units[:len(wanted)], wanted) ||
			slices.ContainsFunc(units[len(wanted):], func(u uint16) bool { return u != 0 }) {
			t.Errorf("found %x of %q", units, text)
		}
	})
}
