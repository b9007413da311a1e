//go:build amd64 && !purego

package layout

import "golang.org/x/sys/cpu"

// canStream reports whether the processor can do streamLines.
var canStream = cpu.X86.HasAVX2

// streamLines copies rows of n bytes, a positive multiple of 64, to cache lines that are to bytes
// apart. In src the rows are from bytes apart.
//
//go:noescape
func streamLines(dst, src *byte, n, rows, to, from int64)

// settle makes what streamLines has written visible to other threads before anything that is
// written after it.
//
//go:noescape
func settle()
