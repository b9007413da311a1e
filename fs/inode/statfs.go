package inode

import (
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zarrfs/zarrfs/fs/names"
)

// Statfs returns what df shows of a mount: the space of the file system that has the folder of the
// store. A store without a folder, "", has no space to show.
func Statfs(folder string) fuse.StatfsOut {
	out := fuse.StatfsOut{Bsize: 4096, Frsize: 4096}
	var s syscall.Statfs_t
	if folder != "" && syscall.Statfs(folder, &s) == nil {
		out.FromStatfsT(&s)
	}
	out.NameLen = names.MaxEntry
	return out
}
