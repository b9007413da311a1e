package integration

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A manyChunks is an array of bytes, run/a, each chunk of which is written, in part or as a whole.
type manyChunks struct {
	t      *testing.T
	d      *daemon
	number int // of chunks
	chunk  int // bytes
	data   []byte
}

func newManyChunks(t *testing.T, number, chunk int, flags ...string) *manyChunks {
	store := filepath.Join(t.TempDir(), "s.zarr")
	for _, args := range [][]string{
		{"create", store, "--group"}, {"create", store, "run", "--group"},
		{"create", store, "run/a", "--shape", fmt.Sprint(number * chunk), "--chunks",
			fmt.Sprint(chunk), "--dtype", "|u1", "--codecs", "none"},
	} {
		run(t, zarrfs(t), args...)
	}
	m := &manyChunks{t: t, d: started(t, store, flags...), number: number, chunk: chunk,
		data: make([]byte, number*chunk)}
	rng := rand.NewChaCha8([32]byte{1})
	rng.Read(m.data)
	return m
}

// renameOnceStored renames the group in the store as soon as the first chunk is there.
func (m *manyChunks) renameOnceStored() (renamed <-chan error) {
	done := make(chan error, 1)
	go func() {
		end := time.Now().Add(patience)
		for ; time.Now().Before(end); time.Sleep(50 * time.Microsecond) {
			if some, _ := os.ReadDir(filepath.Join(m.d.store, "run/a/c")); len(some) > 0 {
				done <- os.Rename(filepath.Join(m.d.store, "run"), filepath.Join(m.d.store, "run2"))
				return
			}
		}
		done <- errors.New("no chunk was stored")
	}()
	return done
}

// missing returns which chunks are not in the array under its new name, as they were written.
func (m *manyChunks) missing() (numbers []int) {
	for i := range m.number {
		stored, err := os.ReadFile(filepath.Join(m.d.store, "run2/a/c", fmt.Sprint(i)))
		if err != nil || !bytes.Equal(stored, m.data[i*m.chunk:][:m.chunk]) {
			numbers = append(numbers, i)
		}
	}
	return numbers
}

// nothingHalf fails if anything was recreated under the old name.
func (m *manyChunks) nothingHalf() {
	if half := halfThings(m.t, m.d.store); len(half) > 0 {
		m.t.Errorf("half: %v", half)
	}
	if _, err := os.Stat(filepath.Join(m.d.store, "run")); err == nil {
		m.t.Error("the group is there again under its old name")
	}
}

