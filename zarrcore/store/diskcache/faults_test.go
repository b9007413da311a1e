package diskcache_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/diskcache"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// filesIn returns the files that hold what is kept in a cache.
func filesIn(t *testing.T, dir string) (files []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "[0-9a-f][0-9a-f]", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// A fault is done to the files of a cache. It may fail: then there is less of it.
type fault struct {
	name string
	do   func(dir string, files []string)
}

// each does something to each file.
func each(do func(path string, b []byte) []byte) func(string, []string) {
	return func(_ string, files []string) {
		for _, path := range files {
			if b, err := os.ReadFile(path); err == nil {
				os.Remove(path)
				os.WriteFile(path, do(path, b), 0o600)
			}
		}
	}
}

// faults are what may happen to a cache while no mount uses it.
func faults() []fault {
	all := []fault{
		{"nothing", func(string, []string) {}},
		{"empty files", each(func(string, []byte) []byte { return nil })},
		{"zeros", each(func(_ string, b []byte) []byte { return make([]byte, len(b)) })},
		{"zeros at the end", each(func(_ string, b []byte) []byte {
			clear(b[len(b)/2:])
			return b
		})},
		{"longer", each(func(_ string, b []byte) []byte { return append(b, 0) })},
		{"twice", each(func(_ string, b []byte) []byte { return append(b, b...) })},
		{"names exchanged", func(_ string, files []string) {
			for i := 1; i < len(files); i += 2 {
				a, _ := os.ReadFile(files[i-1])
				b, _ := os.ReadFile(files[i])
				os.WriteFile(files[i-1], b, 0o600)
				os.WriteFile(files[i], a, 0o600)
			}
		}},
		{"folders for files", func(_ string, files []string) {
			for _, path := range files {
				os.Remove(path)
				os.Mkdir(path, 0o700)
			}
		}},
		{"all removed", func(dir string, _ []string) { os.RemoveAll(dir) }},
		{"account removed", func(dir string, _ []string) {
			os.Remove(filepath.Join(dir, "zarrfs-cache-1", "account"))
		}},
		{"account cut", func(dir string, _ []string) {
			os.Truncate(filepath.Join(dir, "zarrfs-cache-1", "account"), 100)
		}},
		{"nothing can be written", func(dir string, _ []string) {
			os.Remove(filepath.Join(dir, "zarrfs-cache-1", "account"))
			os.Mkdir(filepath.Join(dir, "zarrfs-cache-1", "account"), 0o700)
		}},
	}
	for i := range 8 {
		all = append(all, fault{fmt.Sprintf("a bit at %d/8", i), each(func(_ string,
			b []byte) []byte {
			b[len(b)*i/8] ^= 1 << i
			return b
		})}, fault{fmt.Sprintf("cut at %d/8", i), each(func(_ string, b []byte) []byte {
			return b[:len(b)*i/8]
		})})
	}
	for i := range 3 {
		all = append(all, fault{fmt.Sprintf("each third file removed, from %d", i),
			func(_ string, files []string) {
				for at := i; at < len(files); at += 3 {
					os.Remove(files[at])
				}
			}})
	}
	return all
}

// faultyReads are the ways to read objects of 700,000 bytes.
var faultyReads = []store.Want{
	{N: store.All}, {N: 1}, {Off: 262_140, N: 10}, {Off: 300_000, N: 300_000}, {Off: -16, N: 16},
	{},
}

// TestFaults: whatever is done to the files of a cache, each byte that is read is right.
func TestFaults(t *testing.T) {
	data, other := noise(1, 700_000), noise(2, 700_000)
	scenarios := 0
	for i, f := range faults() {
		for m, o := range []diskcache.Options{opens, never} {
			near, dir := memstore.New(), t.TempDir()
			storetest.Fill(t, near, map[string][]byte{"a": data, "b": other, "c": data[:100]})
			read := func(w store.Want) {
				o.Dir = dir
				c := open(t, o, near)
				s := &session{T: t, st: store.New(c, "test")}
				s.reads("a", w, data)
				s.reads("b", w, other)
				s.reads("c", store.Want{N: store.All}, data[:100])
				if got, _, err := s.st.GetIf(t.Context(), "c", "", 100); err != nil ||
					!bytes.Equal(got, data[:100]) {
					t.Errorf("%s: GetIf: %d bytes, %v", f.name, len(got), err)
				}
				c.Close()
				scenarios += 4
			}
			for n := range 2 {
				w := faultyReads[(2*i+3*m+n)%len(faultyReads)]
				os.RemoveAll(dir)
				read(store.Want{N: store.All})
				f.do(dir, filesIn(t, dir))
				read(w)
				read(w)
			}
		}
	}
	t.Logf("%d reads, 0 wrong bytes", scenarios)
}

// TestOlderFiles: files of an earlier version that come back, as from a backup, are not mixed with
// later ones.
func TestOlderFiles(t *testing.T) {
	before, after := noise(3, 700_000), noise(4, 700_000)
	near, dir := memstore.New(), t.TempDir()
	all := store.Want{N: store.All}
	read := func(o diskcache.Options, want []byte) {
		t.Helper()
		o.Dir = dir
		c := open(t, o, near)
		(&session{T: t, st: store.New(c, "test")}).reads("a", all, want)
		c.Close()
	}
	storetest.Fill(t, near, map[string][]byte{"a": before})
	read(opens, before)
	old := map[string][]byte{}
	for _, path := range filesIn(t, dir) {
		old[path], _ = os.ReadFile(path)
	}
	for path := range old {
		storetest.Fill(t, near, map[string][]byte{"a": after})
		read(opens, after)
		os.Remove(path)
		os.WriteFile(path, old[path], 0o600)
		read(opens, after)
		read(never, after)
	}
}

// sizeOf returns how many bytes the files of a cache have.
func sizeOf(t *testing.T, dir string) (n int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && e.Name() != "account" {
			if info, err := e.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestBound: several mounts that share a folder keep it within its bound all the time, except for
// what each is just writing.
func TestBound(t *testing.T) {
	const limit, objects, size = 4 << 20, 400, 50_000
	near, dir := memstore.New(), t.TempDir()
	all := map[string][]byte{}
	for i := range objects {
		all[fmt.Sprint(i)] = noise(uint64(i), size)
	}
	storetest.Fill(t, near, all)
	o := opens
	o.Dir, o.Size = dir, limit
	stop, watched := make(chan struct{}), make(chan int64)
	go func() {
		most := int64(0)
		for {
			select {
			case <-stop:
				watched <- most
				return
			default: // files come and go while they are counted, which allows for more
				most = max(most, sizeOf(t, dir))
			}
		}
	}()
	var mounts sync.WaitGroup
	for m := range 3 {
		mounts.Go(func() {
			c := open(t, o, near)
			s := &session{T: t, st: store.New(c, "test")}
			for i := range objects {
				key := fmt.Sprint((i + m*objects/3) % objects)
				s.reads(key, store.Want{N: store.All}, all[key])
				if i%8 == 0 {
					c.ForgetAhead("")
					s.reads("7", store.Want{N: store.All}, all["7"])
				}
			}
			c.Close()
		})
	}
	mounts.Wait()
	close(stop)
	if most, allowed := <-watched, int64(limit+16*(size+1000)); most > allowed {
		t.Errorf("the folder had %d bytes, allowed are %d", most, allowed)
	}
	if n := sizeOf(t, dir); n > limit || n < limit/2 {
		t.Errorf("the folder has %d bytes, the bound is %d", n, limit)
	}
}

// TestWritingFails: a cache that cannot be written any more is said once, and reads go on.
func TestWritingFails(t *testing.T) {
	near, dir := memstore.New(), t.TempDir()
	data := noise(1, 1000)
	storetest.Fill(t, near, map[string][]byte{"a": data, "b": data, "c": data})
	var log bytes.Buffer
	o := opens
	o.Dir, o.Log = dir, slog.New(slog.NewTextHandler(&log, nil))
	c := open(t, o, near)
	s := &session{T: t, st: store.New(c, "test")}
	s.reads("a", store.Want{N: store.All}, data)
	for os.RemoveAll(dir) != nil { // it fails while the object is being kept in it
		time.Sleep(time.Millisecond)
	}
	for _, key := range []string{"a", "b", "c"} {
		c.ForgetAhead("")
		s.reads(key, store.Want{N: store.All}, data)
	}
	c.Close()
	if n := strings.Count(log.String(), "cannot be written"); n != 1 {
		t.Errorf("it is said %d times: %s", n, log.String())
	}
	if t := c.Traffic().Disk; t.Refused == "" {
		s.Errorf("the status does not say it: %+v", t)
	}
}

// TestNotPrivate: a folder that others can look into is refused, and a new one is private.
func TestNotPrivate(t *testing.T) {
	dir := t.TempDir()
	o := opens
	o.Dir = dir
	open(t, o, memstore.New()).Close()
	inside := filepath.Join(dir, "zarrfs-cache-1")
	if info, err := os.Stat(inside); err != nil || info.Mode().Perm() != 0o700 {
		t.Fatalf("%v, %v", info.Mode(), err)
	}
	if err := os.Chmod(inside, 0o755); err != nil {
		t.Fatal(err)
	}
	dial := func(context.Context) (store.Driver, error) { return memstore.New(), nil }
	if _, err := diskcache.Open(t.Context(), o, dial); err == nil ||
		!strings.Contains(err.Error(), "chmod 700") {
		t.Errorf("a folder for all to read: %v", err)
	}
}

// TestKeys: each key has a file of its own inside the folder. That holds for keys that cannot be
// names of files, and for keys equal up to case.
func TestKeys(t *testing.T) {
	near, dir := memstore.New(), t.TempDir()
	objects := map[string][]byte{}
	for i, key := range []string{"a", "A", "a..b", "..a/...", strings.Repeat("k", 5000), "\xff\n*?",
		"a b", "tmp", "account", "é", "e\u0301"} {
		objects[key] = noise(uint64(i), 100+i)
	}
	storetest.Fill(t, near, objects)
	o := never
	o.Dir = dir
	for range 2 {
		c := open(t, o, near)
		s := &session{T: t, st: store.New(c, "test")}
		for key, want := range objects {
			s.reads(key, store.Want{N: store.All}, want)
		}
		c.Close()
	}
	if n := len(filesIn(t, dir)); n != len(objects)+1 {
		t.Errorf("%d files, want %d: one for the store", n, len(objects)+1)
	}
}

// TestReplacedAllTheTime: mounts share a cache that is too small, and all objects of the store are
// replaced all the time. What is read of an object is of one version, not older than the read.
func TestReplacedAllTheTime(t *testing.T) {
	const objects, size, rounds = 6, 400_000, 60
	near, dir := memstore.New(), t.TempDir()
	filled := make([][]byte, rounds+1) // by round: what all objects hold
	for i := range filled {
		filled[i] = bytes.Repeat([]byte{byte(i), 1}, size/2)
	}
	var now [objects]atomic.Int64 // the round in which an object was last replaced
	replace := func(i, round int) {
		storetest.Fill(t, near, map[string][]byte{fmt.Sprint("a/", i): filled[round]})
		now[i].Store(int64(round))
	}
	for i := range objects {
		replace(i, 0)
	}
	done := make(chan struct{})
	var mounts sync.WaitGroup
	for m := range 3 {
		mounts.Go(func() {
			o := opens
			o.Dir, o.Size = dir, 1<<20
			_, d := storetest.Behind(near, storetest.LinkOptions{})
			c := open(t, o, d)
			defer c.Close()
			r, p := rand.New(rand.NewPCG(uint64(m), 1)), make([]byte, size)
			for reads := 0; ; {
				select {
				case <-done:
					if t.Logf("%d reads", reads); reads < 5 {
						t.Error("these are too few")
					}
					return
				default:
				}
				c.ForgetAhead("")
				i := r.IntN(objects)
				least := now[i].Load()
				w := faultyReads[r.IntN(len(faultyReads))]
				w.Off = min(w.Off, size/2)
				obj, err := c.OpenFor(t.Context(), fmt.Sprint("a/", i), w)
				if err != nil {
					t.Error(err)
					return
				}
				n, err := obj.ReadAt(p, 0)
				obj.Close()
				if errors.Is(err, store.ErrChanged) {
					continue
				}
				if reads++; n < size || !bytes.Equal(p, filled[p[0]]) || int64(p[0]) < least {
					t.Errorf("%d bytes of round %d, %v, or mixed ones; since round %d", n, p[0],
						err, least)
				}
			}
		})
	}
	for round := 1; round <= rounds; round++ {
		replace(round%objects, round)
		time.Sleep(10 * time.Millisecond)
	}
	close(done)
	mounts.Wait()
}
