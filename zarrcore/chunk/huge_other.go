//go:build !linux

package chunk

const hugePage = 2 << 20

func preferHuge([]byte) {}

// MakeHuge does nothing where huge pages are not asked for.
func MakeHuge([]byte) {}
