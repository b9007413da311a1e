package compress_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/zarrfs/zarrfs/compress"
)

// TestChecksums holds short objects with right and wrong checksums, at both ends. "123456789" is
// the usual vector of CRCs.
func TestChecksums(t *testing.T) {
	digits := "123456789"
	tests := []struct {
		name string
		sum  compress.Checksum
		src  string
		want string // "" for ErrCorrupt
	}{
		{"crc32c at its default, the end", compress.CRC32C{}, digits + "\x83\x92\x06\xe3", digits},
		{"crc32c at the start", compress.CRC32C{Location: compress.Start},
			"\x83\x92\x06\xe3" + digits, digits},
		{"crc32 at its default, the start", compress.CRC32{}, "\x26\x39\xf4\xcb" + digits, digits},
		{"crc32 at the end", compress.CRC32{Location: compress.End}, digits + "\x26\x39\xf4\xcb",
			digits},
		{"crc32, wrong", compress.CRC32{}, "\x27\x39\xf4\xcb" + digits, ""},
		{"adler32", compress.Adler32{}, "\xde\x01\x1e\x09" + digits, digits},
		{"fletcher32 of even length", compress.Fletcher32{}, "abcd\xc6\xc4\x29\x26", "abcd"},
		{"fletcher32 of odd length, its last byte left out as zarrs does", compress.Fletcher32{},
			"abcde\xc6\xc4\x29\x26", "abcde"},
		{"fletcher32, wrong", compress.Fletcher32{}, "abcd\xc7\xc4\x29\x26", ""},
		{"no room for a checksum", compress.Fletcher32{}, "abc", ""},
		{"lookup3 of lookup3.c's own example", compress.JenkinsLookup3{},
			"Four score and seven years ago\x51\x05\x77\x17", "Four score and seven years ago"},
	}
	for _, test := range tests {
		got, err := test.sum.Strip([]byte(test.src))
		if test.want == "" && !errors.Is(err, compress.ErrCorrupt) || test.want != "" &&
			(err != nil || !bytes.Equal(got, []byte(test.want))) {
			t.Errorf("%s: %q, %v; expected %q", test.name, got, err, test.want)
		}
	}
}