// TestFlushFollowsRename: a group is renamed in the store while a program waits for chunks to be
// stored.
func TestFlushFollowsRename(t *testing.T) {
	m := newManyChunks(t, 256, 64<<10)
	for i := range m.number {
		clear(m.data[i*m.chunk:][:10]) // is not written
	}
	f, err := os.OpenFile(m.d.path("run/a.raw"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for i := range m.number {
		_, err := f.WriteAt(m.data[i*m.chunk+10:(i+1)*m.chunk], int64(i*m.chunk+10))
		if err != nil {
			t.Fatal(err)
		}
	}
	renamed := m.renameOnceStored()
	err = f.Sync()
	if renameErr := <-renamed; renameErr != nil {
		t.Fatal(renameErr)
	}
	missing := m.missing()
	t.Logf("fsync: %v, chunks that are missing: %d", err, len(missing))
	if err == nil && len(missing) > 0 {
		t.Errorf("fsync said that all is stored; missing: %v", missing)
	}
	if err != nil {
		t.Errorf("fsync: %v, although the stored chunks moved with the array", err)
	}
	m.nothingHalf()
}

// TestBackgroundFollowsRename: a group is renamed in the store while a program writes so much that
// it is stored in the background. Each chunk is in the array under its new name. If its writer got
// an error, it is in the file of data that could not be stored.
func TestBackgroundFollowsRename(t *testing.T) {
	scratch := t.TempDir()
	m := newManyChunks(t, 1024, 64<<10, "--scratch-dir", scratch)
	f, err := os.OpenFile(m.d.path("run/a.raw"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	renamed := m.renameOnceStored()
	written := 0
	for i := 0; i < m.number && err == nil; i += 16 {
		if _, err = f.WriteAt(m.data[i*m.chunk:][:16*m.chunk], int64(i*m.chunk)); err == nil {
			written = i + 16
		}
	}
	syncErr := f.Sync()
	if err := <-renamed; err != nil {
		t.Fatal(err)
	}
	closeErr := f.Close()
	m.nothingHalf()
	out, umountErr := command(m.d.bin, "umount", "--force", m.d.dir)
	m.d.wait()
	m.d.process = nil
	var kept []byte
	if files, _ := filepath.Glob(filepath.Join(scratch, "zarrfs-unsaved-*")); len(files) > 0 {
		kept = read(t, files[0])
	}
	lost := 0
	for _, i := range m.missing() {
		if i < written && (len(kept) < (i+1)*m.chunk ||
			!bytes.Equal(kept[i*m.chunk:][:m.chunk], m.data[i*m.chunk:][:m.chunk])) {
			lost++
		}
	}
	t.Logf("written %d chunks (%v), fsync: %v, close: %v, missing: %d, kept in a file: %d bytes, "+
		"lost: %d", written, err, syncErr, closeErr, len(m.missing()), len(kept), lost)
	if lost > 0 {
		t.Errorf("lost: %d chunks\numount: %v %s", lost, umountErr, out)
	}
	if told := errors.Is(syncErr, syscall.ESTALE) || errors.Is(err, syscall.ESTALE); !told &&
		len(m.missing()) > 0 {
		t.Errorf("not all is in the array, and its writer was not told: %v, %v", err, syncErr)
	}
}

// TestDiskWithoutInodes: what cannot be created because the disk has no room for another file
// leaves nothing, and the same command succeeds once there is room.
func TestDiskWithoutInodes(t *testing.T) {
	needRoot(t)
	source := mount(t, treeStore(t))
	npy := filepath.Join(source, "g/sub/c.npy")
	for _, format := range []string{"2", "3"} {
		for free := range 12 {
			disk := tmpfs(t, "4m,nr_inodes=64")
			store := filepath.Join(disk, "s.zarr")
			run(t, zarrfs(t), "create", store, "--group", "--format", format)
			d := started(t, store)
			made := d.path("made.npy")
			ballast := takeInodes(t, disk, free)
			out, err := command("cp", npy, made)
			if free == 0 && err == nil {
				t.Fatalf("format %s: without inodes cp succeeds", format)
			}
			before := fmt.Sprintf("format %s, %d inodes: cp: %v %s", format, free, err, out)
			if _, err := os.Stat(filepath.Join(store, "made")); err == nil {
				if half := halfThings(t, store); len(half) > 0 {
					t.Errorf("%s\nhalf: %v", before, half)
				}
			}
			for _, name := range ballast {
				os.Remove(name)
			}
			if out, err := command("cp", npy, made); err != nil {
				t.Errorf("%s\nwith room again: %v %s", before, err, out)
			}
			if out, err := command("cmp", npy, made); err != nil {
				t.Errorf("%s\nwith room again: %s", before, out)
			}
			if err := d.stop(); err != nil {
				t.Errorf("%s\n%v", before, err)
			}
		}
	}
}

// takeInodes makes files until that many inodes are free.
func takeInodes(t *testing.T, disk string, free int) (names []string) {
	t.Helper()
	for i := 0; ; i++ {
		name := filepath.Join(disk, fmt.Sprint("ballast", i))
		if err := os.WriteFile(name, nil, 0o666); err != nil {
			break
		}
		names = append(names, name)
	}
	free = min(free, len(names))
	for _, name := range names[:free] {
		os.Remove(name)
	}
	return names[free:]
}
