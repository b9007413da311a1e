package codec

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
)

const (
	shardingName = "sharding_indexed"
	maxShardings = 16 // shards within shards
)

// sharding_indexed (v3 core) stores an array as chunks of its own, each with its own codecs, and an
// index of where they are. Chain reads such chunks apart where it can (levels in chain.go). Here is
// the other case: a filter before the sharding codec or a compressor behind it makes the shard one
// block, which is decoded whole.
func init() { register(shardingName, bindSharding) }

// sharding is the codec's configuration, checked.
type sharding struct {
	chunk  []int64 // shape of its chunks
	counts []int64 // chunks along each axis
	codecs []meta.Codec
	index  *indexReader
}

// parseSharding reads and checks a configuration for shards that are arrays as in says.
func parseSharding(in state, cfg config) (*sharding, error) {
	if !in.array {
		return nil, errors.New("needs an array, found bytes")
	}
	if in.depth >= maxShardings {
		return nil, fmt.Errorf("expected at most %d levels of sharding", maxShardings)
	}
	s := &sharding{counts: make([]int64, len(in.shape))}
	var err error
	if s.chunk, err = cfg.lengths("chunk_shape", len(in.shape), 1); err != nil {
		return nil, err
	}
	for a, c := range s.chunk {
		if in.shape[a]%c != 0 {
			return nil, fmt.Errorf("configuration \"chunk_shape\": "+
				"%v does not divide the shard's shape %v", s.chunk, in.shape)
		}
		s.counts[a] = in.shape[a] / c
	}
	if s.codecs, err = cfg.codecs("codecs"); err != nil {
		return nil, err
	}
	indexCodecs, err := cfg.codecs("index_codecs")
	if err != nil {
		return nil, err
	}
	where, err := cfg.oneOf("index_location", "end", "end", "start")
	if err != nil {
		return nil, err
	}
	s.index, err = newIndexReader(s.counts, indexCodecs, where == "start")
	if err == nil {
		s.index.filled = in.ends && !s.index.isChecked()
	}
	return s, err
}

// inside is the state that the codecs of one chunk begin with.
func (s *sharding) inside(in state) state {
	out := in
	out.depth++
	out.ends = false
	out.shape = s.chunk
	out.begin = slices.Clone(in.begin)
	for i, axis := range in.axes {
		if axis != newAxis {
			out.begin[axis] = s.chunk[i]
		}
	}
	out.size = in.typ.Size
	for _, n := range s.chunk {
		out.size *= n
	}
	out.limit = out.size
	return out
}

// wholeShard decodes and encodes a shard that is in memory.
type wholeShard struct {
	*sharding
	chunks  *pipeline
	scatter permute
	gather  permute
	stride  []int64 // bytes between neighbouring chunks in the decoded shard, along each axis
	fill    []byte
	size    int64
}

func bindSharding(in state, cfg config) (step, state, error) {
	s, err := parseSharding(in, cfg)
	if err != nil {
		return step{}, in, err
	}
	inside := s.inside(in)
	chunks, err := bindPipeline(s.codecs, inside)
	if err != nil {
		return step{}, in, err
	}
	w := &wholeShard{sharding: s, chunks: chunks, fill: in.fill, size: in.size}
	w.scatter = newScatter(in.shape, s.chunk, in.typ.Size)
	w.gather = newGather(in.shape, s.chunk, in.typ.Size)
	w.stride = strides(in.shape, in.typ.Size)
	for a, n := range s.chunk {
		w.stride[a] *= n
	}
	out := in.bytes(0)
	out.size = unknown
	// Shards may have gaps where chunks were rewritten: twice as many bytes are allowed.
	out.limit = 2*s.index.n*chunks.encoded.limit + s.index.codecs.encoded.size
	return step{move: w, enc: w, why: cmp.Or(chunks.why, s.index.codecs.why)}, out, nil
}

func (w *wholeShard) decode(dst, src []byte) (int, error) {
	shard := span{memory(src), 0, int64(len(src))}
	index, err := w.index.load(shard)
	if err != nil {
		return 0, err
	}
	mem := getBuffer(w.chunks.size)
	defer mem.release()
	chunk := mem.b[:w.chunks.size]
	at := make([]int64, len(w.counts))
	for i := range w.index.n {
		if err := w.decodeChunk(chunk, index, i, shard); err != nil {
			return 0, fmt.Errorf("chunk %v of the shard: %w", at, err)
		}
		w.scatter.run(dst[w.offset(at):], chunk)
		advance(at, w.counts)
	}
	return int(w.size), nil
}

// offset is where a chunk begins in the decoded shard.
func (w *wholeShard) offset(at []int64) int64 {
	off := int64(0)
	for a, k := range at {
		off += k * w.stride[a]
	}
	return off
}

// encode leaves out chunks that are all fill value.
func (w *wholeShard) encode(dst, src []byte) ([]byte, error) {
	mem := getBuffer(w.chunks.size)
	defer mem.release()
	chunk := mem.b[:w.chunks.size]
	at := make([]int64, len(w.counts))
	index, out := w.index.empty(), dst
	if w.index.atStart {
		out = append(out, make([]byte, w.index.codecs.encoded.size)...)
	}
	for i := range w.index.n {
		w.gather.run(chunk, src[w.offset(at):])
		if !repeats(chunk, w.fill) {
			off := len(out)
			var err error
			if out, err = w.chunks.encode(out, chunk); err != nil {
				return dst, fmt.Errorf("chunk %v of the shard: %w", at, err)
			}
			if n := len(out) - off; n > 0 {
				index.entries[i] = indexEntry{uint64(off - len(dst)), uint64(n)}
			}
		}
		advance(at, w.counts)
	}
	if !w.index.atStart {
		return w.index.encode(out, index)
	}
	room := getBuffer(w.index.codecs.encoded.size)
	defer room.release()
	encoded, err := w.index.encode(room.b[:0], index)
	copy(out[len(dst):], encoded)
	return out, err
}

// repeats reports whether b is one element over and over. It does not if there is no element.
func repeats(b, element []byte) bool {
	n := len(element)
	return n > 0 && len(b) >= n && bytes.Equal(b[:n], element) && bytes.Equal(b[n:], b[:len(b)-n])
}

func (w *wholeShard) decodeChunk(chunk []byte, index *Index, i int64, shard span) error {
	s, err := index.locate(i, shard)
	switch {
	case err == nil:
		return w.chunks.decode(chunk, s)
	case !errors.Is(err, ErrEmpty):
		return err
	case len(w.fill) == 0:
		return fmt.Errorf("an empty chunk in a shard after a filter, "+
			"which changes the fill value: %w", errors.ErrUnsupported)
	}
	layout.Repeat(chunk, w.fill)
	return nil
}

// advance counts at up by one in C order.
func advance(at, counts []int64) {
	for a := len(at) - 1; a >= 0; a-- {
		if at[a]++; at[a] < counts[a] {
			return
		}
		at[a] = 0
	}
}
