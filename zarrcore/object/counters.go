package object

import "sync/atomic"

// Counters count what was done with the objects of all arrays. Sizes are in bytes.
type Counters struct {
	Chunks atomic.Int64 // decoded for random reads, in whole or in part
	Bytes  atomic.Int64 // decoded for random reads
	Served atomic.Int64 // bytes given to readers

	Encoded     atomic.Int64 // chunks
	Stored      atomic.Int64 // bytes of objects
	FlushErrors atomic.Int64
}
