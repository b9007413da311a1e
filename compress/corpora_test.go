package compress_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestNumcodecsFixtures decodes numcodecs' own fixtures. ZARRFS_CORPORA names the folder with
// numcodecs/fixture in it.
func TestNumcodecsFixtures(t *testing.T) {
	corpora := os.Getenv("ZARRFS_CORPORA")
	if corpora == "" {
		t.Skip("ZARRFS_CORPORA is not set: numcodecs' fixtures are not read")
	}
	for _, codec := range []string{"gzip", "zlib", "zstd", "lz4", "bz2", "lzma", "crc32", "adler32",
		"crc32c", "base64"} {
		dir := filepath.Join(corpora, "numcodecs", "fixture", codec)
		encoded, err := filepath.Glob(filepath.Join(dir, "codec.*", "encoded.*.dat"))
		if err != nil || len(encoded) == 0 {
			t.Fatalf("no fixtures in %s: %v", dir, err)
		}
		for _, path := range encoded {
			if err := decodeFixture(codec, dir, path); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
		t.Logf("%s: %d objects", codec, len(encoded))
	}
}

// decodeFixture compares one encoded object with the array that it was made of.
func decodeFixture(codec, dir, path string) error {
	document, err := os.ReadFile(filepath.Join(filepath.Dir(path), "config.json"))
	if err != nil {
		return err
	}
	var config goldenConfig
	if err := json.Unmarshal(document, &config); err != nil {
		return err
	}
	number := strings.Split(filepath.Base(path), ".")[1]
	want, err := npyData(filepath.Join(dir, "array."+number+".npy"))
	if err != nil {
		return err
	}
	src, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	dst := make([]byte, len(want))
	n, err := config.decode(codec, dst, src)
	if err != nil {
		return err
	}
	if !bytes.Equal(dst[:n], want) {
		return fmt.Errorf("decoded %d bytes, expected %d and the same", n, len(want))
	}
	return nil
}

var npyDescr = regexp.MustCompile(`'descr': '[<>|]([a-zA-Z])(\d+)`)

// npyData returns an .npy file's data as stored: numcodecs encodes arrays in memory order, which is
// Fortran order where the file says so.
func npyData(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if len(b) < 10 || string(b[:6]) != "\x93NUMPY" || b[6] != 1 {
		return nil, fmt.Errorf("%s is not a .npy file of version 1", path)
	}
	start := 10 + int(binary.LittleEndian.Uint16(b[8:]))
	descr := npyDescr.FindSubmatch(b[:start])
	if descr == nil {
		return nil, fmt.Errorf("%s: no simple descr in %s", path, b[10:start])
	}
	if size, err := strconv.Atoi(string(descr[2])); err != nil || (len(b)-start)%size != 0 {
		return nil, fmt.Errorf("%s: %d bytes of items of %s", path, len(b)-start, descr[0])
	}
	return b[start:], nil
}
