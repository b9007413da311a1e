package compress

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestEasierLevel: where a hard search finds nothing an easier one is taken, and elsewhere it is
// not.
func TestEasierLevel(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, trialFrom)
	for i := range noise {
		noise[i] = byte(r.IntN(64)) // compressible, but nothing comes again
	}
	var text []byte // its words come again far away
	words :=
		bytes.Fields(
			bytes.Repeat([]byte("the quick brown fox jumps over the lazy dog and some more words "+
				"of other lengths "), 3))
	for len(text) < trialFrom {
		text = append(append(text, words[r.IntN(len(words))]...), byte('a'+r.IntN(26)))
	}
	for _, tc := range []struct {
		name string
		data []byte
		easy bool
	}{{"noise", noise, true}, {"words", text[:trialFrom], false}} {
		hard, err := deflateAt(nil, tc.data, 6)
		if err != nil {
			t.Fatal(err)
		}
		got, err := deflate(nil, tc.data, 6)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) > len(hard)+len(hard)/50 {
			t.Errorf("%s: %d bytes, a hard search has %d", tc.name, len(got), len(hard))
		}
		if level, _ := easierLevel(tc.data[:trialBytes], 6); (level < 6) != tc.easy {
			t.Errorf("%s: level %d, expected an easier one: %v", tc.name, level, tc.easy)
		}
	}
}
