package object

import (
	"sync"

	"github.com/zarrfs/zarrfs/zarrcore/codec"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// This file says which bytes of a blosc buffer come with it from a remote store where a part of it
// is wanted. Its header, its block offsets and the block should take one request.

// Bounds of what is kept of blosc buffers, in bytes and in arrays, and of the bytes that come
// because they are probably needed.
const (
	mostBlocks      = 4 << 20
	mostBlockArrays = 1 << 10
	mostGuessed     = 4 << 20
)

// blocks keeps where the blocks of objects that were read in part are. All methods may be called
// concurrently.
type blocks struct {
	mu    sync.Mutex
	known map[shardID]blocksOf
	bytes int64
	usual map[uint64]usualBlocks // by generation
}

// blocksOf are the blocks of an object of a version.
type blocksOf struct {
	codec.Blocks
	version string
}

// usualBlocks are those of the last object of an array that was read in part.
type usualBlocks struct {
	codec.Blocks
	excess int64 // most of that of the last few; see Blocks.Excess
}

// note notes the blocks of an object.
func (k *blocks) note(id shardID, b blocksOf) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil || k.bytes > mostBlocks {
		k.known, k.bytes = map[shardID]blocksOf{}, 0
	}
	if k.usual == nil || len(k.usual) >= mostBlockArrays {
		k.usual = map[uint64]usualBlocks{}
	}
	if b.version != "" {
		if old, ok := k.known[id]; ok {
			k.bytes -= old.Bytes()
		}
		k.known[id] = b
		k.bytes += b.Bytes()
	}
	excess := k.usual[id.array].excess
	k.usual[id.array] = usualBlocks{b.Blocks, max(b.Excess(), excess-excess/8)}
}

// of returns the blocks of an object as it was last.
func (k *blocks) of(id shardID) (blocksOf, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	b, ok := k.known[id]
	return b, ok
}

// forget forgets an object that has changed.
func (k *blocks) forget(id shardID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if old, ok := k.known[id]; ok {
		k.bytes -= old.Bytes()
		delete(k.known, id)
	}
}

// guess returns where in an object the blocks with bytes [lo, hi) of a chunk of size bytes probably
// end. It also returns how many bytes these blocks take. It judges by other objects of the array.
// Both are 0 if none was read.
func (k *blocks) guess(array uint64, lo, hi, size int64) (end, n int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	u, ok := k.usual[array]
	if !ok {
		return 0, 0
	}
	encoded, decoded := u.Encoded()
	if decoded != size {
		return 0, 0
	}
	off, n := u.About(lo, hi)
	return min(off+n+u.excess, encoded) + encoded/64, n
}

// wantOfBlocks returns the bytes of a part of a blosc buffer of size bytes. If its blocks are known
// it is these. Otherwise it is all up to where they probably end, if what comes in vain takes no
// longer than the round trip that is saved. Otherwise it is the head, which says where they are.
func (o Opener) wantOfBlocks(key string, p Part, size int64) store.Want {
	lo, hi := p.Off, p.Off+p.N
	if b, ok := o.Shared.blocks.of(shardID{o.Array, key}); ok {
		off, n := b.Range(lo, hi)
		return store.Want{Off: off, N: n, Version: b.version}
	}
	end, n := o.Shared.blocks.guess(o.Array, lo, hi, size)
	if end-n > o.Carries || end > mostGuessed {
		end = 0
	}
	return store.Want{N: max(end, codec.HeadBytes)}
}

// Blocks implements codec.BlockCache, for objects of remote stores.
func (r *Reader) Blocks() (b codec.Blocks, known bool) {
	if !r.isRemote {
		return b, false
	}
	of, known := r.from.Shared.blocks.of(shardID{r.from.Array, r.key})
	return of.Blocks, known && of.version == r.Info().Version
}

// NoteBlocks implements codec.BlockCache.
func (r *Reader) NoteBlocks(b codec.Blocks) {
	if r.isRemote && b.Bytes() <= mostBlocks/4 {
		id := shardID{r.from.Array, r.key}
		r.from.Shared.blocks.note(id, blocksOf{b, r.Info().Version})
	}
}
