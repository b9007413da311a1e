package zstd

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// minMatch is the shortest match that is looked for, in bytes.
const minMatch = 4

// params say how matches are looked for.
type params struct {
	tableLog  int // of the table of a fast search, or the one of long matches
	shortLog  int // of the table of short matches; 0: the search is fast
	hashBytes int // so many bytes are hashed for a short match, or that of a fast search
	step      int // how far apart the places are where a fast search looks
}

// paramsOf returns what zstd takes for large contents, except the tables of fast searches: on
// numbers, twice as large ones save 2 % and cost no time.
func paramsOf(level, size int) params {
	var p params
	switch {
	case level < 0:
		p = params{tableLog: 14, hashBytes: 7, step: min(1-level, maxBlock)}
	case level == 1:
		p = params{tableLog: 15, hashBytes: 7, step: 2}
	case level == 2:
		p = params{tableLog: 16, hashBytes: 6, step: 2}
	case level == 4:
		p = params{tableLog: 18, shortLog: 18, hashBytes: 5}
	default:
		p = params{tableLog: 17, shortLog: 16, hashBytes: 5}
	}
	most := max(bits.Len(uint(size)), 10) // there are no more places
	p.tableLog = min(p.tableLog, most)
	p.shortLog = min(p.shortLog, most)
	return p
}

// sequence is so many literals and a match of so many bytes more than 3. The offset is as it is
// coded (RFC 8878 section 3.1.1.5): 1 to 3 mean recent ones.
type sequence struct{ literals, match, offset uint32 }

// finder looks for matches in one content. Its tables hold, by the hash of some bytes, the place
// where they stood last, or 0.
type finder struct {
	params
	table  []uint32
	short  []uint32
	recent [2]int // the last offsets, latest first

	// What was found in a block: sequences, and the literals of these with those after the last
	// match.
	sequences    [maxBlock / minMatch]sequence
	found        int
	literals     [maxBlock + litSlack]byte
	literalCount int
}

// reset prepares for another content.
func (f *finder) reset(p params) {
	f.params = p
	f.recent = [2]int{1, 4}
	f.table = emptyTable(f.table, p.tableLog)
	if p.shortLog > 0 {
		f.short = emptyTable(f.short, p.shortLog)
	}
}

// emptyTable returns t, or a new table, with its first 1<<log entries cleared.
func emptyTable(t []uint32, log int) []uint32 {
	if len(t) < 1<<log {
		return make([]uint32, 1<<log)
	}
	clear(t[:1<<log])
	return t
}

// find fills sequences and literals with those of src[start:end]. Matches may reach back to what is
// before.
func (f *finder) find(src []byte, start, end int) {
	f.found, f.literalCount = 0, 0
	anchor := start
	switch {
	case end-start <= searchRoom:
	case f.shortLog > 0:
		anchor = f.findDouble(src, start, end)
	default:
		anchor = f.findFast(src, start, end)
	}
	f.literalCount += copy(f.literals[f.literalCount:], src[anchor:end])
}

// searchRoom is how many bytes before the end of a block no match begins any more: words are loaded
// there, and literals copied by words.
const searchRoom = 16

// growAfter is how many bytes without a match make the search look at fewer places.
const growAfter = 1 << 7

// add adds a sequence whose literals begin at anchor. The 16 bytes behind the literals can be read,
// too. The length of the match is set later.
func (f *finder) add(src unsafe.Pointer, anchor, literals, offset int) {
	s := &f.sequences[f.found]
	s.literals, s.offset = uint32(literals), uint32(offset)
	f.found++
	to, from := unsafe.Add(unsafe.Pointer(&f.literals), f.literalCount), unsafe.Add(src, anchor)
	f.literalCount += literals
	*(*[16]byte)(to) = *(*[16]byte)(from)
	for n := 16; n < literals; n += 16 {
		*(*[16]byte)(unsafe.Add(to, n)) = *(*[16]byte)(unsafe.Add(from, n))
	}
}

// matchLength returns how many bytes from a on are the same as those from b on. a is behind b, and
// end is the end.
func matchLength(src unsafe.Pointer, a, b, end int) int {
	from := a
	for a <= end-8 {
		if x := load64(src, a) ^ load64(src, b); x != 0 {
			return a - from + bits.TrailingZeros64(x)>>3
		}
		a, b = a+8, b+8
	}
	for a < end && *(*byte)(unsafe.Add(src, a)) == *(*byte)(unsafe.Add(src, b)) {
		a, b = a+1, b+1
	}
	return a - from
}

func load64(p unsafe.Pointer, i int) uint64 {
	return binary.LittleEndian.Uint64((*[8]byte)(unsafe.Add(p, i))[:])
}

func load32(p unsafe.Pointer, i int) uint32 {
	return binary.LittleEndian.Uint32((*[4]byte)(unsafe.Add(p, i))[:])
}

// place returns the entry of a table of places.
func place(table unsafe.Pointer, hash uint64) *uint32 {
	return (*uint32)(unsafe.Add(table, hash*4))
}

// primes by the number of bytes that are hashed: multiplied by one, these bytes of a word are in
// its highest bits.
var primes = [9]uint64{
	4: 2654435761 << 32, 5: 889523592379 << 24, 6: 227718039650203 << 16, 7: 58295818150454627 << 8,
	8: 0xCF1BBCDCB7A56463,
}
