package codec

import (
	"encoding/base64"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

func unbase64(t *testing.T, v pyjson.Value) []byte {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(v.Text())
	if err != nil {
		t.Fatal(err)
	}
	return b
}
