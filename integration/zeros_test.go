package integration

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestNoZerosThatNobodyWrote: an array holds only sevens, however often it is rewritten, appended
// to or truncated. So no program may read anything else, nor a header of zeros. The machine is kept
// busy: the kernel notes a new size when the program that asked for it gets a CPU.
func TestNoZerosThatNobodyWrote(t *testing.T) {
	keepBusy(t, 2*runtime.NumCPU())
	ways := []struct {
		name, view string
		grows      bool // see rareZeros
		change     func(path string, round int) error
	}{
		{"rewritten", "a.raw", false, func(path string, _ int) error { return writeAll(path, os.O_TRUNC|os.O_WRONLY, sevens(40_000)) }},
		{"appended", "a.raw", true, func(path string, _ int) error { return writeAll(path, os.O_APPEND|os.O_WRONLY, sevens(5_000)) }},
		{"cut", "a.raw", true, func(path string, round int) error {
			if round%4 == 3 {
				return os.Truncate(path, 3_000)
			}
			return writeAll(path, os.O_APPEND|os.O_WRONLY, sevens(5_000))
		}},
		{"saved", "a.npy", false, func(path string, _ int) error { return writeFile(path, npyOfSevens(5_000)) }},
	}
	for _, mode := range []string{"auto", "cached", "direct"} {
		for _, w := range ways {
			t.Run(mode+"/"+w.name, func(t *testing.T) {
				store := filepath.Join(t.TempDir(), "s.zarr")
				run(t, zarrfs(t), "create", store, "--group")
				d := started(t, store, "--io", mode, "--create-chunks", "1000", "--create-codecs", "none")
				if err := writeFile(d.path("a.npy"), npyOfSevens(5_000)); err != nil {
					t.Fatal(err)
				}
				reads, bad := readWhile(t, d.path(w.view), w.view == "a.npy", func(round int) error { return w.change(d.path(w.view), round) })
				t.Logf("%d reads, %d of them with zeros", reads, len(bad))
				if rare := w.grows && mode != "direct" && int64(len(bad)) <= 1+reads/rareZeros; len(bad) > 0 && !rare {
					t.Errorf("%d of %d reads: %v", len(bad), reads, some(bad))
				}
			})
		}
	}
}

// rareZeros: the kernel takes a page from its cache, and looks at the file's size after that. In a
// file that grows in between, the page has zeros behind the old end. No notice can prevent it for
// a reader that has the page in its hands. It takes a reader that loses its CPU just there: one in
// some 10,000 reads was seen. Before zarrfs waited for the kernel's size, it was one in 22 to 250.
const rareZeros = 500

// keepBusy runs so many programs that do nothing but take CPU time, until the test ends.
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

// npyOfSevens is a .npy file of so many elements of eight sevens.
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

// readWhile lets two readers read a file from its beginning to its end while change changes it, and
// returns what was wrong.
func readWhile(t *testing.T, path string, npy bool, change func(round int) error) (reads int64, bad []string) {
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
	round := 0
	for end := time.Now().Add(raceTime()); time.Now().Before(end); round++ {
		if err := change(round); err != nil {
			t.Errorf("round %d: %v", round, err)
			break
		}
	}
	done.Store(true)
	wg.Wait()
	return count.Load(), bad
}

// zerosIn says where there are zeros in what was read, "" if there are none.
func zerosIn(p []byte, npy bool) string {
	if npy { // between its header and its data the array has the fill value
		if len(p) > 0 && p[0] != 0x93 {
			return fmt.Sprintf("of %d bytes the header is %x", len(p), p[:min(8, len(p))])
		}
		return ""
	}
	if n := bytes.Count(p, []byte{7}); n < len(p) {
		return fmt.Sprintf("of %d bytes %d are no sevens, the first at %d", len(p), len(p)-n, bytes.IndexByte(p, 0))
	}
	return ""
}
