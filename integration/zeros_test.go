package integration

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestNoZerosThatNobodyWrote: an array holds only sevens, however often it is rewritten, appended
// to or truncated. So no program may read anything else, nor a header of zeros. The machine is kept
// busy: the kernel notes a new size when the program that asked for it gets a CPU.
func TestNoZerosThatNobodyWrote(t *testing.T) {
	keepBusy(t, 2*runtime.NumCPU())
	ways := []struct {
		name, view string
		change     func(path string, round int) error
	}{
		{"rewritten", "a.raw", func(path string, _ int) error {
			return writeAll(path, os.O_TRUNC|os.O_WRONLY, sevens(40_000))
		}},
		{"appended", "a.raw", func(path string, _ int) error {
			return writeAll(path, os.O_APPEND|os.O_WRONLY, sevens(5_000))
		}},
		{"truncate", "a.raw", func(path string, round int) error {
			if round%4 == 3 {
				return os.Truncate(path, 3_000)
			}
			return writeAll(path, os.O_APPEND|os.O_WRONLY, sevens(5_000))
		}},
		{"saved", "a.npy",
			func(path string, _ int) error { return writeFile(path, npyOfSevens(5_000)) }},
		{"saved in pieces", "a.npy", saveInPieces},
		{"saved in pieces beside it", "a.raw", func(path string, round int) error {
			return saveInPieces(strings.TrimSuffix(path, "raw")+"npy", round)
		}},
		{"renamed onto", "a.npy", saveByRename},
		{"renamed onto beside it", "a.raw", func(path string, round int) error {
			return saveByRename(strings.TrimSuffix(path, "raw")+"npy", round)
		}},
		{"renamed onto what a writer has open", "a.raw", func(path string, round int) error {
			npy := strings.TrimSuffix(path, "raw") + "npy"
			writer, err := os.OpenFile(npy, os.O_RDWR, 0)
			if err != nil {
				return err
			}
			defer writer.Close()
			return saveByRename(npy, round)
		}},
		{"removed and saved", "a.npy", func(path string, round int) error {
			if err := os.Remove(path); err != nil {
				return err
			}
			return saveInPieces(path, round)
		}},
	}
	for _, mode := range []string{"auto", "cached", "direct"} {
		for _, w := range ways {
			t.Run(mode+"/"+w.name, func(t *testing.T) {
				store := filepath.Join(t.TempDir(), "s.zarr")
				run(t, zarrfs(t), "create", store, "--group")
				d := started(t, store, "--io", mode, "--create-chunks", "1000",
					"--create-codecs", "none")
				if err := writeFile(d.path("a.npy"), npyOfSevens(5_000)); err != nil {
					t.Fatal(err)
				}
				reads, bad := readWhile(t, d.path(w.view), w.view == "a.npy",
					func(round int) error { return w.change(d.path(w.view), round) })
				races.add("3 reads of what is being written", w.name+", "+mode,
					raceRow{rounds: int(reads), zeros: len(bad)})
				t.Logf("%d reads, %d of them with zeros", reads, len(bad))
				if len(bad) > 0 {
					t.Errorf("%d of %d reads: %v", len(bad), reads, some(bad))
				}
			})
		}
	}
}

// TestOpenReaderSeesNoZeros: a program has a file open by the page cache and reads it all the time.
// Another one rewrites the array by a.npy. The first one may reach the end or get ESTALE, but reads
// no zeros.
func TestOpenReaderSeesNoZeros(t *testing.T) {
	const elements = 200_000
	whole, half := npyOfSevens(elements), npyOfSevens(elements/2)
	overwrite := func(path string, _ int) error { return writeFile(path, whole) }
	rename := func(path string, _ int) error { return renameOnto(path, whole) }
	change := func(path string, round int) error {
		return renameOnto(path, [][]byte{half, whole}[round%2])
	}
	for _, c := range []struct {
		what, format, shards, read string
		rewrite                    func(path string, round int) error
	}{
		{"format 2", "2", "", "a.raw", overwrite},
		{"format 3", "3", "", "a.raw", overwrite},
		{"shards", "3", "100000", "a.raw", overwrite},
		{"npy", "3", "", "a.npy", overwrite},
		{"renamed onto", "3", "", "a.raw", rename},
		{"renamed onto npy", "3", "", "a.npy", rename},
		{"another length", "3", "", "a.raw", change},
		{"another length npy", "3", "", "a.npy", change},
	} {
		t.Run(c.what, func(t *testing.T) {
			store := filepath.Join(t.TempDir(), "s.zarr")
			run(t, zarrfs(t), "create", store, "--group", "--format", c.format)
			array := []string{"create", store, "a", "--shape", fmt.Sprint(elements),
				"--dtype", "u8", "--chunks", "25000", "--codecs", "none"}
			if c.shards != "" {
				array = append(array, "--shards", c.shards)
			}
			run(t, zarrfs(t), array...)
			before := started(t, store)
			if err := writeFile(before.path("a.npy"), whole); err != nil {
				t.Fatal(err)
			}
			if err := before.stop(); err != nil {
				t.Fatal(err)
			}
			d := started(t, store, "--io", "cached")
			f, err := os.Open(d.path(c.read))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			reads, stale, zeros := 0, 0, 0
			rewrite := func(round int) error { return c.rewrite(d.path("a.npy"), round) }
			rounds := lookWhile(t, rewrite, func() {
				z, s := zerosOf(t, f)
				reads, zeros, stale = reads+1, zeros+z, stale+s
			})
			t.Logf("rewritten: %d, read: %d, stale: %d, zeros: %d", rounds, reads, stale, zeros)
			if zeros > 0 || reads == 0 || rounds == 0 {
				t.Errorf("%d pieces with zeros that nobody wrote", zeros)
			}
		})
	}
}

