package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/zarrfs/zarrfs/compress"
)

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
