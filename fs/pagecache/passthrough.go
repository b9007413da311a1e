package pagecache

import (
	"github.com/hanwen/go-fuse/v2/fuse"
)

// The kernel (fs/fuse/iomode.c) keeps each inode in one of two modes: its pages are in FUSE's page
// cache, or in another file, the backing of passthrough handles. Handles of both kinds at once, or
// of two backings, fail with EIO at open, and with ENODEV at mmap. So a passthrough open must find
// no other handle, and while there are passthrough handles, any further open must be one of the
// same backing. A RELEASE is sent after the kernel has left the handle's mode, so what is counted
// here is never less than what the kernel counts.

// A Backing is a plain file that has all bytes of a file of the mount.
type Backing interface {
	// Fingerprint says of which bytes it is.
	Fingerprint() string
	// Use counts one user more of a file that has users.
	Use()
}

// passing counts the handles of one inode that are served by a materialised file. The habit's lock
// guards it.
type passing struct {
	handles int
	backing Backing // of all of them; nil if there are none
}

// OpenMode says how an open is answered.
type OpenMode uint8

const (
	// AsUsual is an open without passthrough.
	AsUsual OpenMode = iota
	// Passthrough is a passthrough open.
	Passthrough
	// NewInode is an open that this inode cannot serve: it has passthrough handles of bytes that
	// are outdated. The file gets another inode.
	NewInode
)

// judge decides on an open of bytes with the fingerprint now, of which ready is the materialised
// file if there is one. others is how many handles of other kinds are open.
func (p *passing) judge(now string, ready Backing, others int) (OpenMode, Backing) {
	switch {
	case p.handles > 0 && p.backing.Fingerprint() == now:
		return Passthrough, p.backing
	case p.handles > 0:
		return NewInode, nil
	case others == 0 && ready != nil:
		return Passthrough, ready
	}
	return AsUsual, nil
}

// enter counts a passthrough handle, which uses m until its end. While the habit is locked the
// others still do.
func (p *passing) enter(m Backing) {
	p.handles++
	p.backing = m
	m.Use()
}

// leave counts its end.
func (p *passing) leave() {
	if p.handles--; p.handles == 0 {
		p.backing = nil
	}
}

// PassthroughFlags are the flags of a passthrough open.
const PassthroughFlags = fuse.FOPEN_PASSTHROUGH | fuse.FOPEN_NOFLUSH
