package fs

import (
	"context"
	"syscall"

	gofuse "github.com/hanwen/go-fuse/v2/fs"
)

var (
	_ = (gofuse.NodeGetxattrer)((*groupNode)(nil))
	_ = (gofuse.NodeGetxattrer)((*fileNode)(nil))
	_ = (gofuse.NodeListxattrer)((*groupNode)(nil))
	_ = (gofuse.NodeListxattrer)((*fileNode)(nil))
	_ = (gofuse.NodeSetxattrer)((*groupNode)(nil))
	_ = (gofuse.NodeSetxattrer)((*fileNode)(nil))
	_ = (gofuse.NodeRemovexattrer)((*groupNode)(nil))
	_ = (gofuse.NodeRemovexattrer)((*fileNode)(nil))
)

// Getxattr returns one item of the node's metadata.
func (b *base) Getxattr(ctx context.Context, attr string, dest []byte) (uint32, syscall.Errno) {
	if errno := b.stalenessUnlessOpen(ctx); errno != 0 {
		return 0, errno
	}
	return b.fs.attributes.Get(ctx, &b.Node, attr, dest)
}

// Listxattr lists what Getxattr can return.
func (b *base) Listxattr(ctx context.Context, dest []byte) (uint32, syscall.Errno) {
	if errno := b.stalenessUnlessOpen(ctx); errno != 0 {
		return 0, errno
	}
	return b.fs.attributes.List(ctx, &b.Node, dest)
}

// Setxattr sets an attribute of the array or group, the names of an array's axes, or how arrays in
// the group are created.
func (b *base) Setxattr(
	ctx context.Context, attr string, data []byte, flags uint32,
) syscall.Errno {
	if errno := b.stalenessToChange(ctx); errno != 0 {
		return errno
	}
	return b.fs.attributes.Set(ctx, &b.Node, attr, data, flags)
}

// Removexattr removes an attribute, the names of the axes, or a setting.
func (b *base) Removexattr(ctx context.Context, attr string) syscall.Errno {
	if errno := b.stalenessToChange(ctx); errno != 0 {
		return errno
	}
	return b.fs.attributes.Remove(ctx, &b.Node, attr)
}
