package blosc

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// seeds adds a vector of each codec and filter, and the names' notable ones.
func seeds(f *testing.F) {
	for i, v := range readVectors(f) {
		if len(v.encoded) < 3000 && i%5 == 0 || v.name == multiBlock {
			f.Add(v.encoded, false)
			f.Add(v.encoded, true)
		}
	}
}

// repair makes the header one that is not refused at once, so that mutations
// reach what lies behind it.
func repair(src []byte) []byte {
	if len(src) < HeaderLen {
		return src
	}
	b := bytes.Clone(src)
	b[0], b[2] = formatVersion, b[2]&^flagReserved
	b[6], b[7] = 0, 0 // content of less than 64 KiB
	b[10], b[11] = 0, 0
	binary.LittleEndian.PutUint32(b[12:], uint32(len(b)))
	return b
}

// FuzzDecode: no panic, nothing beyond the limit, and the same with room to
// spare behind it.
func FuzzDecode(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, src []byte, repaired bool) {
		if repaired {
			src = repair(src)
		}
		const limit = 1 << 14
		room := bytes.Repeat([]byte{0xA5}, limit+16)
		n, err := Decode(room[:limit:limit], src)
		if !bytes.Equal(room[limit:], bytes.Repeat([]byte{0xA5}, 16)) {
			t.Fatal("bytes beyond the capacity written")
		}
		roomy := make([]byte, limit, limit+(1<<18))
		m, err2 := Decode(roomy, src)
		if n != m || (err == nil) != (err2 == nil) {
			t.Fatalf("%d, %v; with room to spare %d, %v", n, err, m, err2)
		}
		if err == nil && !bytes.Equal(room[:n], roomy[:n]) {
			t.Fatal("other content with room to spare")
		}
	})
}

// FuzzPartial: block by block is the same as whole.
func FuzzPartial(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, src []byte, repaired bool) {
		if repaired {
			src = repair(src)
		}
		whole := make([]byte, 1<<16)
		n, err := Decode(whole, src)
		if n > 0 && err != nil { // some blocks came out
			n = 0
		}
		h, err2 := ParseHeader(src, int64(len(src)))
		if err2 == nil && h.Size > int64(len(whole)) {
			return
		}
		parts, err2 := decodePartially(src)
		if (err == nil) != (err2 == nil) {
			t.Fatalf("whole: %v; block by block: %v", err, err2)
		}
		if err == nil && !bytes.Equal(whole[:n], parts) {
			t.Fatal("block by block differs from whole")
		}
	})
}

// slowBloscLZ is decodeBloscLZ one byte at a time.
func slowBloscLZ(dst, src []byte) (out []byte, ok bool) {
	next := func() int {
		if len(src) == 0 {
			ok = false
			return 0
		}
		b := src[0]
		src = src[1:]
		return int(b)
	}
	ok = len(src) > 0
	control := next() & 31
	for ok {
		from, n := len(out)-1, control+1
		if control >= 32 {
			n = control>>5 + 2
			for more := n == 9; more && ok; {
				b := next()
				n, more = n+b, b == 255
			}
			distance := control&31<<8 + next()
			if distance == nearDistance {
				distance += next()<<8 + next()
			}
			from -= distance
		}
		if from < 0 && control >= 32 || n > len(dst)-len(out) {
			return out, false
		}
		for ; n > 0 && ok; n-- {
			if control < 32 {
				out = append(out, byte(next()))
			} else {
				out = append(out, out[from])
				from++
			}
		}
		if len(src) == 0 {
			return out, ok
		}
		control = next()
	}
	return out, false
}

// FuzzBlosclz compares with a decoder that does one byte at a time.
func FuzzBlosclz(f *testing.F) {
	for _, v := range readVectors(f) {
		h, err := ParseHeader(v.encoded, int64(len(v.encoded)))
		if err != nil || h.isStored() || h.codec() != codecBloscLZ || len(v.encoded) < 24 {
			continue
		}
		f.Add(v.encoded[h.IndexLen()+4:], 5000)
	}
	f.Add([]byte{1, 'a', 'b', 7 << 5, 255, 255, 3, 1}, 1000)
	f.Add([]byte{0, 'a', 7<<5 | 31, 255, 255}, 1000)
	f.Fuzz(func(t *testing.T, src []byte, size int) {
		if size < 0 || size > 1<<17 {
			return
		}
		dst := bytes.Repeat([]byte{0xA5}, size+64)
		n, err := decodeBloscLZ(dst[:size], src)
		want, ok := slowBloscLZ(make([]byte, size), src)
		if (err == nil) != ok || ok && !bytes.Equal(dst[:n], want) {
			t.Fatalf("%v after %d bytes; one by one: %v after %d", err, n, ok, len(want))
		}
		if !bytes.Equal(dst[size:], bytes.Repeat([]byte{0xA5}, 64)) {
			t.Fatal("bytes beyond dst written")
		}
	})
}
