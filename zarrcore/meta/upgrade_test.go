package meta

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/dtype"
)

// TestUpgradeCodecs holds how each codec of version 2 is named in version 3.
func TestUpgradeCodecs(t *testing.T) {
	const little = ` bytes{"endian":"little"}`
	for _, c := range []struct {
		changes []string
		want    string
	}{
		{nil, little},
		{[]string{`dtype: ">f8"`}, ` bytes{"endian":"big"}`},
		{[]string{`dtype: "|u1"`}, ` bytes`},
		{[]string{`order: "F"`, `compressor: {"id": "gzip", "level": 9}`},
			` transpose{"order":[1,0]}` + little + ` gzip{"level":9}`},
		// version 3 has no level -1
		{[]string{`compressor: {"id": "gzip", "level": -1}`}, little + ` gzip{"level":5}`},
		// numcodecs' default
		{[]string{`compressor: {"id": "gzip"}`}, little + ` gzip{"level":1}`},
		{[]string{`compressor: {"id": "zlib"}`}, little + ` numcodecs.zlib{}`},
		{[]string{`compressor: {"id": "zstd"}`}, little + ` zstd{"level":0,"checksum":false}`},
		{[]string{`compressor: {"id": "zstd", "level": 23, "checksum": 1}`},
			little + ` zstd{"level":0,"checksum":false}`},
		{[]string{`compressor: {"id": "zstd", "level": 3}`},
			little + ` zstd{"level":3,"checksum":false}`},
		{[]string{`compressor: {"id": "zstd", "level": -7, "checksum": true}`},
			little + ` zstd{"level":-7,"checksum":true}`},
		{[]string{
			`compressor: {"id": "blosc", "cname": "zstd", "clevel": 1, "shuffle": 2, ` +
				`"blocksize": 512}`},
			little +
				` blosc{"typesize":4,"cname":"zstd","clevel":1,"shuffle":"bitshuffle",` +
				`"blocksize":512}`},
		{[]string{`compressor: {"id": "blosc"}`},
			little +
				` blosc{"typesize":4,"cname":"lz4","clevel":5,"shuffle":"shuffle","blocksize":0}`},
		// what version 3 does not take
		{[]string{`compressor: {"id": "blosc", "cname": "x", "clevel": 10, "typesize": 8}`},
			little +
				` blosc{"typesize":4,"cname":"zstd","clevel":5,"shuffle":"shuffle","blocksize":0}`},
		{[]string{
			`compressor: {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": -1, ` +
				`"blocksize": 0}`},
			little +
				` blosc{"typesize":4,"cname":"lz4","clevel":5,"shuffle":"shuffle","blocksize":0}`},
		{[]string{
			`filters: [{"id": "fixedscaleoffset", "dtype": "<i4", "astype": "|u1", "scale": 1, ` +
				`"offset": 0}]`,
			`compressor: {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": -1, ` +
				`"blocksize": 0}`},
			` numcodecs.fixedscaleoffset{"dtype":"<i4","astype":"|u1","scale":1,"offset":0}` +
				little +
				` blosc{"typesize":1,"cname":"lz4","clevel":5,"shuffle":"bitshuffle",` +
				`"blocksize":0}`},
		{[]string{`dtype: "|V300"`, `compressor: {"id": "blosc"}`},
			` bytes blosc{"typesize":1,"cname":"lz4","clevel":5,"shuffle":"shuffle",` +
				`"blocksize":0}`},
		{[]string{`filters: [{"id": "delta", "dtype": "<i4"}, {"id": "shuffle", "elementsize": 4}]`,
			`compressor: {"id": "lz4", "acceleration": 1}`},
			` numcodecs.delta{"dtype":"<i4"}` + little +
				` numcodecs.shuffle{"elementsize":4} numcodecs.lz4{"acceleration":1}`},
		// numcodecs' default
		{[]string{`dtype: "<f8"`, `filters: [{"id": "shuffle"}]`},
			little + ` numcodecs.shuffle{"elementsize":4}`},
		{[]string{`dtype: "<f8"`, `filters: [{"id": "shuffle", "elementsize": 0}]`},
			little + ` numcodecs.shuffle{"elementsize":8}`},
		{[]string{`dtype: "<f8"`, `filters: [{"id": "shuffle", "elementsize": "0"}]`},
			little + ` numcodecs.shuffle{"elementsize":8}`},
		{[]string{`dtype: "<f8"`, `filters: [{"id": "shuffle", "elementsize": "2"}]`},
			little + ` numcodecs.shuffle{"elementsize":2}`},
		{[]string{`dtype: "|O"`, `fill_value: "zz"`, `filters: [{"id": "vlen-utf8"}]`,
			`compressor: {"id": "blosc"}`},
			` vlen-utf8 blosc{"typesize":1,"cname":"lz4","clevel":5,"shuffle":"shuffle",` +
				`"blocksize":0}`},
		{[]string{`dtype: "|O"`, `fill_value: 0`, `filters: [{"id": "vlen-bytes"}]`},
			` vlen-bytes`},
		{[]string{`filters: [{"id": "crc32c", "location": "end"}]`}, little + ` crc32c`},
		{[]string{`filters: [{"id": "crc32c", "location": "start"}]`},
			little + ` numcodecs.crc32c{"location":"start"}`},
	} {
		a, err := ParseV2Array(document(goodV2, c.changes...), nil)
		if err != nil {
			t.Fatalf("%s: %v", c.changes, err)
		}
		doc, err := UpgradeV2(a)
		if err != nil {
			t.Errorf("%s: %v", c.changes, err)
			continue
		}
		v3, _, err := ParseV3(doc.Data)
		if err != nil {
			t.Errorf("%s: %v in\n%s", c.changes, err, doc.Data)
			continue
		}
		got := ""
		for _, c := range v3.Codecs {
			got += " " + c.Name + string(c.Config.Standard())
		}
		if got != c.want || v3.Keys.Key([]int64{1, 0}) != "1.0" ||
			v3.Type.Descr() != a.Type.Descr() || string(v3.Fill) != wantFill(a) {
			t.Errorf("%s:\n%s, want\n%s\nin %s", c.changes, got, c.want, doc.Data)
		}
	}
}

