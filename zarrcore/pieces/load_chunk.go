package pieces

import (
	"context"
	"errors"
	iofs "io/fs"
	"runtime"
	"sync"
	"time"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/layout"
	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/chunk"
	"github.com/zarrfs/zarrfs/zarrcore/object"
)

// This file is the way from a chunk's number to its bytes: key, object,
// decoded chunk. A chunk that is not stored becomes the fill value. An object
// that is there but short or corrupt is an error.

// partialShare: a random read that needs at most this share of a chunk is
// decoded in part where the codecs can.
const partialShare = 4

// partGrain is the grain of the first part decoded of a chunk, in bytes.
const partGrain = 4 << 10

// Load implements chunk.Backing.
func (a *loader) Load(ctx context.Context, id chunk.ID, need chunk.Need) (chunk.Loaded, error) {
	got := chunk.Loaded{Version: absent}
	cut := a.draft.CutIn(id.Chunk)
	if cut == 0 && need.Size > 0 {
		got.Fill = true
		return got, nil
	}
	var part []byte // decoded
	var at int64    // where it begins in the chunk
	lend := need.Buffer
	need.Buffer = func(lo, hi int64) (_ []byte, err error) {
		part, err = lend(lo, hi)
		at = lo
		return part, err
	}
	err := a.withObject(ctx, id.Chunk, a.partOf(need), func(src *object.Reader, inner int64) error {
		got.Version = src.Info().Version
		if need.Version != "" && got.Version != need.Version {
			return nil
		}
		return a.decode(ctx, src, inner, need)
	})
	if errors.Is(err, object.ErrMissing) {
		got.Fill, err = true, nil
	}
	if lo := max(0, cut-at); lo < int64(len(part)) {
		layout.Repeat(part[lo:], a.gen.Meta.Fill)
	}
	return got, err
}

// decode decodes the needed part of a chunk, or the whole chunk if that is not much more work; see
// partialShare. The decoded bytes take memory once there is room for the encoded ones. Fresh memory
// costs more to touch than a chunk to decode, so a first part is small. A reader that comes back
// gets twice as much each time.
func (a *loader) decode(
	ctx context.Context, src *object.Reader, inner int64, need chunk.Need,
) error {
	buffer := func(lo, hi int64) ([]byte, error) {
		a.Count.Chunks.Add(1)
		a.Count.Bytes.Add(hi - lo)
		return need.Buffer(lo, hi)
	}
	if off, n := stretch(need); n <= need.Size/partialShare {
		if done, err := src.DecodePart(inner, off, n, need.Size, buffer); done {
			return err
		}
	}
	end, err := a.alone(ctx, need.Size)
	if err != nil {
		return err
	}
	defer end()
	if !a.gen.Chain.IsPlain() {
		release, err := a.roomForEncoded(ctx, src, need.Size)
		if err != nil {
			return err
		}
		defer release()
	}
	dst, err := buffer(0, need.Size)
	if err != nil {
		return err
	}
	return src.Decode(dst, inner)
}

// alone waits until no other chunk is decoded that is larger than the cache, if this one of size
// bytes is. The bytes of one may be in files, but what the codecs need beside them is not.
func (a *loader) alone(ctx context.Context, size int64) (end func(), err error) {
	if size <= a.Memory.Budget() {
		return func() {}, nil
	}
	if err := a.Large.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	return func() { a.Large.Release(1) }, nil
}

// hangs is how long a chunk may take to be read and decoded until it is taken for one whose store
// hangs: those of other arrays then have its room.
const hangs = time.Second

// smallEncoded is how many encoded bytes need no room: requests decode only a few chunks at once.
// Taking room costs more than a hundredth of decoding so few bytes.
const smallEncoded = 64 << 10

