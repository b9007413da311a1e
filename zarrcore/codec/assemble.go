package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/zarrfs/zarrfs/compress"
)

// A Piece is one encoded chunk of an object.
type Piece struct {
	Inner int64  // its number, counted as in Decode
	Data  []byte // as EncodeChunk made it; nil: the chunk is all fill value and is not stored
}

// Assemble appends an object to dst: the pieces, sorted by Inner, each at most once, and of a shard
// every other chunk of old, byte for byte. old is nil where no object is stored. empty says that no
// chunk is left: nothing is appended, and the object should be deleted. Chunks follow each other in
// the order of the shard's index, whatever their order was in old.
func (c *Chain) Assemble(dst []byte, old Source, pieces []Piece) (obj []byte, empty bool, err error) {
	if err := c.checkPieces(pieces); err != nil {
		return dst, false, err
	}
	if !c.Sharded() {
		if len(pieces) == 0 || pieces[0].Data == nil {
			return dst, true, nil
		}
		return append(dst, pieces[0].Data...), false, nil
	}
	a := assembly{chain: c, pieces: c.place(pieces)}
	var was span
	if old != nil {
		was = span{old, 0, old.Size()}
		a.room = was.n
		if c.chunk != nil { // otherwise its elements have no fixed size, and its length is not known
			a.room = min(was.n, c.longest())
		}
	}
	size := a.room + c.indexBytes()
	for _, p := range pieces {
		size += int64(len(p.Data))
	}
	obj, err = a.shard(slices.Grow(dst, int(size)), 0, was)
	if err != nil {
		return dst, false, err
	}
	return obj, len(obj) == len(dst), nil
}

func (c *Chain) checkPieces(pieces []Piece) error {
	last := int64(-1)
	for _, p := range pieces {
		if err := c.checkInner(p.Inner); err != nil {
			return err
		}
		if p.Inner <= last {
			return fmt.Errorf("codec: expected pieces in rising order, found %d behind %d", p.Inner, last)
		}
		last = p.Inner
	}
	return nil
}

// placed is a piece with its number in the index of every level.
type placed struct {
	at   []int64
	data []byte
}

// place sorts pieces as they will lie in the object.
func (c *Chain) place(pieces []Piece) []placed {
	list := make([]placed, len(pieces))
	numbers := make([]int64, len(pieces)*len(c.levels))
	for i, p := range pieces {
		at := numbers[:len(c.levels):len(c.levels)]
		numbers = numbers[len(c.levels):]
		for l := range c.levels {
			at[l] = c.number(&c.levels[l], p.Inner)
		}
		list[i] = placed{at, p.Data}
	}
	slices.SortFunc(list, func(a, b placed) int { return slices.Compare(a.at, b.at) })
	return list
}

// assembly is one object being assembled; what is left of pieces comes next.
type assembly struct {
	chain  *Chain
	pieces []placed
	room   int64 // how many bytes of the old object may still be copied: chunks that overlap must not become a flood
}

// longest is the longest that a shard may sensibly be, with as many bytes again for the gaps of
// chunks once rewritten.
func (c *Chain) longest() int64 {
	return 2*(c.PerObject()*c.chunk.encoded.limit+c.indexBytes()) + slack
}

// indexBytes is the length of all indexes of an object that holds every chunk.
func (c *Chain) indexBytes() int64 {
	n, shards := int64(0), int64(1)
	for _, l := range c.levels {
		n += shards * l.index.codecs.encoded.size
		shards *= l.index.n
	}
	return n
}

// shard appends one shard of a level: the next pieces, and what is left of the old one, if there
// was any. It appends nothing if no chunk is left.
func (a *assembly) shard(dst []byte, level int, old span) ([]byte, error) {
	r := a.chain.levels[level].index
	w := r.begin(dst)
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
	if err := w.copyRun(); err != nil {
		return nil, err
	}
	if !w.stored {
		return dst, nil
	}
	return w.finish(r)
}

