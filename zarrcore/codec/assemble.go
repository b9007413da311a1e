package codec

import (
	"cmp"
	"fmt"
	"io"
	"slices"
)

// A Sink takes an object as it is assembled.
type Sink interface {
	// Write appends a part, which it does not keep.
	io.Writer

	// WriteAt replaces bytes that were written before: the index of a shard that begins with it.
	io.WriterAt
}

// Compare orders the chunks of an object by where they lie in it: below 0 if a, counted as in
// Decode, lies before b.
func (c *Chain) Compare(a, b int64) int {
	for i := range c.levels {
		if d := cmp.Compare(c.number(&c.levels[i], a), c.number(&c.levels[i], b)); d != 0 {
			return d
		}
	}
	return 0
}

// Assemble writes an object to dst: the chunks inner, in the order of Compare, each at most once,
// and of a shard every other chunk of old, byte for byte. next returns those chunks one by one, as
// EncodeChunk made them. It keeps each until it is called again. A chunk that is nil is all fill
// value, and is not stored. old is nil where no object is stored. empty says that no chunk is left:
// nothing was written, and the object should be deleted. Chunks follow each other in the order of
// the shard's index, whatever their order was in old.
//
// Of an object it holds one part, of at most partBytes, beside what next returns.
func (c *Chain) Assemble(
	dst Sink, old Source, inner []int64, next func() ([]byte, error),
) (empty bool, err error) {
	if !c.IsSharded() {
		return c.single(dst, inner, next)
	}
	a := assembly{chain: c, next: next}
	if a.pieces, err = c.place(inner); err != nil {
		return false, err
	}
	var was span
	if old != nil {
		was = span{old, 0, old.Size()}
		a.room = was.n
		// otherwise its elements have no fixed size, and its length is not known
		if c.chunk != nil {
			a.room = min(was.n, c.longest())
		}
	}
	a.out = newOutput(dst, a.size())
	defer a.out.release()
	s, err := a.shard(nil, 0, was)
	if err == nil {
		err = a.out.flush()
	}
	if err != nil {
		return false, cmp.Or(a.out.failed, err) // a full disk is not an error of the chunk
	}
	return !s.stored, nil
}

// single is Assemble for an object that is one chunk.
func (c *Chain) single(
	dst Sink, inner []int64, next func() ([]byte, error),
) (empty bool, err error) {
	if len(inner) == 0 {
		return true, nil
	}
	if _, err := c.place(inner); err != nil {
		return false, err
	}
	data, err := next()
	if err != nil || data == nil {
		return err == nil, err
	}
	_, err = dst.Write(data)
	return false, err
}

// place returns, for each chunk, its number in the index of every level.
func (c *Chain) place(inner []int64) ([][]int64, error) {
	list := make([][]int64, len(inner))
	numbers := make([]int64, len(inner)*len(c.levels))
	for i, n := range inner {
		if err := c.checkInner(n); err != nil {
			return nil, err
		}
		list[i], numbers = numbers[:len(c.levels):len(c.levels)], numbers[len(c.levels):]
		for l := range c.levels {
			list[i][l] = c.number(&c.levels[l], n)
		}
		if i > 0 && slices.Compare(list[i-1], list[i]) >= 0 {
			return nil, fmt.Errorf("codec: expected chunks in rising order, found %d after %d",
				n, inner[i-1])
		}
	}
	return list, nil
}

// assembly is one object being assembled.
type assembly struct {
	chain  *Chain
	out    *output
	pieces [][]int64 // where the chunks that come next lie in each level
	next   func() ([]byte, error)
	// bytes of the old object that may still be copied: a limit for chunks that overlap
	room int64
}

// size is how long the object may become; a guess where its elements have no fixed size.
func (a *assembly) size() int64 {
	if a.chain.chunk == nil {
		return partBytes
	}
	return a.room + a.chain.levels.indexBytes() + int64(len(a.pieces))*a.chain.EncodedBytes()
}

// longest is how long a shard may sensibly be. Half of that is for gaps, which rewritten chunks
// leave.
func (c *Chain) longest() int64 {
	return 2*(c.PerObject()*c.chunk.encoded.limit+c.levels.indexBytes()) + slack
}
