package integration

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestRenamedAgain: a file that is open is the array's after any number of renames.
func TestRenamedAgain(t *testing.T) {
	for _, flags := range []int{os.O_RDWR, os.O_WRONLY} {
		store := semanticsStore(t)
		dir := mount(t, store)
		f, err := os.OpenFile(filepath.Join(dir, "a.raw"), flags, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []string{"ab", "bc", "cd", "de"} {
			if err := os.Rename(filepath.Join(dir, n[:1]+".raw"), filepath.Join(dir, n[1:]+".raw")); err != nil {
				t.Fatal(err)
			}
		}
		p := make([]byte, 8)
		if flags == os.O_RDWR {
			if _, err := f.ReadAt(p, 0); err != nil || string(p) != string(semanticsBytes()[:8]) {
				t.Errorf("read %q, %v, expected %q", p, err, semanticsBytes()[:8])
			}
		}
		if _, err := f.WriteAt([]byte("written!"), 0); err != nil {
			t.Error(err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, "e.raw")); err != nil || string(got[:8]) != "written!" {
			t.Errorf("%v", err)
		}
	}
}

// TestReadWhileRenamed: a file that is renamed while it is read has its bytes all the time.
func TestReadWhileRenamed(t *testing.T) {
	dir := mount(t, semanticsStore(t))
	f, err := os.Open(filepath.Join(dir, "a.raw"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	stop := make(chan struct{})
	ended := make(chan int)
	go func() {
		n := 0
		defer func() { ended <- n }()
		for {
			for _, way := range [][2]string{{"a.raw", "b.raw"}, {"b.raw", "a.raw"}} {
				if err := os.Rename(filepath.Join(dir, way[0]), filepath.Join(dir, way[1])); err != nil {
					t.Error(err)
					return
				}
				n++
				time.Sleep(time.Millisecond)
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	want := semanticsBytes()
	bad := 0
	for reads, begin := 0, time.Now(); time.Since(begin) < time.Second; reads++ {
		got := make([]byte, len(want))
		if n, err := f.ReadAt(got, 0); err != nil || !bytes.Equal(got, want) {
			if bad++; bad < 4 {
				t.Errorf("read %d: %d bytes, %v, begins with %v, expected %v", reads, n, err, got[:8], want[:8])
			}
		}
	}
	close(stop)
	if n := <-ended; n == 0 {
		t.Error("it was never renamed")
	}
}
