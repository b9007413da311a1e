package zstd

import (
	"encoding/binary"
	"math/bits"
)

// The primes of XXH64 (github.com/Cyan4973/xxHash, doc/xxhash_spec.md).
const (
	prime1 uint64 = 0x9E3779B185EBCA87
	prime2 uint64 = 0xC2B2AE3D27D4EB4F
	prime3 uint64 = 0x165667B19E3779F9
	prime4 uint64 = 0x85EBCA77C2B2AE63
	prime5 uint64 = 0x27D4EB2F165667C5
)

// xxh64 returns the XXH64 of b with seed 0.
func xxh64(b []byte) uint64 {
	h := prime5
	n := uint64(len(b))
	if len(b) >= 32 {
		h, b = xxhStripes(b)
	}
	h += n
	for ; len(b) >= 8; b = b[8:] {
		h ^= xxhRound(0, binary.LittleEndian.Uint64(b))
		h = bits.RotateLeft64(h, 27)*prime1 + prime4
	}
	if len(b) >= 4 {
		h ^= uint64(binary.LittleEndian.Uint32(b)) * prime1
		h = bits.RotateLeft64(h, 23)*prime2 + prime3
		b = b[4:]
	}
	for _, v := range b {
		h ^= uint64(v) * prime5
		h = bits.RotateLeft64(h, 11) * prime1
	}
	h ^= h >> 33
	h *= prime2
	h ^= h >> 29
	h *= prime3
	return h ^ h>>32
}

// xxhStripes hashes all whole stripes of 32 bytes, of which there is at least one, and returns the
// rest of b too.
func xxhStripes(b []byte) (uint64, []byte) {
	v1, v2, v3, v4 := prime1, prime2, uint64(0), uint64(0)
	v1 += prime2
	v4 -= prime1
	for ; len(b) >= 32; b = b[32:] {
		v1 = xxhRound(v1, binary.LittleEndian.Uint64(b))
		v2 = xxhRound(v2, binary.LittleEndian.Uint64(b[8:]))
		v3 = xxhRound(v3, binary.LittleEndian.Uint64(b[16:]))
		v4 = xxhRound(v4, binary.LittleEndian.Uint64(b[24:]))
	}
	h := bits.RotateLeft64(v1, 1) + bits.RotateLeft64(v2, 7) + bits.RotateLeft64(v3, 12) +
		bits.RotateLeft64(v4, 18)
	for _, v := range [...]uint64{v1, v2, v3, v4} {
		h = (h^xxhRound(0, v))*prime1 + prime4
	}
	return h, b
}

func xxhRound(acc, lane uint64) uint64 {
	return bits.RotateLeft64(acc+lane*prime2, 31) * prime1
}