// wantFill is the fill value in version 3. Of objects version 2 has it as JSON.
func wantFill(a *Array) string {
	if a.Type.Kind == dtype.Object {
		return strings.Trim(strings.TrimPrefix(string(a.Fill), "0"), `"`)
	}
	return string(a.Fill)
}

// TestUpgradeRefused holds what has no words in version 3, or other ones in zarr-python 3.
func TestUpgradeRefused(t *testing.T) {
	for _, tc := range []struct{ change, want string }{
		{`dtype: "<f16"`, "format 3 has no"},
		{`dtype: [["a", "<i2"], ["b", ">i2"]]`, "struct of both byte orders"},
		{`compressor: {"id": "pcodec"}`,
			`expected a codec that zarr-python 3 knows in format 3, found "numcodecs.pcodec"`},
		{`compressor: {"id": "base64"}`, `found "numcodecs.base64"`},
		{`compressor: {"id": "blosc", "shuffle": 3}`,
			"compressor.shuffle: expected -1, 0, 1 or 2, found 3"},
		{`dtype: "|O"; filters: [{"id": "vlen-array", "dtype": "<i4"}]`,
			`found "numcodecs.vlen-array"`},
		{`dtype: "|O"; filters: [{"id": "vlen-utf8"}]; order: "F"`,
			"vlen-utf8 or vlen-bytes alone, in order C, found transpose"},
		{`dtype: "|O"; filters: [{"id": "vlen-bytes"}]; fill_value: "YQ=="`,
			`fill_value: expected null, 0 or a string of a vlen-utf8 array, found "YQ=="`},
		{`filters: [{"id": "packbits"}]`, `found "numcodecs.packbits"`},
		{`filters: [{"id": "delta", "dtype": ">i4"}]`,
			`expected filters of little-endian numbers, found numcodecs.delta with dtype ">i4"`},
		{`filters: [{"id": "quantize", "digits": 1, "dtype": "<i4", "astype": "<i2"}]`,
			"expected the array's type as its astype"},
		{`filters: [{"id": "zlib"}, {"id": "delta", "dtype": "<i4"}]`,
			"found numcodecs.delta after numcodecs.zlib"},
		{`filters: [{"id": "delta", "dtype": "what"}]`, "filters: "},
	} {
		a, err := ParseV2Array(document(goodV2, strings.Split(tc.change, "; ")...), nil)
		if err != nil {
			t.Fatalf("%s: %v", tc.change, err)
		}
		_, err = UpgradeV2(a)
		if err == nil || !strings.Contains(err.Error(), tc.want) ||
			!errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v, want %s", tc.change, err, tc.want)
		}
	}
}

// TestUpgradeV1 holds that version 2's document has the members of version 1's as they were
// spelled.
func TestUpgradeV1(t *testing.T) {
	docs, err := UpgradeV1(document(goodV1, `fill_value: NaN`, `dtype: "<f4"`),
		[]byte(`{ "a" : 1e3 }`))
	if err != nil {
		t.Fatal(err)
	}
	a, err := ParseV2Array(docs[0].Data, docs[1].Data)
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("%s %s %s", summary(a), docs[1].Name, docs[1].Data)
	want := `[7 5]/[4 5] '<f4' fill 0000c07f true; bytes numcodecs.zlib{"level":1}; ` +
		`0.0 [] .zattrs { "a" : 1e3 }`
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if _, err := UpgradeV1(document(goodV1, `chunks: 3`), []byte("{}")); !errors.Is(err,
		ErrInvalid) {
		t.Errorf("a bad document: %v", err)
	}
}