// roomForEncoded waits until the encoded bytes of a chunk of size bytes have room beside others.
// They are seldom more than the decoded ones. However large chunks are, as many of them as there
// are CPUs have room.
func (a *loader) roomForEncoded(
	ctx context.Context, src *object.Reader, size int64,
) (release func(), err error) {
	room := min(src.Size(), size, a.Encoded.Size()/int64(runtime.NumCPU()))
	if room <= smallEncoded {
		return func() {}, nil
	}
	if err := a.Encoded.Acquire(ctx, room); err != nil {
		return nil, err
	}
	once := sync.OnceFunc(func() { a.Encoded.Release(room) })
	hung := time.AfterFunc(hangs, once)
	return func() {
		hung.Stop()
		once()
	}, nil
}

// stretch returns the bytes of a chunk that are decoded where only a part is needed.
func stretch(need chunk.Need) (off, n int64) {
	grain := int64(partGrain) << min(need.Parts, 20)
	off = need.Off / grain * grain
	return off, min((need.Off+need.N+grain-1)/grain*grain, need.Size) - off
}

// partOf returns what is decoded of a chunk.
func (a *loader) partOf(need chunk.Need) object.Part {
	if off, n := stretch(need); n <= need.Size/partialShare && a.gen.Chain.CanDecodePart() {
		return object.Part{Off: off, N: n}
	}
	return object.Part{}
}

// IsCurrent implements chunk.Backing.
func (a *loader) IsCurrent(ctx context.Context, id chunk.ID, version string) bool {
	_, key, _ := a.gen.Objects.Find(id.Chunk)
	info, err := a.Store.Stat(ctx, key)
	if errors.Is(err, iofs.ErrNotExist) {
		return version == absent
	}
	return err == nil && info.Version != "" && info.Version == version
}

// absent is the version of an object that does not exist. Stores without versions say "" of every
// object, and that does not show that nothing has changed.
const absent = "\x00absent"

// DecodeChunk implements band.Decoder.
func (a *loader) DecodeChunk(ctx context.Context, n int64, dst []byte) (fill bool, err error) {
	a.announce(ctx, n)
	end, err := a.alone(ctx, int64(len(dst)))
	if err != nil {
		return false, err
	}
	defer end()
	err = a.withObject(ctx, n, object.Part{}, func(src *object.Reader, inner int64) error {
		return src.Decode(dst, inner)
	})
	if errors.Is(err, object.ErrMissing) {
		return true, nil
	}
	return false, err
}

// IsPlain implements band.Decoder.
func (a *loader) IsPlain() bool { return a.gen.Plain }

// withObject calls decode with the object that holds chunk n, opened for a part of it, and the
// chunk's number in the object. A missing object is object.ErrMissing, and so is a chunk
// that a shard does not hold; other errors get the array's path and the key.
func (a *loader) withObject(
	ctx context.Context, n int64, part object.Part,
	decode func(src *object.Reader, inner int64) error,
) error {
	obj, key, inner := a.gen.Objects.Find(n)
	part.Inner = inner
	src, err := a.Opener().OpenPart(ctx, a.Store, obj, key, part)
	if err == nil {
		defer src.Close()
	}
	if err := a.draft.Stay(ctx, n, object.IsMissing(err)); err != nil {
		return err
	}
	if err == nil {
		err = compress.Guard(func() error { return decode(src, inner) })
	}
	if object.IsMissing(err) {
		return object.ErrMissing
	}
	if err != nil {
		return &catalog.Error{Op: "read", Path: a.gen.Path, Key: key, Err: err}
	}
	return nil
}

// Opener opens the array's stored objects.
func (a *loader) Opener() object.Opener {
	o := object.Opener{
		Array: a.gen.ID, Keys: a.gen.Objects.Keys, Chains: a.gen.Chains, Lengths: a.lengths,
		Fill: a.gen.Meta.Fill, Shared: a.Objects,
	}
	if a.remote {
		o.Epoch, o.Carries = a.draft.Epoch(), a.Store.Carries()
	}
	return o
}
