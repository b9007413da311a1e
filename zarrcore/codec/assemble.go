package codec

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/zarrfs/zarrfs/compress"
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
	if !c.Sharded() {
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
			return nil, fmt.Errorf("codec: expected chunks in rising order, found %d behind %d",
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

// shard writes one shard of a level, which is a chunk of outer: the next pieces, and what is left
// of the old one, if there was any. It writes nothing if no chunk is left.
func (a *assembly) shard(outer *shardWriter, level int, old span) (*shardWriter, error) {
	r := a.chain.levels[level].index
	w := &shardWriter{out: a.out, reader: r, outer: outer, index: r.empty()}
	if old.src != nil {
		was, err := r.find(old)
		if err != nil {
			return nil, err
		}
		w.old, w.was = old, was
	}
	for i := range r.n {
		if err := a.chunk(w, level, i); err != nil {
			return nil, fmt.Errorf("chunk %d of the shard: %w", i, err)
		}
	}
	return w, w.finish()
}

// chunk writes chunk i of a level's shard.
func (a *assembly) chunk(w *shardWriter, level int, i int64) error {
	if len(a.pieces) == 0 || a.pieces[0][level] != i {
		n, err := w.keep(i)
		if a.room -= n; a.room < 0 {
			err = fmt.Errorf("%w: the shard's chunks overlap, or are longer than expected",
				compress.ErrCorrupt)
		}
		return err
	}
	if err := w.copyRun(); err != nil {
		return err
	}
	if level == len(a.chain.levels)-1 {
		return a.piece(w, i)
	}
	old, err := w.locate(i)
	if errors.Is(err, ErrEmpty) {
		old, err = span{}, nil
	}
	if err != nil {
		return err
	}
	all := a.pieces
	a.pieces = samePrefix(all, level)
	rest := all[len(a.pieces):]
	inner, err := a.shard(w, level+1, old)
	if err != nil {
		return err
	}
	a.pieces = rest
	if inner.stored {
		w.enter(i, inner.start, a.out.size()-inner.start)
	}
	return nil
}

// piece writes the next piece as chunk i.
func (a *assembly) piece(w *shardWriter, i int64) error {
	a.pieces = a.pieces[1:]
	data, err := a.next()
	if err != nil || len(data) == 0 {
		return err
	}
	if err := w.begin(); err != nil {
		return err
	}
	w.enter(i, a.out.size(), int64(len(data)))
	return a.out.write(data)
}

// samePrefix returns the first pieces, those that lie in the same chunk of a level.
func samePrefix(pieces [][]int64, level int) [][]int64 {
	n := 1
	for n < len(pieces) && slices.Equal(pieces[n][:level+1], pieces[0][:level+1]) {
		n++
	}
	return pieces[:n]
}

// shardWriter is one shard being written. It begins with its first chunk.
type shardWriter struct {
	out    *output
	reader *indexReader
	outer  *shardWriter // of which it is a chunk; nil: it is the object
	start  int64        // where it begins in the object
	index  *Index
	stored bool // it has begun

	old span // the shard as it was; its source is nil if there was none
	was *Index
	run span // chunks that lie one behind the other in the old shard and are to be copied
}

// begin leaves room for an index that comes before the chunks.
func (w *shardWriter) begin() error {
	if w.stored {
		return nil
	}
	if w.outer != nil {
		if err := w.outer.begin(); err != nil {
			return err
		}
	}
	w.start, w.stored = w.out.size(), true
	if !w.reader.atStart {
		return nil
	}
	return w.out.skip(w.reader.codecs.encoded.size)
}

// locate finds a chunk in the old shard; ErrEmpty if it holds none.
func (w *shardWriter) locate(i int64) (span, error) {
	if w.was == nil {
		return span{}, ErrEmpty
	}
	return w.was.locate(i, w.old)
}

// keep copies a chunk of the old shard, if it holds one, and returns its length. Chunks that follow
// each other there are copied at once.
func (w *shardWriter) keep(i int64) (int64, error) {
	s, err := w.locate(i)
	if errors.Is(err, ErrEmpty) {
		return 0, nil
	}
	if err == nil {
		err = w.begin()
	}
	if err != nil {
		return 0, err
	}
	if w.run.n == 0 || w.run.off+w.run.n != s.off {
		if err := w.copyRun(); err != nil {
			return 0, err
		}
		w.run = span{s.src, s.off, 0}
	}
	w.enter(i, w.out.size()+w.run.n, s.n)
	w.run.n += s.n
	return s.n, nil
}

// copyRun copies the chunks that are in run.
func (w *shardWriter) copyRun() error {
	run := w.run
	w.run = span{}
	return w.out.copy(run)
}

// enter puts chunk i, of n bytes from byte off of the object on, into the index.
func (w *shardWriter) enter(i, off, n int64) {
	w.index.entries[i] = indexEntry{uint64(off - w.start), uint64(n)}
}

// finish writes what is still to be written, and the index.
func (w *shardWriter) finish() error {
	if err := w.copyRun(); err != nil || !w.stored {
		return err
	}
	r := w.reader
	mem := getBuffer(r.codecs.encoded.size)
	defer mem.release()
	index, err := r.encode(mem.b[:0], w.index)
	switch {
	case err != nil:
		return err
	case r.atStart:
		return w.out.writeAt(index, w.start)
	}
	return w.out.write(index)
}

// empty is an index of no chunks.
func (r *indexReader) empty() *Index {
	x := &Index{entries: make([]indexEntry, r.n)}
	for i := range x.entries {
		x.entries[i] = indexEntry{^uint64(0), ^uint64(0)}
	}
	return x
}

// encode appends an encoded index.
func (r *indexReader) encode(dst []byte, x *Index) ([]byte, error) {
	mem := getBuffer(r.codecs.size)
	defer mem.release()
	raw := mem.b[:0]
	for _, e := range x.entries {
		raw = binary.LittleEndian.AppendUint64(raw, e.off)
		raw = binary.LittleEndian.AppendUint64(raw, e.n)
	}
	if r.big {
		swapBytes(raw, 8)
	}
	out, err := r.codecs.encode(dst, raw)
	if err == nil && int64(len(out)-len(dst)) != r.codecs.encoded.size {
		err = fmt.Errorf("%w: expected an index of %d bytes, found %d",
			compress.ErrCorrupt, r.codecs.encoded.size, len(out)-len(dst))
	}
	if err != nil {
		return dst, fmt.Errorf("shard index: %w", err)
	}
	return out, nil
}