// zerosOf reads an open file of sevens in pieces, behind the header of a .npy. It returns in how
// many pieces there are zeros, and how many reads are ESTALE.
func zerosOf(t *testing.T, f *os.File) (zeros, stale int) {
	t.Helper()
	p := make([]byte, 1<<16)
	for off := int64(len(npyOfSevens(0))); ; {
		n, err := f.ReadAt(p, off)
		zeros += min(1, bytes.Count(p[:n], []byte{0}))
		if errors.Is(err, syscall.ESTALE) {
			stale++
		} else if err != nil && err != io.EOF {
			t.Error(err)
		}
		if off += int64(n); err != nil {
			return zeros, stale
		}
	}
}

// TestDataIsFoundWhileRewritten: programs that copy holes ask where data begins. While a file is
// renamed onto the array, data begins at once, or the answer is ESTALE. There is never a hole.
func TestDataIsFoundWhileRewritten(t *testing.T) {
	store := filepath.Join(t.TempDir(), "s.zarr")
	run(t, zarrfs(t), "create", store, "--group")
	d := started(t, store, "--create-chunks", "1000", "--create-codecs", "none")
	if err := writeFile(d.path("a.npy"), npyOfSevens(5_000)); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(d.path("a.raw"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	looks, stale := 0, 0
	rename := func(round int) error { return saveByRename(d.path("a.npy"), round) }
	lookWhile(t, rename, func() {
		looks++
		at, err := unix.Seek(int(f.Fd()), 20_000, unix.SEEK_DATA)
		if err == syscall.ESTALE {
			stale++
		} else if err != nil || at != 20_000 {
			t.Errorf("data begins at %d, %v, expected 20000", at, err)
		}
	})
	t.Logf("%d looks, %d of them stale", looks, stale)
}

// TestGrowingFileIsReadDirectly: an open soon after a change of size takes no pages of the kernel,
// and such a file can be mapped as any other.
func TestGrowingFileIsReadDirectly(t *testing.T) {
	for _, grower := range []string{"this mount", "another mount"} {
		t.Run(grower, func(t *testing.T) {
			store := filepath.Join(t.TempDir(), "s.zarr")
			run(t, zarrfs(t), "create", store, "--group")
			d := started(t, store, "--create-chunks", "1000", "--create-codecs", "none")
			if err := writeFile(d.path("a.npy"), npyOfSevens(5_000)); err != nil {
				t.Fatal(err)
			}
			reader := started(t, store, "--io", "cached")
			if direct := directOpens(t, reader, 40_000); direct != 0 {
				t.Errorf("%d opens of a file of one size pass the page cache by", direct)
			}
			writer := reader
			if grower == "another mount" {
				writer = d
			}
			err := writeAll(writer.path("a.raw"), os.O_APPEND|os.O_WRONLY, sevens(5_000))
			if err != nil {
				t.Fatal(err)
			}
			if direct := directOpens(t, reader, 45_000); direct != 1 {
				t.Errorf("%d opens of a file that has grown pass the page cache by, expected 1",
					direct)
			}
		})
	}
}

// directOpens reads a.raw by calls and by a mapping, which must be that many sevens. It returns how
// many opens of the mount have passed the page cache by.
func directOpens(t *testing.T, d *daemon, n int) int {
	t.Helper()
	f, err := os.Open(d.path("a.raw"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if p, err := io.ReadAll(f); err != nil || !bytes.Equal(p, sevens(n)) {
		t.Errorf("read %d bytes, %v, expected %d sevens", len(p), err, n)
	}
	st, err := f.Stat()
	if err != nil || st.Size() != int64(n) {
		t.Fatalf("stat: %v, expected %d bytes, found %d", err, n, st.Size())
	}
	m, err := unix.Mmap(int(f.Fd()), 0, n, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(m)
	if !bytes.Equal(m, sevens(n)) {
		t.Error("a mapping has other bytes")
	}
	var status struct {
		Mount struct {
			Opens  int `json:"opens"`
			Direct int `json:"opens_direct"`
		} `json:"mount"`
	}
	if err := json.Unmarshal(read(t, d.path(".zarrfs/status.json")), &status); err != nil {
		t.Fatal(err)
	}
	if status.Mount.Opens == 0 {
		t.Error("the mount counts no opens")
	}
	return status.Mount.Direct
}

// keepBusy runs a number of programs until the test ends. They only take CPU time.
func keepBusy(t *testing.T, programs int) {
	t.Helper()
	for range programs {
		cmd := exec.Command("sh", "-c", "while :; do :; done")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			cmd.Process.Kill()
			cmd.Wait()
		})
	}
}

func sevens(n int) []byte { return bytes.Repeat([]byte{7}, n) }

// npyOfSevens returns a .npy file of that many elements of eight sevens.
func npyOfSevens(n int) []byte {
	return append(headerOf("'<u8'", int64(n)), sevens(8*n)...)
}

func writeAll(path string, flags int, data []byte) error {
	f, err := os.OpenFile(path, flags, 0)
	if err != nil {
		return err
	}
	for len(data) > 0 && err == nil {
		n := min(len(data), 8_000)
		_, err = f.Write(data[:n])
		data = data[n:]
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

// saveInPieces writes a .npy file as np.save does: first the header, then the bytes. The shape
// changes each time.
func saveInPieces(path string, round int) error {
	rows := 4_000 + 1_000*(round%3)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(headerOf("'<u8'", int64(rows)))
	for range rows / 1_000 {
		if err == nil {
			_, err = f.Write(sevens(8_000))
		}
	}
	return cmp.Or(err, f.Close())
}

// saveByRename writes a .npy as rsync and editors do: under another name, which is then renamed.
// The shape changes each time.
func saveByRename(path string, round int) error {
	return renameOnto(path, npyOfSevens(4_000+1_000*(round%3)))
}

// renameOnto puts a new file with that data in the place of the one at path.
func renameOnto(path string, data []byte) error {
	temporary := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".Xy7z12")
	if err := writeFile(temporary, data); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}

// keepChanging changes a file as often as it can within raceTime, and returns how often.
func keepChanging(t *testing.T, change func(round int) error) (rounds int) {
	for end := time.Now().Add(raceTime()); time.Now().Before(end); rounds++ {
		if err := change(rounds); err != nil {
			t.Errorf("round %d: %v", rounds, err)
			break
		}
	}
	return rounds
}

// lookWhile calls look again and again while change changes a file. It returns how often that did.
func lookWhile(t *testing.T, change func(round int) error, look func()) (rounds int) {
	var done atomic.Bool
	var changing sync.WaitGroup
	changing.Go(func() {
		defer done.Store(true)
		rounds = keepChanging(t, change)
	})
	for !done.Load() {
		look()
	}
	changing.Wait()
	return rounds
}

// readWhile lets two readers read a file from its beginning to its end while change changes it, and
// returns what was wrong.
func readWhile(
	t *testing.T, path string, npy bool, change func(round int) error,
) (reads int64, bad []string) {
	var done atomic.Bool
	var count atomic.Int64
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for !done.Load() {
				f, err := os.Open(path)
				if err != nil {
					continue
				}
				p, err := io.ReadAll(f)
				f.Close()
				count.Add(1)
				if wrong := zerosIn(p, npy); err == nil && wrong != "" {
					mu.Lock()
					bad = append(bad, wrong)
					mu.Unlock()
				}
			}
		})
	}
	keepChanging(t, change)
	done.Store(true)
	wg.Wait()
	return count.Load(), bad
}

// zerosIn says where there are zeros in what was read, "" if there are none.
func zerosIn(p []byte, npy bool) string {
	if npy {
		if len(p) > 0 && p[0] != 0x93 {
			return fmt.Sprintf("of %d bytes the header is %x", len(p), p[:min(8, len(p))])
		}
		p = p[min(128, len(p)):]
	}
	if n := bytes.Count(p, []byte{7}); n < len(p) {
		return fmt.Sprintf("of %d bytes %d are no sevens, the first at %d",
			len(p), len(p)-n, bytes.IndexByte(p, 0))
	}
	return ""
}
