package fs

import (
	"context"
	"encoding/binary"
	"hash/maphash"
	"sync"
	"syscall"
	"time"

	gofuse "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zarrfs/zarrfs/zarrcore"
)

const (
	dirMode  = syscall.S_IFDIR | 0o555
	fileMode = syscall.S_IFREG | 0o444
)

// identities gives every file its inode number: a hash of its path and view, so that it is the same in every mount
// of the store. Two files of one number would be one file to the kernel; therefore a second, keyed hash is the
// generation, which makes them differ even in a store built to collide.
type identities struct {
	seed maphash.Seed

	mu      sync.Mutex
	renewed map[fileKey]uint64 // files that have had other inodes before: how many
}

// of returns the identity of a view of the node at path; view "" is the directory.
func (ids *identities) of(mode uint32, path, view string) gofuse.StableAttr {
	ids.mu.Lock()
	defer ids.mu.Unlock()
	return ids.stable(mode, path, view)
}

func (ids *identities) stable(mode uint32, path, view string) gofuse.StableAttr {
	var h maphash.Hash
	h.SetSeed(ids.seed)
	h.WriteString(path)
	h.WriteByte(0)
	h.WriteString(view)
	if n := ids.renewed[fileKey{path, view}]; n > 0 {
		h.Write(binary.LittleEndian.AppendUint64([]byte{0}, n))
	}
	return gofuse.StableAttr{Mode: mode, Ino: inode(path, view), Gen: h.Sum64()}
}

// renew makes the file another one to the kernel, under the same number, unless it is no longer that of generation gen.
func (ids *identities) renew(path, view string, gen uint64) {
	ids.mu.Lock()
	defer ids.mu.Unlock()
	if ids.stable(0, path, view).Gen != gen {
		return
	}
	if ids.renewed == nil {
		ids.renewed = make(map[fileKey]uint64)
	}
	ids.renewed[fileKey{path, view}]++
}

// inode returns the number that readdir and stat show: FNV-1a, spread, and kept off the reserved numbers.
func inode(path, view string) uint64 {
	sum := uint64(14695981039346656037)
	for _, s := range [...]string{path, "\x00", view} {
		for i := 0; i < len(s); i++ {
			sum = (sum ^ uint64(s[i])) * 1099511628211
		}
	}
	sum ^= sum >> 32
	sum *= 0x9E3779B97F4A7C15
	return sum&^(3<<62) | 1<<60
}

// dirAttr fills in a directory's attributes.
func (f *filesystem) dirAttr(mtime time.Time, a *fuse.Attr) {
	f.commonAttr(dirMode, mtime, a)
	a.Size = 4096
	a.Blksize = 4096
	a.Blocks = 8
}

// fileAttr fills in the attributes of one view of an array or group. A node whose size is unknown has size 0: opening
// it tells why.
func (f *filesystem) fileAttr(n *zarrcore.Node, v view, a *fuse.Attr) {
	f.commonAttr(fileMode, n.ModTime, a)
	size, err := v.size(n)
	if err != nil {
		size = 0
	}
	a.Size = uint64(size)
	a.Blksize = blockSize
	a.Blocks = blocks(size)
}

func (f *filesystem) commonAttr(mode uint32, mtime time.Time, a *fuse.Attr) {
	a.Mode = mode
	a.Nlink = 1
	a.Owner = fuse.Owner{Uid: f.uid, Gid: f.gid}
	if mtime.IsZero() {
		mtime = f.started
	}
	a.SetTimes(&mtime, &mtime, &mtime)
}

// blocks returns st_blocks, which counts 512 bytes each, of so many bytes.
func blocks(n int64) uint64 { return uint64(n)/512 + min(uint64(n)%512, 1) }

// storedAttr sets st_blocks and the time to what the array's objects in the store say, if that can be known soon.
func (f *filesystem) storedAttr(ctx context.Context, n *zarrcore.Node, v view, wait time.Duration, a *fuse.Attr) (known bool) {
	if n.Kind != zarrcore.ArrayNode || n.Err != nil || a.Size == 0 || v.name() == "json" {
		return true
	}
	s, known := f.stored.get(ctx, f, n, wait)
	if !known {
		return false
	}
	a.Blocks = blocks(s.bytes)
	if s.mtime.After(n.ModTime) {
		a.SetTimes(&s.mtime, &s.mtime, &s.mtime)
	}
	return true
}
