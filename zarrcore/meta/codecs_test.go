package meta

import (
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// TestSameCodecs: two lists of codecs store the same bytes although their writers order members
// otherwise, or leave out what is the default.
func TestSameCodecs(t *testing.T) {
	const shards = `{"name": "sharding_indexed",
		"configuration": {"chunk_shape": [2],
		"codecs": [{"name": "bytes"}, {"name": "gzip", "configuration": {"level": 1}}],
		"index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, "crc32c"],
		"index_location": "end"}}`
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{`"bytes"`, `{"name": "bytes", "configuration": {"endian": "little"}}`, true},
		{`"bytes"`, `{"name": "bytes", "configuration": {"endian": "big"}}`, false},
		{`"bytes", "crc32c"`, `{"name": "bytes"}, {"name": "crc32c"}`, true},
		{`"bytes"`, `"bytes", "crc32c"`, false},
		{`{"name": "zstd", "configuration": {"level": 0, "checksum": false}}`,
			`{"configuration": {"checksum": false, "level": 0}, "name": "zstd"}`, true},
		{`{"name": "transpose", "configuration": {"order": [1, 0]}}`,
			`{"name": "transpose", "configuration": {"order": [0, 1]}}`, false},
		{shards, `{"name": "sharding_indexed",
			"configuration": {"chunk_shape": [2],
			"index_codecs": [{"name": "bytes"}, {"name": "crc32c"}],
			"codecs": [{"configuration": {"endian": "little"}, "name": "bytes"},
			{"name": "gzip", "configuration": {"level": 1}}]}}`, true},
		{shards, `{"name": "sharding_indexed",
			"configuration": {"chunk_shape": [2],
			"index_codecs": [{"name": "bytes"}, {"name": "crc32c"}],
			"codecs": [{"name": "bytes"}, {"name": "gzip", "configuration": {"level": 1}}],
			"index_location": "start"}}`, false},
		{shards, `{"name": "sharding_indexed",
			"configuration": {"chunk_shape": [2], "index_codecs": ["bytes"],
			"codecs": [{"name": "bytes"},
			{"name": "gzip", "configuration": {"level": 1}}]}}`, false},
		{shards, `{"name": "sharding_indexed",
			"configuration": {"chunk_shape": [1], "index_codecs": ["bytes", "crc32c"],
			"codecs": [{"name": "bytes"},
			{"name": "gzip", "configuration": {"level": 1}}]}}`, false},
	} {
		var arrays [2]Array
		for i, list := range []string{c.a, c.b} {
			v, err := pyjson.Parse([]byte("[" + list + "]"))
			if err != nil {
				t.Fatal(err)
			}
			if arrays[i].Codecs, err = ParseCodecs(v); err != nil {
				t.Fatal(err)
			}
		}
		if got := arrays[0].SameCodecs(&arrays[1]); got != c.same {
			t.Errorf("%s\n%s\nare the same: %v", c.a, c.b, got)
		}
	}
}