// chunk appends chunk i of a level's shard.
func (a *assembly) chunk(w *shardWriter, level int, i int64) error {
	if len(a.pieces) == 0 || a.pieces[0].at[level] != i {
		n, err := w.keep(i)
		if a.room -= n; a.room < 0 {
			err = fmt.Errorf("%w: the shard's chunks overlap, or are longer than expected", compress.ErrCorrupt)
		}
		return err
	}
	if err := w.copyRun(); err != nil {
		return err
	}
	off := len(w.obj)
	if level == len(a.chain.levels)-1 {
		w.obj = append(w.obj, a.pieces[0].data...)
		a.pieces = a.pieces[1:]
		w.enter(i, off)
		return nil
	}
	inner, err := w.locate(i)
	if errors.Is(err, ErrEmpty) {
		inner, err = span{}, nil
	}
	if err != nil {
		return err
	}
	end := a.pieces
	a.pieces = samePrefix(a.pieces, level)
	rest := end[len(a.pieces):]
	if w.obj, err = a.shard(w.obj, level+1, inner); err != nil {
		return err
	}
	a.pieces = rest
	w.enter(i, off)
	return nil
}

// samePrefix is as many pieces as lie in the same chunk of a level.
func samePrefix(pieces []placed, level int) []placed {
	n := 1
	for n < len(pieces) && slices.Equal(pieces[n].at[:level+1], pieces[0].at[:level+1]) {
		n++
	}
	return pieces[:n]
}

// shardWriter is one shard being written.
type shardWriter struct {
	obj    []byte
	start  int // where the shard begins in obj
	index  *Index
	stored bool // a chunk has been written

	old span // the shard as it was; without a source there was none
	was *Index
	run span // chunks that lie one behind the other in the old shard and are to be copied
}

// locate finds a chunk in the old shard; ErrEmpty if it holds none.
func (w *shardWriter) locate(i int64) (span, error) {
	if w.was == nil {
		return span{}, ErrEmpty
	}
	return w.was.locate(i, w.old)
}

// keep copies a chunk of the old shard, if it holds one. Chunks that follow each other there are
// copied at once. It returns how many bytes that is.
func (w *shardWriter) keep(i int64) (int64, error) {
	s, err := w.locate(i)
	if errors.Is(err, ErrEmpty) {
		return 0, nil
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
	w.enterRange(i, len(w.obj)+int(w.run.n), s.n)
	w.run.n += s.n
	return s.n, nil
}

// copyRun copies the chunks that wait to be.
func (w *shardWriter) copyRun() error {
	if w.run.n == 0 {
		return nil
	}
	n := len(w.obj)
	w.obj = slices.Grow(w.obj, int(w.run.n))[:n+int(w.run.n)]
	err := w.run.read(w.obj[n:], 0)
	w.run = span{}
	return err
}

// enter puts chunk i, which lies from byte off of the object to its end, into the index.
func (w *shardWriter) enter(i int64, off int) {
	if n := len(w.obj) - off; n > 0 {
		w.enterRange(i, off, int64(n))
	}
}

func (w *shardWriter) enterRange(i int64, off int, n int64) {
	w.index.entries[i] = indexEntry{uint64(off - w.start), uint64(n)}
	w.stored = true
}

// finish writes the index.
func (w *shardWriter) finish(r *indexReader) ([]byte, error) {
	if !r.atStart {
		return r.encode(w.obj, w.index)
	}
	mem := getBuffer(r.codecs.encoded.size)
	defer mem.release()
	index, err := r.encode(mem.b[:0], w.index)
	copy(w.obj[w.start:], index)
	return w.obj, err
}

// begin begins a shard of no chunks behind dst.
func (r *indexReader) begin(dst []byte) *shardWriter {
	w := &shardWriter{obj: dst, start: len(dst), index: &Index{entries: make([]indexEntry, r.n)}}
	for i := range w.index.entries {
		w.index.entries[i] = indexEntry{^uint64(0), ^uint64(0)}
	}
	if r.atStart {
		w.obj = append(w.obj, make([]byte, r.codecs.encoded.size)...)
	}
	return w
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
		err = fmt.Errorf("%w: expected an index of %d bytes, found %d", compress.ErrCorrupt, r.codecs.encoded.size, len(out)-len(dst))
	}
	if err != nil {
		return dst, fmt.Errorf("shard index: %w", err)
	}
	return out, nil
}
