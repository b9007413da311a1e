package wire

import (
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zarrfs/zarrfs/fs/pagecache"
)

// throughFS opens every file as a passthrough one, or as a direct one if there is no backing file.
type throughFS struct {
	fuse.RawFileSystem
	notes   *Notes
	backing int32
}

func (f throughFS) Open(cancel <-chan struct{}, _ *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	out.OpenFlags = fuse.FOPEN_DIRECT_IO
	if f.backing != 0 {
		out.OpenFlags = pagecache.PassthroughFlags
		f.notes.PassTo(&fuse.Context{Cancel: cancel}, f.backing)
	}
	return fuse.OK
}

// TestBackingNumber: the answer to an OPEN has the number of the backing file and the flags that
// the node chose. Nothing of the request stays noted.
func TestBackingNumber(t *testing.T) {
	for backing, flags := range map[int32]uint32{1: pagecache.PassthroughFlags,
		1 << 30: pagecache.PassthroughFlags, 0: fuse.FOPEN_DIRECT_IO} {
		var out fuse.OpenOut
		var notes Notes
		cancel := make(chan struct{})
		wire{throughFS{fuse.NewDefaultRawFileSystem(), &notes, backing}, &notes}.Open(cancel,
			&fuse.OpenIn{}, &out)
		if out.BackingID != backing || out.OpenFlags != flags {
			t.Errorf("backing %d: %d, flags %#x", backing, out.BackingID, out.OpenFlags)
		}
		if note := notes.Of(&fuse.Context{Cancel: cancel}); note != (Note{}) {
			t.Errorf("%+v is noted of a request that has ended", note)
		}
	}
}
