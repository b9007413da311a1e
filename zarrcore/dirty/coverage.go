package dirty

import (
	"math/bits"
	"slices"
	"sort"
)

// maxSpans is how many stretches a coverage lists at most before it turns to one
// bit per byte: a program that writes every other element would make a list of
// millions. In small chunks it is where the list takes more memory than the bits.
const maxSpans = 1024

// spanBytes is what a span takes in memory.
const spanBytes = 16

// A span is the stretch [lo, hi) of a chunk's bytes.
type span struct{ lo, hi int64 }

// A coverage is a set of a chunk's bytes. The zero value is empty.
type coverage struct {
	spans []span   // sorted, neither overlapping nor touching
	bits  []uint64 // bit i%64 of word i/64 is byte i; in use instead of spans where not nil
	count int64    // bytes in the set
}

// add puts [lo, hi) into the set, of a chunk of size bytes.
func (c *coverage) add(lo, hi, size int64) {
	if lo >= hi {
		return
	}
	if c.bits == nil {
		c.addSpan(lo, hi)
		if n := int64(len(c.spans)); n > maxSpans || n > 8 && n*spanBytes > size/8 {
			c.toBits(size)
		}
		return
	}
	c.setBits(lo, hi)
}

// memory returns the bytes that the coverage takes.
func (c *coverage) memory() int64 { return int64(cap(c.spans))*spanBytes + int64(len(c.bits))*8 }

func (c *coverage) addSpan(lo, hi int64) {
	s := c.spans
	// the first that touches or follows
	first := sort.Search(len(s), func(i int) bool { return s[i].hi >= lo })
	end := first
	merged := span{lo, hi}
	for end < len(s) && s[end].lo <= hi {
		merged.lo, merged.hi = min(merged.lo, s[end].lo), max(merged.hi, s[end].hi)
		c.count -= s[end].hi - s[end].lo
		end++
	}
	c.count += merged.hi - merged.lo
	c.spans = slices.Replace(s, first, end, merged)
}

func (c *coverage) toBits(size int64) {
	spans := c.spans
	c.spans, c.bits, c.count = nil, make([]uint64, (size+63)/64), 0
	for _, s := range spans {
		c.setBits(s.lo, s.hi)
	}
}

// grow makes room for a chunk of size bytes.
func (c *coverage) grow(size int64) {
	if words := int(size+63) / 64; c.bits != nil && words > len(c.bits) {
		c.bits = append(c.bits, make([]uint64, words-len(c.bits))...)
	}
}

func (c *coverage) setBits(lo, hi int64) {
	c.eachWord(lo, hi, func(w *uint64, mask uint64) {
		c.count += int64(bits.OnesCount64(mask &^ *w))
		*w |= mask
	})
}

// eachWord calls f for each word that holds bits of [lo, hi), with a mask of them.
func (c *coverage) eachWord(lo, hi int64, f func(w *uint64, mask uint64)) {
	for lo < hi {
		end := min(hi, lo/64*64+64)
		mask := ^uint64(0) << (lo % 64)
		if end%64 != 0 {
			mask &= 1<<(end%64) - 1
		}
		f(&c.bits[lo/64], mask)
		lo = end
	}
}

// truncate takes all bytes from lo on out of the set.
func (c *coverage) truncate(lo int64) {
	if c.bits != nil {
		c.eachWord(lo, int64(len(c.bits))*64, func(w *uint64, mask uint64) {
			c.count -= int64(bits.OnesCount64(mask & *w))
			*w &^= mask
		})
		return
	}
	for n := len(c.spans); n > 0 && c.spans[n-1].hi > lo; n = len(c.spans) {
		last := &c.spans[n-1]
		if last.lo < lo {
			c.count -= last.hi - lo
			last.hi = lo
			return
		}
		c.count -= last.hi - last.lo
		c.spans = c.spans[:n-1]
	}
}

// next returns the first stretch of the set that lies in [lo, hi), cut to it;
// empty, at hi, if there is none.
func (c *coverage) next(lo, hi int64) span {
	if c.bits != nil {
		end := min(hi, int64(len(c.bits))*64) // the chunk may have grown since
		start := c.scan(lo, end, 0)
		if start >= end {
			return span{hi, hi}
		}
		return span{start, c.scan(start, end, ^uint64(0))}
	}
	i := sort.Search(len(c.spans), func(i int) bool { return c.spans[i].hi > lo })
	if i == len(c.spans) || c.spans[i].lo >= hi {
		return span{hi, hi}
	}
	return span{max(lo, c.spans[i].lo), min(hi, c.spans[i].hi)}
}

// scan returns the first byte of [lo, hi) that is in the set (flip 0), or is not (flip all ones).
// It returns hi if there is none.
func (c *coverage) scan(lo, hi int64, flip uint64) int64 {
	for lo < hi {
		w := (c.bits[lo/64] ^ flip) >> (lo % 64)
		if w != 0 {
			return min(hi, lo+int64(bits.TrailingZeros64(w)))
		}
		lo = lo/64*64 + 64
	}
	return hi
}

// walk goes through [lo, hi) in order: in is called for stretches of the set,
// out for those between. Either may be nil.
func (c *coverage) walk(lo, hi int64, in, out func(lo, hi int64)) {
	for lo < hi {
		s := c.next(lo, hi)
		if out != nil && s.lo > lo {
			out(lo, s.lo)
		}
		if in != nil && s.hi > s.lo {
			in(s.lo, s.hi)
		}
		lo = s.hi
	}
}

// stretches returns how many stretches the set has in [0, size), or limit if
// they are more.
func (c *coverage) stretches(size int64, limit int) int {
	if c.bits == nil {
		return min(len(c.spans), limit)
	}
	n := 0
	for lo := int64(0); lo < size && n < limit; n++ {
		s := c.next(lo, size)
		if s.lo == s.hi {
			break
		}
		lo = s.hi
	}
	return n
}
