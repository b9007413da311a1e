package codec

import (
	"encoding/base64"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

func unbase64(t testing.TB, v pyjson.Value) []byte {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(v.Text())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// decodePart decodes a part of a chunk to its place in whole and returns which bytes it was.
func decodePart(c *Chain, whole []byte, src Source, inner, off, n int64) (lo, hi int64, err error) {
	err = c.DecodePart(src, inner, off, n, func(l, h int64) ([]byte, error) {
		lo, hi = l, h
		return whole[l:h:h], nil
	})
	return lo, hi, err
}
