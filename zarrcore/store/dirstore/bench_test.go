package dirstore

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// Workload: open, fstat, read and close each of 4096 chunks of 10 KiB, warm, from as many threads
// as there are processors.

const (
	benchChunks = 4096
	benchBytes  = 10 << 10
)

// benchStore returns the keys of chunks in one directory (format 2), or nested as format 3 has
// them: c/i/j/k.
func benchStore(b *testing.B, nested bool) (dir string, keys []string) {
	objects := map[string][]byte{}
	data := bytes.Repeat([]byte("x"), benchBytes)
	for i := range benchChunks {
		key := fmt.Sprintf("array/%d.%d.%d", i>>8, i>>4&15, i&15)
		if nested {
			key = fmt.Sprintf("array/c/%d/%d/%d", i>>8, i>>4&15, i&15)
		}
		keys, objects[key] = append(keys, key), data
	}
	dir = b.TempDir()
	writeFiles(b, dir, objects)
	return dir, keys
}

func benchmark(b *testing.B, nested bool, read func(dir string) func(key string, p []byte) error) {
	dir, keys := benchStore(b, nested)
	one := read(dir)
	var next atomic.Int64
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		p := make([]byte, benchBytes)
		for pb.Next() {
			if err := one(keys[next.Add(1)%benchChunks], p); err != nil {
				b.Error(err)
			}
		}
	})
}

func BenchmarkRead(b *testing.B) {
	for _, nested := range []bool{false, true} {
		shape := map[bool]string{false: "flat", true: "nested"}[nested]
		for name, way := range ways {
			b.Run(shape+"/store/"+name, func(b *testing.B) {
				benchmark(b, nested, readStore(b, way))
			})
		}
		b.Run(shape+"/floor/ReadFile", func(b *testing.B) { benchmark(b, nested, readFile) })
		b.Run(shape+"/floor/syscalls", func(b *testing.B) { benchmark(b, nested, readSyscalls) })
	}
}

func readStore(b *testing.B, way func(*root)) func(string) func(string, []byte) error {
	return func(dir string) func(string, []byte) error {
		s := store.New(open(b, dir, way), dir)
		return func(key string, p []byte) error {
			o, err := s.Open(b.Context(), key)
			if err != nil {
				return err
			}
			defer o.Close()
			_, err = o.ReadAt(p[:o.Size()], 0)
			return err
		}
	}
}

func readFile(dir string) func(string, []byte) error {
	return func(key string, _ []byte) error {
		_, err := os.ReadFile(filepath.Join(dir, key))
		return err
	}
}

// readSyscalls is what there is without any safety: four system calls on a path.
func readSyscalls(dir string) func(string, []byte) error {
	return func(key string, p []byte) error {
		fd, err := unix.Open(dir+"/"+key, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return err
		}
		_, err = unix.Pread(fd, p, 0)
		return err
	}
}

// Missing chunks of sparse arrays are asked for as often as others.
func BenchmarkMissing(b *testing.B) {
	dir, _ := benchStore(b, true)
	for name, way := range ways {
		s := store.New(open(b, dir, way), dir)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Open(b.Context(), "array/c/3/4/99"); err == nil {
					b.Fatal("found")
				}
			}
		})
	}
}

func BenchmarkList(b *testing.B) {
	dir, _ := benchStore(b, false)
	s := store.New(open(b, dir, ways["beneath"]), dir)
	b.ReportAllocs()
	for b.Loop() {
		if err := s.List(b.Context(), "array", func(store.Entry) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}
