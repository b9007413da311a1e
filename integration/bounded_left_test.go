package integration

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// left are arrays of 9 rows. By their grids, objects end where the array does. But the only object
// has 10 rows: a process was killed while it appended or removed a row. encode makes the object. A
// large row makes the object longer than 64 MiB.
var left = map[string]struct {
	row    int // bytes
	codecs string
	encode func(t *testing.T, rows []byte, row int) string
}{
	"large":            {8 << 20, `["bytes"]`, asRows},
	"large, gzip":      {8 << 20, gzipOfBytes, gzippedRows},
	"shards":           {3, shardedRows(`"bytes", "crc32c"`, 3), asShard(true)},
	"shards unchecked": {3, shardedRows(`"bytes"`, 3), asShard(false)},
	"large shards":     {8 << 20, shardedRows(`"bytes"`, 8<<20), asShard(false)},
}

const gzipOfBytes = `["bytes", {"name": "gzip", "configuration": {"level": 1}}]`

func shardedRows(index string, row int) string {
	return fmt.Sprintf(`[{"name": "sharding_indexed", "configuration": {"chunk_shape": [1, %d],
		"codecs": ["bytes"], "index_codecs": [%s]}}]`, row, index)
}

func asRows(_ *testing.T, rows []byte, _ int) string { return string(rows) }

func gzippedRows(t *testing.T, rows []byte, _ int) string {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, 1)
	if err != nil {
		t.Fatal(err)
	}
	z.Write(rows)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// asShard makes a shard of which each row is a chunk.
func asShard(checked bool) func(t *testing.T, rows []byte, row int) string {
	return func(t *testing.T, rows []byte, row int) string {
		var index []byte
		for at := 0; at < len(rows); at += row {
			index = binary.LittleEndian.AppendUint64(index, uint64(at))
			index = binary.LittleEndian.AppendUint64(index, uint64(row))
		}
		if checked {
			sum := crc32.Checksum(index, crc32.MakeTable(crc32.Castagnoli))
			index = binary.LittleEndian.AppendUint32(index, sum)
		}
		return string(rows) + string(index)
	}
}

// TestKilledResizeIsRead reads arrays through a mount, and appends to them. A killed process has
// left an object of more rows in them than the document says.
func TestKilledResizeIsRead(t *testing.T) {
	for name, c := range left {
		t.Run(name, func(t *testing.T) {
			store := t.TempDir()
			put(t, store, "zarr.json", `{"zarr_format": 3, "node_type": "group"}`)
			grid := bounded(fmt.Sprintf("16, %d", c.row))
			put(t, store, "a/zarr.json", documentOf(3, fmt.Sprintf(
				`"shape": [9, %d], "chunk_grid": %s, "codecs": %s`, c.row, grid, c.codecs)))
			rows := bytes.Repeat([]byte("0123456789abcdefghi\n"), 10*c.row/20+1)[:10*c.row]
			put(t, store, "a/c/0/0", c.encode(t, rows, c.row))
			d := started(t, store)
			raw := filepath.Join(d.dir, "a.raw")
			if got := read(t, raw); !bytes.Equal(got, rows[:9*c.row]) {
				t.Errorf("found %d bytes, %.40q", len(got), got)
			}
			more := bytes.Repeat([]byte{'+'}, c.row)
			f, err := os.OpenFile(raw, os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				t.Fatal(err)
			}
			f.Write(more)
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			if err := d.stop(); err != nil {
				t.Fatal(err)
			}
			want := append(rows[:9*c.row:9*c.row], more...)
			stored := read(t, filepath.Join(store, "a/c/0/0"))
			if !strings.Contains(c.codecs, "gzip") && string(stored) != c.encode(t, want, c.row) {
				t.Errorf("stored %d bytes, %.40q", len(stored), stored)
			}
			if got := read(t, filepath.Join(mount(t, store), "a.raw")); !bytes.Equal(got, want) {
				t.Errorf("appended: found %d bytes, %.40q", len(got), got)
			}
		})
	}
}

// TestKilledAppendStaysAway grows an array of 8 rows of a byte over an object that a killed process
// has left behind its end. Nothing of that object is shown or stays.
func TestKilledAppendStaysAway(t *testing.T) {
	for name, object := range map[string]string{"whole": "left", "shorter": "lef"} {
		t.Run(name, func(t *testing.T) {
			store := t.TempDir()
			put(t, store, "zarr.json", `{"zarr_format": 3, "node_type": "group"}`)
			put(t, store, "a/zarr.json",
				documentOf(3, `"shape": [8], "chunk_grid": `+bounded("4")+`, "codecs": ["bytes"]`))
			put(t, store, "a/c/0", "0123")
			put(t, store, "a/c/1", "4567")
			put(t, store, "a/c/2", object)
			d := started(t, store)
			f, err := os.OpenFile(d.path("a.raw"), os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := f.WriteAt([]byte("b"), 11); err != nil {
				t.Fatal(err)
			}
			const want = "01234567\a\a\ab" // the fill value is 7
			if got := read(t, d.path("a.raw")); string(got) != want {
				t.Errorf("written: expected %q, found %q", want, got)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			if got := read(t, filepath.Join(mount(t, store), "a.raw")); string(got) != want {
				t.Errorf("stored: expected %q, found %q", want, got)
			}
			if got := read(t, filepath.Join(store, "a/c/2")); string(got) != want[8:] {
				t.Errorf("the object is %q, expected %q", got, want[8:])
			}
		})
	}
}
