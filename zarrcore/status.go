package zarrcore

import (
	"github.com/zarrfs/zarrfs/zarrcore/chunk"
)

// Status is the state of a hierarchy: what `.zarrfs/status.json` shows. Sizes
// are in bytes.
type Status struct {
	Store         string      `json:"store"`
	CacheSize     int64       `json:"cache_size"`
	MemoryUsed    int64       `json:"memory_used"` // chunks and bands held
	MemoryPeak    int64       `json:"memory_peak"`
	ScratchUsed   int64       `json:"scratch_used"`
	ArraysOpen    int         `json:"arrays_open"`
	ChunksDecoded int64       `json:"chunks_decoded"`
	BytesDecoded  int64       `json:"bytes_decoded"` // padding of edge chunks left out
	BytesServed   int64       `json:"bytes_served"`
	Amplification float64     `json:"decode_amplification"` // decoded per served
	Cache         chunk.Stats `json:"cache"`
	Write         WriteStatus `json:"write"`
}

// WriteStatus is what programs have written. Sizes are in bytes.
type WriteStatus struct {
	DirtySize     int64 `json:"dirty_size"`
	Dirty         int64 `json:"dirty"`       // written and not stored
	Memory        int64 `json:"memory_used"` // of dirty chunks
	MemoryPeak    int64 `json:"memory_peak"`
	Spilled       int64 `json:"spilled"` // to scratch, in all
	ChunksEncoded int64 `json:"chunks_encoded"`
	BytesStored   int64 `json:"bytes_stored"`
	FlushErrors   int64 `json:"flush_errors"`
	// by array: why it could not be stored
	Errors map[string]string `json:"errors,omitempty"`
	Kept   []string          `json:"kept,omitempty"` // files with bytes of arrays that are gone
}

func (h *Hierarchy) writeStatus() WriteStatus {
	u := h.dirty.Usage()
	s := WriteStatus{
		DirtySize: h.dirty.Limit(), Dirty: u.Dirty, Memory: u.Memory, MemoryPeak: u.Peak,
		Spilled:       u.Spilled,
		ChunksEncoded: h.shared.Count.Encoded.Load(), BytesStored: h.shared.Count.Stored.Load(),
		FlushErrors: h.shared.Count.FlushErrors.Load(),
	}
	s.Kept, s.Errors = h.arrays.Kept(), h.arrays.Failures()
	return s
}

// HeapBuffers returns how many bytes of the Go heap the buffers of chunks may take: those of what
// is dirty, and those of a full cache.
func (h *Hierarchy) HeapBuffers() int64 {
	_, cached := h.shared.Memory.OnHeap()
	return cached + h.dirty.OnHeap()
}

// Status returns the hierarchy's state now.
func (h *Hierarchy) Status() Status {
	s := Status{Store: h.Name(), CacheSize: h.shared.Memory.Budget(), ScratchUsed: h.scratch.Used(),
		Cache: h.shared.Cache.Stats(), Write: h.writeStatus()}
	s.MemoryUsed, s.MemoryPeak = h.shared.Memory.Used()
	s.ChunksDecoded, s.BytesDecoded = h.pool.Decoded()
	s.ChunksDecoded += h.shared.Count.Chunks.Load()
	s.BytesDecoded += h.shared.Count.Bytes.Load()
	s.BytesServed = h.shared.Count.Served.Load()
	if s.BytesServed > 0 {
		s.Amplification = float64(s.BytesDecoded) / float64(s.BytesServed)
	}
	s.ArraysOpen = h.arrays.Len()
	return s
}
