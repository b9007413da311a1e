package dirstore

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// Somebody swaps an object, and a directory, with links to the outside, as fast as the kernel can:
// 20,000 times each, and no read and no listing ever leaves the store.
func TestSwapRace(t *testing.T) {
	swaps := 20_000
	if testing.Short() {
		swaps = 2000
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			dir := hostile(t)
			writeFiles(t, dir,
				map[string][]byte{"dir/secret-free": nil, "dir/zarr.json": []byte("inside")})
			t.Run("object", func(t *testing.T) {
				swapRace(t, open(t, dir, way), dir, "obj", "rel-file", "obj", "g", swaps)
			})
			t.Run("directory", func(t *testing.T) {
				swapRace(t, open(t, dir, way), dir, "dir", "rel-dir", "dir/zarr.json", "dir", swaps)
			})
			t.Run("absolute", func(t *testing.T) {
				swapRace(t, open(t, dir, way), dir, "g", "abs-dir", "g/obj", "g", swaps)
			})
		})
	}
}

func swapRace(t *testing.T, d *Driver, dir, a, b, key, list string, swaps int) {
	parent, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer parent.Close()
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var inside, refused [2]int
	for i := range inside {
		wg.Go(func() { inside[i], refused[i] = readers(ctx, t, d, key, list) })
	}
	fd := int(parent.Fd())
	for range swaps {
		if err := unix.Renameat2(fd, a, fd, b, unix.RENAME_EXCHANGE); err != nil {
			t.Errorf("renameat2(EXCHANGE) in %s: %v", filepath.Dir(dir), err)
			break
		}
	}
	stop()
	wg.Wait()
	if inside[0]+inside[1] == 0 || refused[0]+refused[1] == 0 {
		t.Logf("weak race: %v reads inside, %v refused", inside, refused)
	}
}
