package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
)

// ErrEmpty says that a shard holds no such chunk: it is all fill value.
var ErrEmpty = errors.New("the shard holds no such chunk")

// maxIndex is the most bytes that a decoded shard index may take: 4 Mi chunks in one shard.
const maxIndex = 64 << 20

// Index is the decoded index of one shard: where each of its chunks lies. It never changes.
type Index struct {
	entries []indexEntry
}

type indexEntry struct{ off, n uint64 }

// Bytes is the memory that the index takes.
func (x *Index) Bytes() int64 { return int64(len(x.entries)) * 16 }

// An IndexCache is optionally implemented by a Source, to keep decoded shard indexes.
type IndexCache interface {
	// ShardIndex returns the index of the shard of n bytes that begins at byte off of the object.
	// load reads and decodes the index. A nested shard may begin at the same byte as the outer one,
	// but is shorter.
	ShardIndex(off, n int64, load func() (*Index, error)) (*Index, error)
}

// locate returns the stretch of chunk i within a shard, or ErrEmpty. Offsets count from the shard's
// first byte, wherever its index stands.
func (x *Index) locate(i int64, shard span) (span, error) {
	if i >= int64(len(x.entries)) {
		return span{}, fmt.Errorf("%w: shard index of %d chunks, expected chunk %d",
			compress.ErrCorrupt, len(x.entries), i)
	}
	e, size := x.entries[i], uint64(shard.n)
	switch {
	case e.off == ^uint64(0) && e.n == ^uint64(0):
		return span{}, ErrEmpty
	case e.n == 0:
		return span{}, fmt.Errorf("%w: shard index: chunk %d has length 0", compress.ErrCorrupt, i)
	case e.off > size || e.n > size-e.off:
		return span{}, fmt.Errorf("%w: shard index: chunk %d is %d bytes at offset %d, "+
			"expected within the shard's %d bytes",
			compress.ErrCorrupt, i, e.n, e.off, size)
	}
	return shard.part(int64(e.off), int64(e.n)), nil
}

// indexReader reads the index of shards of n chunks.
type indexReader struct {
	n       int64
	atStart bool
	codecs  *pipeline
	big     bool
	filled  bool      // an index is refused whose chunks do not fill the shard
	loaders sync.Pool // of *indexLoader
}

// newIndexReader binds the codecs of the index of that many chunks along each axis. They must leave
// a fixed size: it is how the index is found.
func newIndexReader(counts []int64, codecs []meta.Codec, atStart bool) (*indexReader, error) {
	n, err := product(1, counts)
	if err != nil {
		return nil, err
	}
	if n > maxIndex/16 {
		return nil, fmt.Errorf("a shard of %d chunks: expected at most %d", n, maxIndex/16)
	}
	order, err := meta.ByteOrder("index_codecs", codecs)
	if err != nil {
		return nil, err
	}
	shape := append(slices.Clone(counts), 2)
	p, err := bindPipeline(codecs, state{
		order: order, array: true, typ: dtype.Type{Kind: dtype.Uint, Size: 8, Order: order},
		shape: shape, begin: shape, axes: identityAxes(len(shape)), size: 16 * n, limit: 16 * n,
	})
	if err != nil {
		return nil, fmt.Errorf("index_codecs: %w", err)
	}
	if p.encoded.size == unknown {
		return nil, errors.New("index_codecs: expected codecs of a fixed size, found a compressor")
	}
	return &indexReader{n: n, atStart: atStart, codecs: p, big: order == dtype.Big}, nil
}

// find returns a shard's index, from the cache of its source if there is one.
func (r *indexReader) find(shard span) (*Index, error) {
	cache, ok := shard.src.(IndexCache)
	if !ok {
		return r.load(shard)
	}
	l, ok := r.loaders.Get().(*indexLoader)
	if !ok {
		l = &indexLoader{reader: r}
		l.bound = l.load
	}
	l.shard = shard
	x, err := cache.ShardIndex(shard.off, shard.n, l.bound)
	l.shard = span{}
	r.loaders.Put(l)
	if err == nil && int64(len(x.entries)) != r.n { // kept by a chain for a shard of another length
		return r.load(shard)
	}
	return x, err
}

// indexLoader is a reused closure, so that an index that is at hand costs no allocation.
type indexLoader struct {
	reader *indexReader
	shard  span
	bound  func() (*Index, error)
}

func (l *indexLoader) load() (*Index, error) { return l.reader.load(l.shard) }

// load reads and decodes an index.
func (r *indexReader) load(shard span) (*Index, error) {
	size := r.codecs.encoded.size
	if shard.n < size {
		return nil, fmt.Errorf("%w: shard of %d bytes, expected at least its index of %d",
			compress.ErrCorrupt, shard.n, size)
	}
	off := shard.n - size
	if r.atStart {
		off = 0
	}
	mem := getBuffer(r.codecs.size)
	defer mem.release()
	raw := mem.b[:r.codecs.size]
	if err := r.codecs.decode(raw, shard.part(off, size)); err != nil {
		return nil, fmt.Errorf("shard index: %w", err)
	}
	if r.big {
		swapBytes(raw, 8)
	}
	x := &Index{entries: make([]indexEntry, r.n)}
	for i := range x.entries {
		x.entries[i] = indexEntry{binary.LittleEndian.Uint64(raw[16*i:]),
			binary.LittleEndian.Uint64(raw[16*i+8:])}
	}
	if r.filled {
		return x, x.fills(shard.n, shard.n-size)
	}
	return x, nil
}

// fills returns compress.ErrCorrupt unless the chunks have that many bytes in all. size is the
// shard's.
func (x *Index) fills(size, bytes int64) error {
	found := x.chunkBytes(size)
	if found == bytes {
		return nil
	}
	return fmt.Errorf(
		"%w: shard index of %d chunks, without a checksum: expected chunks of %d bytes in all, "+
			"found %d", compress.ErrCorrupt, len(x.entries), bytes, found)
}

// chunkBytes is how many bytes the chunks of a shard have in all. The result is above most, the
// shard's length, if that cannot be.
func (x *Index) chunkBytes(most int64) int64 {
	all := int64(0)
	for _, e := range x.entries {
		if all = e.added(all, most); all > most {
			break
		}
	}
	return all
}

// added is how many bytes a chunk and those before it have, or most+1 if that cannot be.
func (e indexEntry) added(before, most int64) int64 {
	switch {
	case e.off == ^uint64(0) && e.n == ^uint64(0):
		return before
	case e.n == 0 || e.n > uint64(most-before):
		return most + 1
	}
	return before + int64(e.n)
}

// isChecked reports whether the index has a checksum.
func (r *indexReader) isChecked() bool { return r.codecs.encoded.size > 16*r.n }
