package pyjson

import (
	"bytes"
	"fmt"
	"hash/maphash"
)

// seed is random for each process, so that no document can be made whose keys all collide.
var seed = maphash.MakeSeed()

// refuseDuplicates returns an error if two of one object's keys, given by where they begin, are
// equal. The keys go into an open-addressing table of 4-byte offsets: a tenth of what a map of
// strings needs, which matters with millions of keys.
func (p *parser) refuseDuplicates(keys []uint32) error {
	if len(keys) < 2 {
		return nil
	}
	size := 4
	for size < 2*len(keys) {
		size *= 2
	}
	if cap(p.seen) < size {
		p.seen = make([]uint32, size)
	}
	table := p.seen[:size]
	clear(table)
	for _, at := range keys {
		key := keyBytes(p.data, int(at))
		slot := maphash.Bytes(seed, key) & uint64(size-1)
		// 0 is free: no key is a document's first byte
		for ; table[slot] != 0; slot = (slot + 1) & uint64(size-1) {
			if bytes.Equal(key, keyBytes(p.data, int(table[slot]))) {
				return p.fail(int(at), "keys that occur once",
					fmt.Sprintf("key %s again", shortened(p.data, int(at))))
			}
		}
		table[slot] = at
	}
	return nil
}

// keyBytes returns the decoded key whose opening quote is at the given offset. Halves of surrogate
// pairs stay distinct. In the text that callers see, each of them is U+FFFD.
func keyBytes(data []byte, at int) []byte {
	inner := data[at+1 : stringEnd(data, at)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	return unescape(inner, true)
}

// shortened returns the string at the given offset as it is written, at most 60 bytes of it.
func shortened(data []byte, at int) string {
	raw := data[at:stringEnd(data, at)]
	if len(raw) <= 60 {
		return string(bytes.ToValidUTF8(raw, []byte("\uFFFD")))
	}
	return fmt.Sprintf("%s…\"", bytes.ToValidUTF8(raw[:57], []byte("\uFFFD")))
}
