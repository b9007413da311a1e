//go:build !linux

package chunk

const hugePage = 2 << 20

func preferHuge([]byte) {}

func populate([]byte) {}
