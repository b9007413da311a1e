package integration

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/layout/npy"
)

// TestInterruptedCopyStaysShort kills cp in the middle of a .npy. The file is as short as what was
// copied, as in any file system. So rsync --append, which looks at sizes alone, completes it. The
// mount that wrote it knows that, and says so in its log.
func TestInterruptedCopyStaysShort(t *testing.T) {
	need(t, "rsync", "cp")
	formats(t, func(t *testing.T, format string) {
		dir := t.TempDir()
		whole, source := npyOfSevens(5_000), filepath.Join(dir, "x.npy")
		if err := writeFile(source, whole); err != nil {
			t.Fatal(err)
		}
		store := replacedStore(t, format)
		d := started(t, store)
		killCopy(t, whole[:10_128], d.path("new.npy"))
		for range 20 { // the mount forgets its writers meanwhile
			sizes(t, d.dir, 10_128, 10_000)
			time.Sleep(100 * time.Millisecond)
		}
		if log := d.logged(); !strings.Contains(log, "only a part of the file was written") {
			t.Errorf("the log says nothing of new.npy: %s", log)
		}
		sizes(t, mount(t, store), 40_128, 40_000)
		shell(t, dir, "rsync --append x.npy "+d.path("new.npy")+"; cmp x.npy "+d.path("new.npy"))
		sizes(t, d.dir, 40_128, 40_000)

		killCopy(t, whole[:10_128], d.path("new.npy"))
		if err := writeAll(filepath.Join(mount(t, store), "new.raw"), os.O_WRONLY, sevens(40_000)); err != nil {
			t.Fatal(err)
		}
		for range 300 { // another mount shows it a second later
			if bytes.Equal(read(t, d.path("new.npy")), whole) {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Error("what another mount has written is not seen")
	})
}

// TestPartOfNpyInFortranOrder kills cp in the middle of such a .npy, whose bytes have not the order
// of the .raw.
func TestPartOfNpyInFortranOrder(t *testing.T) {
	need(t, "cp")
	mnt := mount(t, replacedStore(t, "3"))
	header, err := npy.Header("'<u8'", true, []int64{50, 100})
	if err != nil {
		t.Fatal(err)
	}
	killCopy(t, append(header, sevens(10_000)...), filepath.Join(mnt, "new.npy"))
	for range 300 { // the mount learns of the close later
		if len(read(t, filepath.Join(mnt, "new.npy"))) == len(header)+40_000 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	sizes(t, mnt, int64(len(header))+40_000, 40_000)
}

// sizes compares what stat and read say of new.npy and new.raw.
func sizes(t *testing.T, dir string, npy, raw int64) {
	t.Helper()
	for name, want := range map[string]int64{"new.npy": npy, "new.raw": raw} {
		st, err := os.Stat(filepath.Join(dir, name))
		p := read(t, filepath.Join(dir, name))
		if err != nil || int64(len(p)) != want || st.Size() != want {
			t.Fatalf("%s: expected %d bytes, read %d, found %v, %v", name, want, len(p), st, err)
		}
	}
}

// killCopy lets cp copy the beginning of a file to a path, and kills it before more comes.
func killCopy(t *testing.T, beginning []byte, path string) {
	t.Helper()
	cmd := exec.Command("cp", "/dev/stdin", path)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write(beginning); err != nil {
		t.Fatal(err)
	}
	waitForSize(t, path, len(beginning))
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("expected cp to be killed, found %v", err)
	}
}

// waitForSize waits until a file has so many bytes.
func waitForSize(t *testing.T, path string, size int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if st, err := os.Stat(path); err == nil && st.Size() == int64(size) {
			return
		}
	}
	t.Fatalf("%s: expected %d bytes in a minute", path, size)
}
