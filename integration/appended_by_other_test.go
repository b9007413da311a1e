package integration

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestWriteIsSeenAfterOtherAppended: another program makes the array longer while it is open. What is written through one handle is seen
// through each other one of the mount all the same, whichever of them was opened before.
func TestWriteIsSeenAfterOtherAppended(t *testing.T) {
	for _, writerFirst := range []bool{true, false} {
		t.Run(fmt.Sprintf("writer first %v", writerFirst), func(t *testing.T) {
			store := semanticsStore(t)
			path := filepath.Join(mount(t, store), "a.raw")
			open := func(flags int) *os.File {
				f, err := os.OpenFile(path, flags, 0)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { f.Close() })
				return f
			}
			first, second := os.O_RDONLY, os.O_RDWR
			if writerFirst {
				first, second = second, first
			}
			one := open(first)
			p := make([]byte, 8)
			one.ReadAt(p, 0)
			put(t, store, "a/zarr.json", fmt.Sprintf(arrayDoc, 2*chunks*chunkLen, chunkLen, "K"))
			other := open(second)
			w, r := other, one
			if writerFirst {
				w, r = one, other
			}
			if _, err := r.ReadAt(p, 0); err != nil {
				t.Fatal(err)
			}
			for i, when := range []string{"at once", "after fsync"} {
				want := []byte(fmt.Sprintf("written%d", i))
				if _, err := w.WriteAt(want, 0); err != nil {
					t.Fatal(err)
				}
				if i == 1 {
					if err := w.Sync(); err != nil {
						t.Fatal(err)
					}
				}
				if _, err := r.ReadAt(p, 0); err != nil || !bytes.Equal(p, want) {
					t.Errorf("%s: read %q, %v, expected %q", when, p, err, want)
				}
			}
		})
	}
}
