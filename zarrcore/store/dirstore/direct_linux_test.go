package dirstore

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
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
	for _, n := range []int{directFrom - 1, directFrom, directFrom + 1, directFrom + directAlign - 1, 2*directFrom + directAlign, 5*directFrom + 1234} {
		for _, skew := range []int{0, 1, 512} {
			t.Run(fmt.Sprintf("%d+%d", n, skew), func(t *testing.T) {
				d := open(t, t.TempDir(), ways["beneath"])
				s, data := store.New(d, ""), aligned(n, skew)
				if err := s.Put(t.Context(), "a/0", data); err != nil {
					t.Fatal(err)
				}
				got, _, err := s.ReadAll(t.Context(), "a/0", int64(n)+1)
				if err != nil || !bytes.Equal(got, data) {
					t.Errorf("%d bytes, %v; expected those %d that were stored", len(got), err, n)
				}
			})
		}
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
	wrote := writeDirect(int(f.Fd()), aligned(n, 0))
	if flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0); err != nil || flags&unix.O_DIRECT != 0 {
		t.Errorf("flags %#x, %v; expected no O_DIRECT", flags, err)
	}
	if wrote == 0 {
		t.Skip("the file system of temporary files has no direct writes")
	}
	if want := 2 * directFrom; wrote != want {
		t.Errorf("%d bytes of %d written directly, expected %d", wrote, n, want)
	}
	if wrote := writeDirect(int(f.Fd()), aligned(n, 8)); wrote != 0 {
		t.Errorf("%d bytes written from memory that is not aligned", wrote)
	}
}
