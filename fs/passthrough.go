package fs

import (
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// The kernel (fs/fuse/iomode.c) keeps each inode in one of two modes: its pages are in FUSE's page cache, or in another
// file, the backing of passthrough handles. Handles of both kinds at once, or of two backings, fail with EIO at open,
// and with ENODEV at mmap. So a passthrough open must find no other handle, and while there are passthrough handles, any
// further open must be one of the same backing. A RELEASE is sent after the kernel has left the handle's mode, so what is
// counted here is never less than what the kernel counts.

// passing counts the handles of one inode that are served by a materialised file. The habit's lock guards it.
type passing struct {
	handles int
	backing *material // of all of them; nil if there are none
}

// verdict says how an open is answered.
type verdict uint8

const (
	// asUsual is an open without passthrough.
	asUsual verdict = iota
	// through is a passthrough open.
	through
	// renewed is an open that this inode cannot serve: it has passthrough handles of bytes that are outdated. The file
	// gets another inode.
	renewed
)

// judge decides on an open of bytes with the fingerprint now, of which ready is the materialised file if there is one.
// others is how many handles of other kinds are open.
func (p *passing) judge(now string, ready *material, others int) (verdict, *material) {
	switch {
	case p.handles > 0 && p.backing.print == now:
		return through, p.backing
	case p.handles > 0:
		return renewed, nil
	case others == 0 && ready != nil:
		return through, ready
	}
	return asUsual, nil
}

// enter counts a passthrough handle, which uses m until its end. While the habit is locked the others still do.
func (p *passing) enter(m *material) {
	p.handles++
	p.backing = m
	m.table.use(m)
}

// leave counts its end.
func (p *passing) leave() {
	if p.handles--; p.handles == 0 {
		p.backing = nil
	}
}

// passthroughFlags are the flags of a passthrough open.
const passthroughFlags = fuse.FOPEN_PASSTHROUGH | fuse.FOPEN_NOFLUSH

// renew gives the file another inode. The open fails with ESTALE, on which the kernel looks the name up again, finds the
// new inode, and opens that: the program notices nothing. (One that opens /proc/self/fd/N does see the error.)
func (n *fileNode) renew() syscall.Errno {
	n.fs.material.noteRenewed(n.key())
	n.fs.ids.renew(&n.base)
	return syscall.ESTALE
}
