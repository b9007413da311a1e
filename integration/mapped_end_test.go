package integration

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestMappedEndIsKept: a program appends rows to an array. As soon as each row is there, another
// program changes its last byte through a mapping. The mount tells the kernel the new end of the
// file meanwhile, and the byte stays as it was changed.
func TestMappedEndIsKept(t *testing.T) {
	for _, io := range []string{"auto", "cached"} {
		t.Run(io, func(t *testing.T) {
			store := filepath.Join(t.TempDir(), "s.zarr")
			run(t, zarrfs(t), "create", store, "--group")
			run(t, zarrfs(t), "create", store, "a", "--shape", "1,100", "--chunks", "50,100",
				"--dtype", "uint8")
			path := started(t, store, "--io", io).path("a.raw")
			mapped := mapForWriting(t, path)
			kept, faults := make([]byte, 0, 1<<14), 0
			for end := time.Now().Add(raceTime()); time.Now().Before(end) && len(kept) < 1<<14; {
				kept = append(kept, byte(len(kept)%250+1))
				appended := make(chan error, 1)
				go func() { appended <- appendTo(path, make([]byte, 100)) }()
				last := 100*len(kept) + 99
				faults += storeAtEnd(t, path, mapped, last, kept[len(kept)-1])
				if err := <-appended; err != nil {
					t.Fatal(err)
				}
			}
			if err := unix.Msync(mapped[:100*(len(kept)+1)], unix.MS_SYNC); err != nil {
				t.Fatal(err)
			}
			lost, data := 0, read(t, path)
			for i, want := range kept {
				if data[100*(i+1)+99] != want {
					lost++
				}
			}
			t.Logf("rows: %d, lost: %d, faults: %d", len(kept), lost, faults)
			if lost > 0 {
				t.Error("bytes that were written through a mapping are lost")
			}
		})
	}
}

// TestMappedEndIsTold: the kernel is told the new end of a mapped file. It does not matter whether
// the program has read a page of it. The kernel must look up the names of the file again by then:
// it believes them for a second.
func TestMappedEndIsTold(t *testing.T) {
	for name, reads := range map[string]bool{"a page was read": true, "no page was read": false} {
		t.Run(name, func(t *testing.T) {
			store := filepath.Join(t.TempDir(), "s.zarr")
			run(t, zarrfs(t), "create", store, "--group")
			run(t, zarrfs(t), "create", store, "a", "--shape", "1,100", "--chunks", "50,100",
				"--dtype", "uint8")
			d := started(t, store)
			pages := mapForWriting(t, d.path("a.npy"))
			if reads && pages[0] != 0x93 {
				t.Fatalf("a.npy begins with %#x", pages[0])
			}
			mapped, appends := opened(t, d.path("a.npy"), os.O_RDONLY),
				opened(t, d.path("a.raw"), os.O_WRONLY|os.O_APPEND)
			before := sizeInKernel(t, mapped)
			time.Sleep(1500 * time.Millisecond)
			if _, err := appends.Write(make([]byte, 100)); err != nil {
				t.Fatal(err)
			}
			if got := sizeInKernel(t, mapped); got != before+100 {
				t.Errorf("the kernel believes that a.npy has %d bytes; expected %d", got,
					before+100)
			}
		})
	}
}

// sizeInKernel returns the size of a file as the kernel knows it, without a question to the daemon.
func sizeInKernel(t *testing.T, f *os.File) int64 {
	t.Helper()
	var st unix.Statx_t
	flags := unix.AT_EMPTY_PATH | unix.AT_STATX_DONT_SYNC
	if err := unix.Statx(int(f.Fd()), "", flags, unix.STATX_SIZE, &st); err != nil {
		t.Fatal(err)
	}
	return int64(st.Size)
}

// mapForWriting maps 2 MiB of a file, more than it has.
func mapForWriting(t *testing.T, path string) []byte {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	mapped, err := unix.Mmap(int(f.Fd()), 0, 2<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(mapped) })
	return mapped
}

// storeAtEnd changes a byte through a mapping once the file has it. A fault comes if the kernel has
// told a larger size than it uses itself: it is asked again then. storeAtEnd returns how many came.
func storeAtEnd(t *testing.T, path string, mapped []byte, at int, value byte) (faults int) {
	t.Helper()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	try := func() (ok bool) {
		defer func() { ok = recover() == nil }()
		mapped[at] = value
		return
	}
	for awaitSize(t, path, at+1); !try(); awaitSize(t, path, at+1) {
		faults++
	}
	return faults
}

// awaitSize waits until a file has so many bytes.
func awaitSize(t *testing.T, path string, size int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; {
		info, err := os.Stat(path)
		if err != nil || time.Now().After(end) {
			t.Fatalf("%s does not get %d bytes: %v", path, size, err)
		}
		if info.Size() >= int64(size) {
			return
		}
	}
}
