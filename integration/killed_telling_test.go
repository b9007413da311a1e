package integration

import (
	"path/filepath"
	"testing"
	"time"
)

// TestKilledWhileItTellsSizes: one program has mapped the file of an array, and another one appends
// rows. The kernel is made to ask the daemon for the size, by a process that does not keep the
// daemon from ending: it can be killed at any time, and programs get errors then.
func TestKilledWhileItTellsSizes(t *testing.T) {
	store := filepath.Join(t.TempDir(), "s.zarr")
	bin := zarrfs(t)
	run(t, bin, "create", store, "a", "--shape", "1,100", "--chunks", "50,100", "--dtype", "u1")
	for round := range 10 {
		d := started(t, store)
		path := d.path("a.raw")
		if mapForWriting(t, path)[0] != 0 { // the kernel keeps a page from now on
			t.Fatal("the array does not begin with the fill value")
		}
		ended := make(chan error, 1)
		go func() {
			for {
				if err := appendTo(path, make([]byte, 100)); err != nil {
					ended <- err
					return
				}
			}
		}()
		time.Sleep(100*time.Millisecond + time.Duration(round)*7*time.Millisecond)
		if !d.kill() {
			t.Error("the daemon was killed, and has not ended")
		}
		select {
		case <-ended:
		case <-time.After(patience):
			t.Error("the program that appends still waits for the mount")
		}
	}
}
