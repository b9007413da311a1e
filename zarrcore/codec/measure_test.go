package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"testing"

	"github.com/zarrfs/zarrfs/compress"
)

// shardOf returns a shard of chunks of these lengths. The length -1 is that of a chunk that is not
// stored. gap bytes of the shard are in no chunk.
func shardOf(lengths []int, gap int, order binary.AppendByteOrder, checked, atStart bool) []byte {
	sum := 0
	if checked {
		sum = 4
	}
	var body, index []byte
	for i, n := range lengths {
		off := uint64(len(body))
		if atStart {
			off += uint64(16*len(lengths) + sum)
		}
		if n < 0 {
			off = ^uint64(0)
		} else {
			body = append(body, slices.Repeat([]byte{byte(i + 1)}, n)...)
		}
		index = order.AppendUint64(order.AppendUint64(index, off), uint64(n))
	}
	body = append(body, make([]byte, gap)...)
	if checked {
		table := crc32.MakeTable(crc32.Castagnoli)
		index = binary.LittleEndian.AppendUint32(index, crc32.Checksum(index, table))
	}
	if atStart {
		return append(index, body...)
	}
	return append(body, index...)
}

// shardChain is a chain of shards of so many rows of two chunks in a grid whose objects have up to
// five.
func shardChain(t *testing.T, rows int, endian string, checked, atStart bool) *Chain {
	t.Helper()
	index, where := fmt.Sprintf(`{"name": "bytes", "configuration": {"endian": %q}}`, endian), "end"
	if checked {
		index += `, {"name": "crc32c"}`
	}
	if atStart {
		where = "start"
	}
	codecs := fmt.Sprintf(`[{"name": "sharding_indexed", "configuration": {"chunk_shape": [1, 1],
		"codecs": [{"name": "bytes"}], "index_codecs": [%s], "index_location": %q}}]`, index, where)
	a := arrayOf(t, `"uint8"`, []int64{int64(rows), 2}, codecs)
	a.Bounded = []int64{5, 2}
	c, err := Bind(a)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestMeasureShard measures shards of one to five rows by a chain of two rows. Its own index is
// accepted, and the index of any other number of rows is refused.
func TestMeasureShard(t *testing.T) {
	all := []int{1, 3, -1, 2, 700, 1, -1, -1, 5, -1}
	for _, endian := range []string{"little", "big"} {
		var order binary.AppendByteOrder = binary.LittleEndian
		if endian == "big" {
			order = binary.BigEndian
		}
		for at := range 4 {
			checked, atStart := at&1 > 0, at&2 > 0
			where := fmt.Sprintf("%s, checked %v, at the start %v", endian, checked, atStart)
			c := shardChain(t, 2, endian, checked, atStart)
			for rows := 1; rows <= 5; rows++ {
				about := fmt.Sprintf("%s, %d rows", where, rows)
				data := shardOf(all[:2*rows], 0, order, checked, atStart)
				if n, err := c.Measure(memory(data)); err != nil || n != int64(2*rows) {
					t.Errorf("%s: measured %d chunks, %v", about, n, err)
				}
				err := c.Check(memory(data))
				if (rows == 2) != (err == nil) ||
					err != nil && !errors.Is(err, compress.ErrCorrupt) {
					t.Errorf("%s: %v", about, err)
				}
			}
			gaps := shardOf(all[:4], 9, order, checked, atStart)
			if err := c.Check(memory(gaps)); checked != (err == nil) {
				t.Errorf("%s, with gaps: %v", where, err)
			}
			whole := shardChain(t, 5, endian, checked, atStart)
			gaps = shardOf(all, 9, order, checked, atStart)
			if err := whole.Check(memory(gaps)); err != nil {
				t.Errorf("%s, of the largest length, with gaps: %v", where, err)
			}
			for n := range 100 {
				zeros := memory(make([]byte, n))
				if _, err := c.Measure(zeros); !errors.Is(err, compress.ErrCorrupt) {
					t.Errorf("%s, %d bytes of zeros: %v", where, n, err)
				}
			}
		}
	}
}
