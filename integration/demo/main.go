// Command demo writes a small Zarr v3 store for `make demo`: a group with two
// arrays, one of them compressed and one with missing chunks.
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: demo STORE")
	}
	store := os.Args[1]
	write(store, "zarr.json", group(`{"title": "zarrfs demo"}`))
	write(store, "ocean/zarr.json", group(`{}`))
	temperature(filepath.Join(store, "ocean", "temperature"))
	mask(filepath.Join(store, "mask"))
}

// temperature writes 24 maps of 90 x 180 float32 in gzipped chunks of 8 maps.
func temperature(dir string) {
	write(dir, "zarr.json", array("float32", "[24, 90, 180]", "[8, 90, 180]",
		`{"name": "gzip", "configuration": {"level": 5}}`, `"NaN"`, `{"units": "degC"}`,
		`["time", "lat", "lon"]`))
	for c := range 3 {
		var raw bytes.Buffer
		for t := c * 8; t < c*8+8; t++ {
			for i := range 90 * 180 {
				lat := float64(i/180)*2 - 89
				v := float32(28*math.Cos(lat*math.Pi/180) + 2*math.Sin(float64(t)/24*2*math.Pi))
				must(binary.Write(&raw, binary.LittleEndian, v))
			}
		}
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, err := z.Write(raw.Bytes())
		must(err)
		must(z.Close())
		write(dir, fmt.Sprintf("c/%d/0/0", c), packed.Bytes())
	}
}

// mask writes an array of 1000 x 1000 bytes of which one chunk is stored.
func mask(dir string) {
	write(dir, "zarr.json", array("uint8", "[1000, 1000]", "[100, 100]", "", "0", "{}", "null"))
	write(dir, "c/3/7", bytes.Repeat([]byte{1}, 100*100))
}

func group(attributes string) []byte {
	return fmt.Appendf(nil,
		`{"zarr_format": 3, "node_type": "group", "attributes": %s}`, attributes)
}

func array(dtype, shape, chunks, codec, fill, attributes, dims string) []byte {
	codecs := `{"name": "bytes", "configuration": {"endian": "little"}}`
	if codec != "" {
		codecs += ", " + codec
	}
	return fmt.Appendf(nil, `{"zarr_format": 3, "node_type": "array", "shape": %s, "data_type": %q,
 "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": %s}},
 "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
 "fill_value": %s, "codecs": [%s], "attributes": %s, "dimension_names": %s}`,
		shape, dtype, chunks, fill, codecs, attributes, dims)
}

func write(dir, name string, data []byte) {
	path := filepath.Join(dir, filepath.FromSlash(name))
	must(os.MkdirAll(filepath.Dir(path), 0o755))
	must(os.WriteFile(path, data, 0o644))
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
