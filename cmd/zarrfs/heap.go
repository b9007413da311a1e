package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	// overhead is the memory, in bytes, that the daemon may take beside its buffers before the
	// collector works harder. The whole may take 64 MiB. The program itself takes ten of them, and
	// the collector takes some while it works.
	overhead = 48 << 20
	// garbage is how much of the heap, in percent of what is alive, may be garbage. Small chunks
	// are the most of the heap. The collector need not look into them, and they are recycled
	// anyway, so it may run often. Large chunks are not on the heap.
	garbage = 40
	// floor is the heap below which the collector does not run at all: a fresh daemon would
	// otherwise collect a dozen times while its first chunks come in, which cost half the speed of
	// its first random reads.
	floor = 64 << 20
)

// tuneRuntime fits Go's runtime to the work. More threads than CPUs may run, because those that
// read requests wait in system calls most of the time. And the collector must keep the heap near
// the size of the buffers. The returned ballast makes the heap look as large as its floor. Nobody
// touches the ballast, so it takes no memory.
func tuneRuntime() (ballast []byte) {
	runtime.GOMAXPROCS(max(4, 2*runtime.NumCPU()))
	ballast = make([]byte, heapFloor(memory().left))
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbage)
	}
	return ballast
}

// heapFloor is floor, or 0 where memory is limited: the ballast takes addresses, which may be
// limited.
func heapFloor(left int64) int64 {
	if left < 4*floor {
		return 0
	}
	return floor
}

// limitHeap makes the collector work harder where the heap, beside the ballast, takes more than its
// buffers, in bytes, and the overhead. The limit is set again after each collection. One limit for
// all that may become dirty would let the heap grow so far with garbage. Where more is alive than
// the buffers, the limit is above that, because otherwise the collector would never stop.
func limitHeap(ballast []byte, buffers func() int64) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetMemoryLimit(max(int64(len(ballast))+buffers()+overhead, alive()+overhead/2))
	type mark struct{ _ *mark } // nobody refers to it, so each collection finds one
	runtime.AddCleanup(&mark{}, func([]byte) { limitHeap(ballast, buffers) }, nil)
}

// alive returns how many bytes of the heap the last collection found in use.
func alive() int64 {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return int64(live[0].Value.Uint64())
}
