package fs

import (
	"runtime"
	"sync"
	"syscall"
	"testing"

	gofuse "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// TestResizedBesideRelease: a program closes the file that it has written, and another one sets its
// size by its name. The kernel releases the file some time after the close. The new size counts,
// and is stored, whether that comes before the other request, after it, or meanwhile.
func TestResizedBesideRelease(t *testing.T) {
	ctx := t.Context()
	f, _ := arrayToWrite(t, func(storetest.Op) {})
	n := looker{t, mountless(f)}.look("a.raw").Operations().(*fileNode)
	const row = 12
	for i := range 4000 {
		h, _, errno := n.Open(ctx, syscall.O_WRONLY)
		if errno != 0 {
			t.Fatal(errno)
		}
		if errno := h.(gofuse.FileFlusher).Flush(ctx); errno != 0 {
			t.Fatal(errno)
		}
		want := uint64(row * (3 + i%5))
		var out fuse.AttrOut
		var released sync.WaitGroup
		released.Go(func() {
			for range i % 50 {
				runtime.Gosched()
			}
			h.(gofuse.FileReleaser).Release(ctx)
		})
		in := fuse.SetAttrIn{SetAttrInCommon: fuse.SetAttrInCommon{Valid: fuse.FATTR_SIZE,
			Size: want}}
		errno = n.Setattr(ctx, nil, &in, &out)
		released.Wait()
		if errno != 0 || out.Size != want {
			t.Fatalf("round %d: size %d, expected %d: %v", i, out.Size, want, errno)
		}
		stored, err := f.h.Node(ctx, "a")
		if err != nil {
			t.Fatal(err)
		}
		if size, err := n.view.Size(stored); err != nil || size != int64(want) {
			t.Fatalf("round %d: stored are %d bytes, expected %d: %v", i, size, want, err)
		}
	}
}
