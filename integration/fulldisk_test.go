package integration

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestFullDisk fills the disk that holds the store, again and again: the error reaches every handle
// and stays, nothing that was written is lost, and when there is space again it is stored.
func TestFullDisk(t *testing.T) {
	needRoot(t)
	reader := startPeer(t, python(t, "ZARRFS_PY3", ".venv-v3"))
	disk := tmpfs(t, "4m")
	spec := arraySpec{Format: 3, Type: elementTypes[0], Shape: []int64{64, 16384},
		Chunks: []int64{4, 4096}, Shards: []int64{16, 8192}, Order: "C", Keys: "/", Index: "end",
		Codec:  `[{"name": "zstd", "configuration": {"level": 1, "checksum": false}}]`,
		Filter: "null"}
	store := filepath.Join(disk, "s.zarr")
	spec.write(t, store)
	f := &fullDisk{daemon: started(t, store), spec: spec, ballast: filepath.Join(disk, "ballast"),
		rng: rand.New(rand.NewPCG(1, 3))}
	f.want = expected{fill: spec.fill, now: spec.fill(64 * 16384)}
	cycles := count("ZARRFS_FULL_CYCLES", 100)
	for i := range cycles {
		if err := f.cycle(i); err != nil {
			t.Fatalf("cycle %d: %v", i, err)
		}
	}
	if err := f.stop(); err != nil {
		t.Error(err)
	}
	err := reader.check(filepath.Join(store, "a"), spec, f.want.now,
		filepath.Join(t.TempDir(), "want"))
	if err != nil {
		t.Error(err)
	}
	fmt.Printf("%s: %d cycles, lost: 0\n", t.Name(), cycles)
}

type fullDisk struct {
	*daemon
	spec    arraySpec
	ballast string
	want    expected
	rng     *rand.Rand
}

// cycle writes to a full disk, checks all effects of that, makes space, and stores.
func (f *fullDisk) cycle(number int) (err error) {
	var handles [3]*os.File
	for i := range handles {
		if handles[i], err = os.OpenFile(f.path("a.raw"), os.O_RDWR, 0); err != nil {
			return err
		}
		defer handles[i].Close() // an error of an earlier close is checked there
	}
	a, b, c := handles[0], handles[1], handles[2]
	if err := f.fillDisk(); err != nil {
		return err
	}
	for range 1 + f.rng.IntN(20) {
		if err := f.write(a); err != nil {
			return err
		}
	}
	first := a.Sync
	if number%3 == 1 {
		first = c.Close
	}
	if err := first(); !errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("the first to store: %v, expected ENOSPC", err)
	}
	if err := f.refused(a, b); err != nil {
		return err
	}
	// a running daemon has a folder of its own there, with an owner and locks
	for _, name := range f.spec.leftovers(f.store) {
		if base := filepath.Base(name); !strings.HasPrefix(base, ".zarrfs-") && base != "owner" &&
			!strings.HasPrefix(base, "lock-") {
			return fmt.Errorf("a temporary is left: %s", name)
		}
	}
	if number%10 == 9 {
		if err := f.cannotUnmount(); err != nil {
			return err
		}
	}
	if err := os.Remove(f.ballast); err != nil {
		return err
	}
	if err := b.Sync(); err != nil {
		return fmt.Errorf("fsync when there is space: %w", err)
	}
	if err := f.write(a); err != nil {
		return fmt.Errorf("when there is space again: %w", err)
	}
	if err := a.Close(); err != nil {
		return err
	}
	return f.compareStore()
}

// fillDisk takes all space.
func (f *fullDisk) fillDisk() error {
	w, err := os.Create(f.ballast)
	if err != nil {
		return err
	}
	defer w.Close()
	for n := 1 << 16; n > 0; {
		if _, err := w.Write(make([]byte, n)); errors.Is(err, syscall.ENOSPC) {
			n /= 2
		} else if err != nil {
			return err
		}
	}
	return nil
}

// write writes something that does not compress.
func (f *fullDisk) write(to *os.File) error {
	data := make([]byte, 1+f.rng.IntN(30000))
	for i := range data {
		data[i] = byte(f.rng.Uint32())
	}
	at := f.rng.Int64N(int64(len(f.want.now) - len(data)))
	if _, err := to.WriteAt(data, at); err != nil {
		return err
	}
	f.want.write(at, data)
	return nil
}

// refused: while there is an error, every handle reports it, and still shows what was written.
func (f *fullDisk) refused(handles ...*os.File) error {
	for _, h := range handles {
		if err := h.Sync(); !errors.Is(err, syscall.ENOSPC) {
			return fmt.Errorf("fsync of a handle: %v, expected ENOSPC", err)
		}
		if _, err := h.WriteAt(f.want.now[:1], 0); !errors.Is(err, syscall.ENOSPC) {
			return fmt.Errorf("a write of a handle: %v, expected ENOSPC", err)
		}
		found, err := io.ReadAll(io.NewSectionReader(h, 0, 1<<30))
		if err != nil {
			return err
		}
		if !bytes.Equal(found, f.want.now) {
			return fmt.Errorf("while the disk is full: %s", difference(found, f.want.now))
		}
	}
	return nil
}

// cannotUnmount: `zarrfs umount` fails, says what could not be stored, and leaves the mount.
func (f *fullDisk) cannotUnmount() error {
	out, err := command(f.bin, "umount", f.dir)
	if err == nil || !bytes.Contains(out, []byte("a")) || !f.mounted() {
		return fmt.Errorf("zarrfs umount of what cannot be stored: %v, mounted: %v\n%s",
			err, f.mounted(), out)
	}
	return nil
}

// compareStore reads the store by a process of its own.
func (f *fullDisk) compareStore() error {
	found, err := command(f.bin, "cat", "--view", "raw", f.store, "a")
	if err != nil {
		return fmt.Errorf("zarrfs cat: %w\n%s", err, found)
	}
	if !bytes.Equal(found, f.want.now) {
		return fmt.Errorf("the store has lost something: %s", difference(found, f.want.now))
	}
	return nil
}
