package compress_test

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/zarrfs/zarrfs/compress"
)

// branchCase is one of testdata/branch.json, which branch.py writes.
type branchCase struct {
	ID           int64
	Start        uint32
	Filtered, XZ []byte
}

func branchCases(t testing.TB) (cases []branchCase, code []byte) {
	t.Helper()
	doc, err := os.ReadFile("testdata/branch.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(doc, &cases); err != nil {
		t.Fatal(err)
	}
	if code, err = os.ReadFile("testdata/code.bin"); err != nil {
		t.Fatal(err)
	}
	return cases, code
}

// TestBranchFilters: liblzma's .xz files decode; and behind a filter, both when encoding and when decoding, stands what it has there.
func TestBranchFilters(t *testing.T) {
	cases, code := branchCases(t)
	lzma2 := compress.LZMAFilter{ID: compress.FilterLZMA2}
	plain := compress.LZMA{Format: compress.LZMARaw, Filters: []compress.LZMAFilter{lzma2}}
	for _, c := range cases {
		back := make([]byte, len(code))
		if n, err := (compress.LZMA{Format: compress.LZMAXZ}).Decode(back, c.XZ); err != nil || !bytes.Equal(back[:n], code) {
			t.Errorf("filter %d from %#x: xz: %v, or other bytes", c.ID, c.Start, err)
		}
		filters := []compress.LZMAFilter{{ID: c.ID, Start: c.Start}, lzma2}
		for _, format := range []int{compress.LZMARaw, compress.LZMAXZ} {
			chain := compress.LZMA{Format: format, Filters: filters, Check: -1}
			object, err := chain.Encode(nil, code)
			if err != nil {
				t.Fatalf("filter %d from %#x: %v", c.ID, c.Start, err)
			}
			if n, err := chain.Decode(back, object); err != nil || !bytes.Equal(back[:n], code) {
				t.Errorf("filter %d from %#x, format %d: %v, or other bytes", c.ID, c.Start, format, err)
			}
			if format == compress.LZMAXZ {
				continue
			}
			if n, err := plain.Decode(back, object); err != nil || !bytes.Equal(back[:n], c.Filtered) {
				t.Errorf("filter %d from %#x: %v, or filtered otherwise than by liblzma", c.ID, c.Start, err)
			}
		}
	}
}

// FuzzBranch: what a branch filter changes it changes back, from any position.
func FuzzBranch(f *testing.F) {
	cases, code := branchCases(f)
	for _, c := range cases {
		f.Add(uint8(c.ID), c.Start, code[:300])
		f.Add(uint8(c.ID), c.Start, code[len(code)-300:])
	}
	lzma2 := compress.LZMAFilter{ID: compress.FilterLZMA2, Dict: 1 << 12}
	f.Fuzz(func(t *testing.T, id uint8, start uint32, code []byte) {
		chain := compress.LZMA{Format: compress.LZMARaw, Filters: []compress.LZMAFilter{{ID: int64(4 + id%7), Start: start &^ 15}, lzma2}}
		object, err := chain.Encode(nil, code)
		if err != nil {
			t.Fatal(err)
		}
		back := make([]byte, len(code))
		if _, err := chain.Decode(back, object); err != nil || !bytes.Equal(back, code) {
			t.Fatalf("filter %d from %#x: %v, or other bytes", 4+id%7, start&^15, err)
		}
	})
}
