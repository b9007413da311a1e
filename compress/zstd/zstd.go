// Package zstd decodes Zstandard frames (RFC 8878) whose decoded size has a known bound, and
// encodes them at low levels.
//
// A one-shot decoder needs no window: matches are copied from the destination itself. Sequences are
// decoded and executed in one go, in assembly where the processor has BMI2. A one-shot encoder
// needs none either: all of the content is in reach of matches.
package zstd

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
)

// ErrCorrupt says that the input is not a series of complete Zstandard frames; it is wrapped with
// what was expected and found.
var ErrCorrupt = errors.New("corrupt data")

// ErrTooLarge says that the frames decode to more bytes than the destination holds.
var ErrTooLarge = errors.New("output exceeds its limit")

// Magic numbers (RFC 8878 sections 3.1.1 and 3.1.2). The low four bits of a skippable frame's are
// free.
const (
	frameMagic    = 0xFD2FB528
	skipMagic     = 0x184D2A50
	skipMagicMask = 0xFFFFFFF0
)

// maxBlock is the most bytes that a block may take or give (RFC 8878 section 3.1.1.2.4).
const maxBlock = 128 << 10

// decoder is the state of one call of Decode: too large to make again each time.
type decoder struct {
	sequences
	literals
	pos int // next byte of src to decode

	// Of the frame and block at work: whether the frame says its size, what it must not exceed in
	// dst, and the size of its blocks.
	sized    bool
	frameEnd int
	blockMax int
}

var decoders = sync.Pool{New: func() any { return new(decoder) }}

// Decode decodes all of src, one or more frames with skippable ones among them, into dst, and
// returns how many bytes it wrote. len(dst) is the exact limit: a longer output is ErrTooLarge.
// Bytes of dst between len and cap may be scribbled on. Frames that need a dictionary are refused
// with errors.ErrUnsupported.
func Decode(dst, src []byte) (int, error) {
	d := decoders.Get().(*decoder)
	defer d.release()
	d.src, d.dst, d.pos, d.out = src, dst, 0, 0
	if len(src) == 0 {
		return 0, fmt.Errorf("%w: no bytes, expected a zstd frame", ErrCorrupt)
	}
	for d.pos < len(src) {
		if err := d.frame(); err != nil {
			return d.out, err
		}
	}
	return d.out, nil
}

// release gives d back without the caller's memory.
func (d *decoder) release() {
	d.src, d.dst, d.lit = nil, nil, nil
	decoders.Put(d)
}

// frame decodes or skips the next frame.
func (d *decoder) frame() error {
	b := d.src[d.pos:]
	if len(b) < 4 {
		return d.truncated("a frame's magic number")
	}
	magic := binary.LittleEndian.Uint32(b)
	if magic&skipMagicMask == skipMagic {
		return d.skip(b[4:])
	}
	if magic != frameMagic {
		return d.corrupt("magic number %#08x, expected %#08x", magic, uint32(frameMagic))
	}
	d.pos += 4
	h, err := d.header()
	if err != nil {
		return err
	}
	if err := d.blocks(); err != nil {
		return err
	}
	if d.sized && d.out != d.frameEnd {
		return d.corrupt("a frame of %d bytes, its header says %d", d.out-d.start,
			d.frameEnd-d.start)
	}
	if h&hasChecksum != 0 {
		return d.checksum()
	}
	return nil
}

// skip passes over a skippable frame; b is what follows its magic number: its size in 4 bytes and
// so many bytes.
func (d *decoder) skip(b []byte) error {
	if len(b) < 4 || uint64(len(b)-4) < uint64(binary.LittleEndian.Uint32(b)) {
		return d.truncated("the end of a skippable frame")
	}
	d.pos += 8 + int(binary.LittleEndian.Uint32(b))
	return nil
}

// Bits of the frame header descriptor (RFC 8878 section 3.1.1.1.1).
const (
	hasChecksum   = 1 << 2
	reservedBit   = 1 << 3
	singleSegment = 1 << 5
)

// header reads the frame header, up to its first block, and returns its descriptor.
func (d *decoder) header() (descriptor byte, err error) {
	b := d.src[d.pos:]
	if len(b) == 0 {
		return 0, d.truncated("a frame header")
	}
	h := b[0]
	if h&reservedBit != 0 {
		return 0, d.corrupt("a frame header with its reserved bit set")
	}
	dictBytes := []int{0, 1, 2, 4}[h&3]
	sizeBytes := []int{0, 2, 4, 8}[h>>6]
	windowBytes := 1
	if h&singleSegment != 0 {
		windowBytes = 0
		sizeBytes = max(sizeBytes, 1)
	}
	n := 1 + windowBytes + dictBytes + sizeBytes
	if len(b) < n {
		return 0, d.truncated("a frame header")
	}
	if id := little(b[1+windowBytes:][:dictBytes]); id != 0 {
		return 0, fmt.Errorf("%w: zstd frame needs the dictionary %d", errors.ErrUnsupported, id)
	}
	d.blockMax = maxBlock
	if windowBytes == 1 {
		d.blockMax = min(maxBlock, windowSize(b[1]))
	}
	if err := d.begin(b[n-sizeBytes : n]); err != nil {
		return 0, err
	}
	d.pos += n
	return h, nil
}

// begin starts a frame at out, with the content size that its header holds in 0, 1, 2, 4 or 8
// bytes.
func (d *decoder) begin(size []byte) error {
	d.sequences.reset()
	d.literals.reset()
	d.start, d.sized, d.frameEnd = d.out, len(size) > 0, len(d.dst)
	if !d.sized {
		return nil
	}
	n := little(size)
	if len(size) == 2 {
		n += 256
	}
	if n > uint64(len(d.dst)-d.out) {
		return d.tooLarge()
	}
	d.frameEnd = d.out + int(n)
	return nil
}

// windowSize returns the window size of a window descriptor, or what is enough to tell how large
// blocks may be.
func windowSize(descriptor byte) int {
	base := 1 << min(10+descriptor>>3, 20)
	return base + base/8*int(descriptor&7)
}

// little returns the little-endian number of at most 8 bytes.
func little(b []byte) uint64 {
	var n uint64
	for i, v := range b {
		n |= uint64(v) << (8 * i)
	}
	return n
}

// checksum verifies the frame's checksum: the low 4 bytes of the XXH64 of its content.
func (d *decoder) checksum() error {
	if len(d.src)-d.pos < 4 {
		return d.truncated("a frame's checksum")
	}
	want := binary.LittleEndian.Uint32(d.src[d.pos:])
	if got := uint32(xxh64(d.dst[d.start:d.out])); got != want {
		return d.corrupt("a frame with checksum %#08x, its content has %#08x", want, got)
	}
	d.pos += 4
	return nil
}

func (d *decoder) corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: zstd object holds %s, near byte %d of %d", ErrCorrupt,
		fmt.Sprintf(format, args...), d.pos, len(d.src))
}

func (d *decoder) truncated(expected string) error {
	return fmt.Errorf("%w: zstd object ends after %d bytes, expected %s", ErrCorrupt, len(d.src),
		expected)
}

func (d *decoder) tooLarge() error {
	return fmt.Errorf("%w: zstd object decodes to more than %d bytes", ErrTooLarge, len(d.dst))
}
