package layout

import "unsafe"

// streamed is a size of the flat array, in bytes. From that size on, a chunk's rows are written
// past the processor's caches. So much data would not stay in the caches until it is read. And a
// store through the caches first loads the line that it writes. For short rows far from each other,
// such a store takes six times as long (BenchmarkScatter).
const streamed = 16 << 20

// line is a cache line, in bytes.
const line = 64

// copyRows copies rows of n bytes each, which begin to bytes apart in dst and from bytes apart in
// src.
func copyRows(dst, src []byte, n, rows, to, from int64) {
	for i := range rows {
		copy(dst[i*to:i*to+n], src[i*from:i*from+n])
	}
}

// streamRows is copyRows past the caches, for all but the ends of rows that fill no line. Before
// another thread is told of it, settle is to be called.
func streamRows(dst, src []byte, n, rows, to, from int64) {
	switch {
	case !canStream:
		copyRows(dst, src, n, rows, to, from)
		return
	case rows > 1 && to%line != 0: // they begin at different places of a line
		for i := range rows {
			streamRows(dst[i*to:], src[i*from:], n, 1, 0, 0)
		}
		return
	}
	head := untilLine(dst)
	body := (n - head) &^ (line - 1)
	if body <= 0 {
		copyRows(dst, src, n, rows, to, from)
		return
	}
	dst, src = dst[:(rows-1)*to+n], src[:(rows-1)*from+n]
	streamLines(&dst[head], &src[head], body, rows, to, from)
	if head > 0 {
		copyRows(dst, src, head, rows, to, from)
	}
	if tail := head + body; tail < n {
		copyRows(dst[tail:], src[tail:], n-tail, rows, to, from)
	}
}

// untilLine returns how many bytes of p come before its first whole cache line.
func untilLine(p []byte) int64 {
	return -int64(uintptr(unsafe.Pointer(unsafe.SliceData(p)))) & (line - 1)
}
