package dirstore

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// aligned returns n random bytes that begin skew bytes behind a multiple of directAlign.
func aligned(n, skew int) []byte {
	b := make([]byte, n+skew+directAlign)
	start := -int(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) & (directAlign - 1)
	rnd := rand.NewChaCha8([32]byte{byte(n), byte(skew)})
	rnd.Read(b)
	return b[start+skew:][:n:n]
}

// An object is stored as it is given, whichever way it is written, whatever its length and place in
// memory.
func TestDirectWrites(t *testing.T) {
	for _, n := range []int{directFrom - 1, directFrom, directFrom + 1,
		directFrom + directAlign - 1, 2*directFrom + directAlign, 5*directFrom + 1234} {
		for _, skew := range []int{0, 1, 512} {
			t.Run(fmt.Sprintf("%d+%d", n, skew), func(t *testing.T) {
				d := open(t, t.TempDir(), ways["beneath"])
				s, data := store.New(d, ""), aligned(n, skew)
				for _, part := range []int{n, directFrom, directFrom + directAlign, 777_777} {
					putParts(t, s, "a/0", data, part)
					got, _, err := s.ReadAll(t.Context(), "a/0", int64(n)+1)
					if err != nil || !bytes.Equal(got, data) {
						t.Errorf("in parts of %d: %d bytes, %v; expected those %d that were stored",
							part, len(got), err, n)
					}
				}
			})
		}
	}
}

// putParts stores data in parts of that many bytes.
func putParts(t *testing.T, s *store.Store, key string, data []byte, part int) {
	t.Helper()
	o, err := s.StageParts(t.Context(), key, func(dst store.Parts) (err error) {
		for p := range slices.Chunk(data, part) {
			if err == nil {
				_, err = dst.Write(p)
			}
		}
		return err
	})
	if err == nil {
		_, err = o.Commit(t.Context(), store.If{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Whole blocks go past the page cache, and the file is an ordinary one afterwards.
func TestDirectWritesPassThePageCache(t *testing.T) {
	f, err := os.Create(t.TempDir() + "/f")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const n = 2*directFrom + 100
	wrote := writeDirect(int(f.Fd()), aligned(n, 0), 0)
	if flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0); err != nil ||
		flags&unix.O_DIRECT != 0 {
		t.Errorf("flags %#x, %v; expected no O_DIRECT", flags, err)
	}
	if wrote == 0 {
		t.Skip("the file system of temporary files has no direct writes")
	}
	if want := 2 * directFrom; wrote != want {
		t.Errorf("%d bytes of %d written directly, expected %d", wrote, n, want)
	}
	if wrote := writeDirect(int(f.Fd()), aligned(n, 8), 0); wrote != 0 {
		t.Errorf("%d bytes written from memory that is not aligned", wrote)
	}
}
