//go:build !linux

package dirstore

import "golang.org/x/sys/unix"

const (
	pathOnly  = 0
	statFlags = unix.O_RDONLY | unix.O_NONBLOCK
)

// Elsewhere os.Root does it all, and a replaced root directory stays unseen.

func openBeneath(int, string, int) (int, error)         { return -1, unix.EAGAIN }
func openStraightBeneath(int, string, int) (int, error) { return -1, unix.ENOSYS }
func canOpenBeneath(int) bool                           { return false }
func identify(int) identity                             { return identity{} }
func isReplaced(string, identity) bool                  { return false }
func birth(int) string                                  { return "" }
