//go:build !amd64 || purego

package zstd

func (s *sequences) run() { s.runPortable() }

// run leaves all literals to finish.
func (s *streams) run() {}

// run leaves all sequences to sequence.
func (w *sequenceWriter) run() {}
