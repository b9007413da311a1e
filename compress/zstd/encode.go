package zstd

import (
	"encoding/binary"
	"slices"
	"sync"
)

// MaxLevel is the highest level that Encode knows.
const MaxLevel = 4

// MaxSize is the longest content that Encode takes: the largest window that zstd's decoders of
// streams take unasked.
const MaxSize = 1 << 27

// encoder is the state of one call of Encode: too large to make again each time. What one call
// leaves in it changes nothing of what the next one writes.
type encoder struct {
	finder
	literalsEncoder
	sequencesEncoder

	block []byte // the compressed block at work
}

var encoders = sync.Pool{New: func() any { return new(encoder) }}

// Encode appends src as one frame (RFC 8878 section 3.1.1), which states its content's size, to dst
// and returns it. Levels are those of zstd, up to MaxLevel; 0 means 3. The frame may carry a
// checksum of its content. src must not be longer than MaxSize.
func Encode(dst, src []byte, level int, checksum bool) []byte {
	e := encoders.Get().(*encoder)
	defer encoders.Put(e)
	return e.append(dst, src, level, checksum)
}

func (e *encoder) append(dst, src []byte, level int, checksum bool) []byte {
	e.finder.reset(paramsOf(level, len(src)))
	e.literalsEncoder.reset()
	e.sequencesEncoder.reset()
	if cap(dst) == 0 {
		dst = make([]byte, 0, frameRoom+len(src)/2)
	}
	dst = appendHeader(dst, len(src), checksum)
	for start := 0; ; start += maxBlock {
		end := min(start+maxBlock, len(src))
		dst = e.appendBlock(dst, src, start, end)
		if end == len(src) {
			break
		}
	}
	if checksum {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(xxh64(src)))
	}
	return dst
}

// frameRoom is what the headers and the checksum of a frame of one block take at most.
const frameRoom = 4 + 1 + 4 + 3 + 4

// appendHeader appends the header of a frame of one segment, whose window is the content (RFC 8878
// section 3.1.1.1).
func appendHeader(dst []byte, size int, checksum bool) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, frameMagic)
	descriptor := byte(singleSegment)
	if checksum {
		descriptor |= hasChecksum
	}
	switch {
	case size < 256:
		return append(dst, descriptor, byte(size))
	case size < 1<<16+256:
		return binary.LittleEndian.AppendUint16(append(dst, descriptor|1<<6), uint16(size-256))
	}
	return binary.LittleEndian.AppendUint32(append(dst, descriptor|2<<6), uint32(size))
}

// appendBlock appends src[start:end] as a block, the last one of the frame if it ends src.
func (e *encoder) appendBlock(dst, src []byte, start, end int) []byte {
	content := src[start:end]
	header := 0
	if end == len(src) {
		header = 1
	}
	recent := e.finder.recent
	kind, size := compressedBlock, len(content)
	if len(content) < minCompressed {
		kind = rawBlock
	} else {
		e.find(src, start, end)
		if e.found <= 2 && allEqual(content) {
			kind = rleBlock
		} else if e.encodeBlock(); len(e.block) >= len(content) {
			kind = rawBlock
		} else {
			size = len(e.block)
		}
	}
	if kind != compressedBlock { // its tables and offsets are not in the frame
		e.finder.recent = recent
		e.literalsEncoder.reset()
		e.sequencesEncoder.reset()
	}
	header |= kind<<1 | size<<3
	dst = append(dst, byte(header), byte(header>>8), byte(header>>16))
	switch kind {
	case rawBlock:
		return append(dst, content...)
	case rleBlock:
		return append(dst, content[0])
	}
	return append(dst, e.block...)
}

// minCompressed is the least content that is worth compressing.
const minCompressed = 16

// blockRoom is what a compressed block may take before it is known to be longer than its content:
// literals, and sequences of a match of 4 bytes with 26 bits of states and 26 of offsets, each.
const blockRoom = maxBlock + maxBlock/minMatch*7 + 1024

// encodeBlock makes block a compressed block of the sequences and literals that were found.
func (e *encoder) encodeBlock() {
	e.block = slices.Grow(e.block[:0], blockRoom)
	e.block = e.appendLiterals(e.block, e.literals[:e.literalCount])
	e.block = e.appendSequences(e.block, e.sequences[:e.found])
}

// allEqual reports whether all bytes of b, which has some, are the same.
func allEqual(b []byte) bool {
	return len(b) < 2 || string(b[1:]) == string(b[:len(b)-1])
}
