package integration

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/zarrfs/zarrfs/integration/mounttest"
)

// TestMemoryGroup writes twice as much as the control group of the daemon may have, with all
// defaults: nothing is lost, and the kernel does not end the daemon.
func TestMemoryGroup(t *testing.T) {
	needRoot(t)
	if mounttest.Race {
		t.Skip("SKIPPED: the race detector takes memory of its own")
	}
	const limit, written = 256 << 20, 512 << 20
	group := memoryGroup(t, limit)
	store, mnt := filepath.Join(t.TempDir(), "s.zarr"), t.TempDir()
	run(t, zarrfs(t), "create", store, "--group")
	mountInGroup(t, group, store, mnt)
	defer unmount(t, mnt)
	row := make([]byte, 1<<20)
	for i := range row {
		row[i] = byte(i >> 4)
	}
	head := fmt.Sprintf("{'descr': '|u1', 'fortran_order': False, 'shape': (%d, %d), }",
		written/len(row), len(row))
	head += strings.Repeat(" ", 127-10-len(head)) + "\n"
	f, err := os.Create(filepath.Join(mnt, "a.npy"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(
		"\x93NUMPY\x01\x00" + string([]byte{byte(len(head)), 0}) + head); err != nil {
		t.Fatal(err)
	}
	for i := range written / len(row) {
		row[0] = byte(i)
		if _, err := f.Write(row); err != nil {
			t.Fatalf("row %d: %v", i, err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	back, err := os.Open(filepath.Join(mnt, "a.raw"))
	if err != nil {
		t.Fatal(err)
	}
	defer back.Close()
	got := make([]byte, len(row))
	for i := range written / len(row) {
		row[0] = byte(i)
		if _, err := back.Read(got); err != nil || !bytes.Equal(got, row) {
			t.Fatalf("row %d is not what was written: %v", i, err)
		}
	}
}

// TestMemoryGroupReaders: the daemon lives in a control group of 256 MiB, with all defaults.
// Meanwhile 64 readers and 4 writers use an array of chunks of 2 MiB at random. Each read touches 8
// or 9 chunks, and finds what was written. At the end everything is stored.
func TestMemoryGroupReaders(t *testing.T) {
	needRoot(t)
	if mounttest.Race {
		t.Skip("SKIPPED: the race detector takes memory of its own")
	}
	const limit, readers, writers, seconds = 256 << 20, 64, 4, 6
	const rows, columns, wide = 512, 1 << 20, 16 << 10
	group := memoryGroup(t, limit)
	store, mnt := filepath.Join(t.TempDir(), "s.zarr"), t.TempDir()
	run(t, zarrfs(t), "create", store, "--group")
	run(t, zarrfs(t), "create", store, "a", "--shape", fmt.Sprintf("%d,%d", rows, columns),
		"--chunks", "16,131072", "--dtype", "uint8")
	mountInGroup(t, group, store, mnt)
	defer unmount(t, mnt)
	f, err := os.OpenFile(filepath.Join(mnt, "a.raw"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	// the same in each stretch of wide bytes
	byteAt := func(at int64) byte { return byte(at>>14) | 1 }
	row := make([]byte, columns)
	for r := range int64(rows) {
		for i := range row {
			row[i] = byteAt(r*columns + int64(i))
		}
		if _, err := f.WriteAt(row, r*columns); err != nil {
			t.Fatalf("row %d: %v", r, err)
		}
	}
	var done sync.WaitGroup
	end := time.Now().Add(seconds * time.Second)
	for i := range readers + writers {
		done.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(i)))
			file, err := os.OpenFile(f.Name(), os.O_RDWR, 0)
			if err != nil {
				t.Error(err)
				return
			}
			defer file.Close()
			buf := make([]byte, columns)
			for time.Now().Before(end) {
				if i < writers { // the same as before, so that readers need not know the order
					at := random.Int64N(rows*columns/wide) * wide
					_, err := file.WriteAt(bytes.Repeat([]byte{byteAt(at)}, wide), at)
					if err != nil {
						t.Errorf("write at byte %d: %v", at, err)
						return
					}
					continue
				}
				at := random.Int64N((rows - 1) * columns)
				n, err := file.ReadAt(buf, at)
				for k := 0; k < n && err == nil; k += 1000 {
					if want := byteAt(at + int64(k)); buf[k] != want {
						err = fmt.Errorf("found %d at byte %d, want %d", buf[k], at+int64(k), want)
					}
				}
				if err != nil {
					t.Errorf("read of %d bytes at %d: %v", len(buf), at, err)
					return
				}
			}
		})
	}
	done.Wait()
	most := peakMemory(t, daemonPID(t, mnt))
	if most > limit/4*3 { // the kernel ends it at the limit
		t.Errorf("the daemon had %d MiB in memory, expected at most %d", most>>20, limit>>20/4*3)
	}
}

// TestMemoryGroupNarrow: the daemon lives in a control group of 256 MiB, with all defaults.
// Meanwhile 64 programs read and 4 write arrays whose chunks are one element wide on the last axis.
// Each request of 1 MiB has a million runs there, in 4,096 chunks or in 16,384.
func TestMemoryGroupNarrow(t *testing.T) {
	needRoot(t)
	if mounttest.Race {
		t.Skip("SKIPPED: the race detector takes memory of its own")
	}
	const limit, size, readers, writers, seconds = 256 << 20, 4 << 20, 64, 4, 3
	group := memoryGroup(t, limit)
	store, mnt := filepath.Join(t.TempDir(), "s.zarr"), t.TempDir()
	run(t, zarrfs(t), "create", store, "--group")
	arrays := []string{"1024,4096", "256,16384"}
	for i, shape := range arrays {
		rows, columns, _ := strings.Cut(shape, ",")
		run(t, zarrfs(t), "create", store, fmt.Sprintf("a%d", i), "--shape", shape, "--dtype",
			"uint8", "--chunks", rows+",1", "--shards", rows+","+columns)
	}
	mountInGroup(t, group, store, mnt)
	defer unmount(t, mnt)
	content := make([]byte, size)
	for i := range content {
		content[i] = linkedByte(int64(i))
	}
	for i := range arrays {
		err := os.WriteFile(filepath.Join(mnt, fmt.Sprintf("a%d.raw", i)), content, 0o666)
		if err != nil {
			t.Fatal(err)
		}
	}
	var done sync.WaitGroup
	end := time.Now().Add(seconds * time.Second)
	for i := range readers + writers {
		done.Go(func() {
			file, err := os.OpenFile(filepath.Join(mnt, fmt.Sprintf("a%d.raw", i%len(arrays))),
				os.O_RDWR, 0)
			if err != nil {
				t.Error(err)
				return
			}
			defer file.Close()
			random := rand.New(rand.NewPCG(2, uint64(i)))
			buf := make([]byte, 1<<20)
			for time.Now().Before(end) {
				at := random.Int64N(size - int64(len(buf)))
				if i < writers { // the same as before
					_, err = file.WriteAt(content[at:at+int64(len(buf))], at)
				} else if _, err = file.ReadAt(buf, at); err == nil &&
					!bytes.Equal(buf, content[at:at+int64(len(buf))]) {
					err = errors.New("wrong bytes")
				}
				if err != nil {
					t.Errorf("program %d, at byte %d: %v", i, at, err)
					return
				}
			}
		})
	}
	done.Wait()
	most := peakMemory(t, daemonPID(t, mnt))
	t.Logf("the daemon had %d MiB in memory", most>>20)
	if most > limit/4*3 { // the kernel ends it at the limit
		t.Errorf("the daemon had %d MiB in memory, expected at most %d", most>>20, limit>>20/4*3)
	}
}

// mountInGroup mounts a store at the folder mnt, by a daemon in a control group.
func mountInGroup(t *testing.T, group, store, mnt string) {
	t.Helper()
	shell(t, mnt,
		fmt.Sprintf("echo $$ > %s/cgroup.procs; exec %s mount %s .", group, zarrfs(t), store))
}

// memoryGroup makes a control group of that many bytes of memory, until the test ends.
func memoryGroup(t *testing.T, limit int64) string {
	t.Helper()
	for top, file := range map[string]string{
		"/sys/fs/cgroup/memory": "memory.limit_in_bytes",
		"/sys/fs/cgroup":        "memory.max",
	} {
		group := filepath.Join(top, "zarrfs-test-"+strconv.Itoa(os.Getpid()))
		if os.Mkdir(group, 0o777) != nil {
			continue
		}
		// this is not a file system of control groups, or has none of memory
		if !exists(filepath.Join(group, file)) {
			os.Remove(group)
			continue
		}
		t.Cleanup(func() { // the kernel may hold it for a moment
			end := time.Now().Add(10 * time.Second)
			for os.Remove(group) != nil && time.Now().Before(end) {
				time.Sleep(10 * time.Millisecond)
			}
		})
		err := os.WriteFile(filepath.Join(group, file), []byte(strconv.FormatInt(limit, 10)), 0)
		if err != nil {
			t.Fatal(err)
		}
		return group
	}
	t.Skip("SKIPPED: no control group of memory can be made here")
	return ""
}

// TestAddressLimit: where ulimit leaves too little address space for a mount, zarrfs says so at
// once. How much Go's runtime takes before main depends on the machine, and with some limits no Go
// program starts. So the test raises the limit until a mount succeeds.
func TestAddressLimit(t *testing.T) {
	if mounttest.Race {
		t.Skip("SKIPPED: the race detector takes terabytes of addresses")
	}
	store, mnt := treeStore(t), t.TempDir()
	const step, most = 100_000, 8_000_000 // KiB, as ulimit has it
	var refused, crashed []int
	for limit := 8 * step; limit <= most; limit += step {
		out, err := command("bash", "-c",
			fmt.Sprintf("ulimit -v %d; %s mount %s %s", limit, zarrfs(t), store, mnt))
		text := string(out)
		switch {
		case err == nil:
			unmount(t, mnt)
			t.Logf("refused with %v KiB of addresses, not started with %v, mounted with %d",
				refused, crashed, limit)
			if len(refused) == 0 {
				t.Error("no limit was refused with a text of ours")
			}
			return
		case strings.HasPrefix(text, "zarrfs: ") && strings.Contains(text, "ulimit -v"):
			refused = append(refused, limit)
		case strings.Contains(text, "fatal error:"),
			strings.Contains(text, "runtime stack:"),
			strings.Contains(text, "runtime/cgo:"):
			crashed = append(crashed, limit)
			if strings.Contains(text, "main.main(") ||
				strings.Contains(text, "died while starting") {
				t.Errorf("with %d KiB of addresses the program began and crashed:\n%s", limit, text)
			}
		default:
			t.Errorf("with %d KiB of addresses: %v\n%s", limit, err, text)
		}
	}
	t.Errorf("no mount succeeded with up to %d KiB of addresses", most)
}

// TestNothingIsInherited: a mount in the background holds no descriptor of the shell that has
// started it. Otherwise a lock would be held, and a pipe stay open, as long as the mount exists.
func TestNothingIsInherited(t *testing.T) {
	need(t, "bash", "flock")
	store, mnt := treeStore(t), t.TempDir()
	defer unmount(t, mnt)
	cmd := limited(t, "timeout", "60", "bash", "-c", `exec 9>lock; flock 9; "$0" mount "$1" "$2" `+
		`7>&1 | cat; flock -u 9; exec 9>&-; exec 9>lock; flock -n 9`, zarrfs(t), store, mnt)
	cmd.Dir = t.TempDir()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	for _, fd := range daemonDescriptors(t, mnt) {
		if strings.HasSuffix(fd, "/lock") {
			t.Errorf("the daemon holds %s", fd)
		}
	}
}

// daemonPID returns the number of the process that serves a mount.
func daemonPID(t *testing.T, mnt string) string {
	t.Helper()
	_, pid, found := strings.Cut(
		string(read(t, filepath.Join(mnt, ".zarrfs/status.json"))), `"pid":`)
	if !found {
		t.Fatal("status.json names no process")
	}
	return strings.TrimSpace(pid[:strings.IndexAny(pid, ",}")])
}

// TestMountedFromAnywhere: with any standard descriptors, and started in any way, zarrfs mount
// returns, and its pipes end. The mount stays when the session of its starter has ended, and has
// none of its files open.
func TestMountedFromAnywhere(t *testing.T) {
	need(t, "bash", "setsid", "nohup", "timeout")
	store, bin := treeStore(t), zarrfs(t)
	for what, script := range map[string]string{
		"into a pipe":        `"$0" mount "$1" "$2" 2>&1 | cat`,
		"errors into a pipe": `"$0" mount "$1" "$2" 2> >(cat) | cat`,
		"nohup":              `nohup "$0" mount "$1" "$2" 2>&1 | cat`,
		"setsid":             `setsid --wait "$0" mount "$1" "$2" 2>&1 | cat`,
		"without input":      `"$0" mount "$1" "$2" <&-`,
		"all closed":         `"$0" mount "$1" "$2" <&- >&- 2>&-`,
		"all pipes":          `sleep 0 | "$0" mount "$1" "$2" 2>&1 | cat`,
		"a reader that ends": `"$0" mount "$1" "$2" 2>&1 | true`,
		"a session ends": `setsid --wait bash -c '"$0" mount "$1" "$2"; ` +
			`kill -HUP 0' "$0" "$1" "$2"; [ -e "$2/zarr.json" ]`,
	} {
		t.Run(what, func(t *testing.T) {
			mnt := t.TempDir()
			defer unmount(t, mnt)
			cmd := limited(t, "timeout", "60", "bash", "-c", script, bin, store, mnt)
			cmd.Dir = t.TempDir()
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			var held []string
			end := time.Now().Add(10 * time.Second) // it may still be closing its report
			for ; time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
				held = slices.DeleteFunc(daemonDescriptors(t, mnt), func(to string) bool {
					return !strings.HasPrefix(to, "pipe:") && !strings.HasPrefix(to, cmd.Dir)
				})
				if len(held) == 0 {
					return
				}
			}
			t.Errorf("the daemon holds %q", held)
		})
	}
}

// daemonDescriptors returns what the process that serves a mount has open.
func daemonDescriptors(t *testing.T, mnt string) (open []string) {
	t.Helper()
	pid := daemonPID(t, mnt)
	entries, err := os.ReadDir("/proc/" + pid + "/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if to, err := os.Readlink("/proc/" + pid + "/fd/" + e.Name()); err == nil {
			open = append(open, to)
		}
	}
	return open
}

// TestMemoryOfReaders: with a cache of 64 MiB, 1,000 open files and 64 readers at random, the
// daemon never has more than 128 MiB in memory. That is so with any limit of dirty memory, with
// chunks of one size or of four, and with any compressor.
func TestMemoryOfReaders(t *testing.T) {
	if mounttest.Race {
		t.Skip("SKIPPED: the race detector takes memory of its own")
	}
	t.Run("one size", func(t *testing.T) { memoryOfReaders(t, "zlib", 256<<10) })
	t.Run("four sizes", func(t *testing.T) {
		memoryOfReaders(t, "zlib", 64<<10, 256<<10, 1<<20, 3<<20)
	})
	t.Run("four sizes, zstd", func(t *testing.T) {
		memoryOfReaders(t, "zstd", 64<<10, 256<<10, 1<<20, 3<<20)
	})
	t.Run("two sizes, gzip", func(t *testing.T) { memoryOfReaders(t, "gzip", 256<<10, 1<<20) })
	t.Run("two sizes, zstd", func(t *testing.T) { memoryOfReaders(t, "zstd", 256<<10, 1<<20) })
}

func memoryOfReaders(t *testing.T, compressor string, sizes ...int) {
	const arrays, chunks, readers, reads = 1000, 4, 64, 5000
	store := linkedArrays(t, compressor, arrays, chunks, sizes...)
	mnt := mount(t, store, "--cache-size", "64MiB", "--dirty-size", "2GiB")
	var files [arrays]*os.File
	for i := range files {
		f, err := os.Open(filepath.Join(mnt, fmt.Sprintf("a%d.raw", i)))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		files[i] = f
	}
	var done sync.WaitGroup
	for reader := range readers {
		done.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(reader)))
			got := make([]byte, 4096)
			for range reads / readers {
				i := random.IntN(arrays)
				chunk := int64(sizes[i%len(sizes)])
				at := random.Int64N(chunks*chunk - 4096)
				if _, err := files[i].ReadAt(got, at); err != nil ||
					got[0] != linkedByte(at%chunk) {
					t.Errorf("at byte %d: found %d, want %d: %v",
						at, got[0], linkedByte(at%chunk), err)
				}
			}
		})
	}
	done.Wait()
	most := peakMemory(t, daemonPID(t, mnt))
	t.Logf("the daemon had %d MiB in memory", most>>20)
	if most > 128<<20 {
		t.Errorf("the daemon had %d MiB in memory, expected at most 128", most>>20)
	}
}

// linkedByte is the byte at an offset of each chunk of linkedArrays: half of its bits look random,
// so that compressors make about half of it.
func linkedByte(at int64) byte {
	h := uint64(at) * 0x9e3779b97f4a7c15
	h = (h ^ h>>29) * 0xbf58476d1ce4e5b9
	return byte(h>>60) | 0x40
}

// linkedArrays returns a store of format 2 with arrays a0, a1, ... of so many compressed chunks,
// which have the given sizes in rotation. All chunks of one size are names of one file.
func linkedArrays(
	t *testing.T, compressor string, arrays, chunks int, sizes ...int,
) (store string) {
	t.Helper()
	store = t.TempDir()
	put := func(path, content string) {
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	put(filepath.Join(store, ".zgroup"), `{"zarr_format": 2}`)
	for _, size := range sizes {
		put(filepath.Join(store, fmt.Sprintf("chunk%d", size)), packedChunk(t, compressor, size))
	}
	for i := range arrays {
		dir, chunk := filepath.Join(store, fmt.Sprintf("a%d", i)), sizes[i%len(sizes)]
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		put(filepath.Join(dir, ".zarray"), fmt.Sprintf(`{"zarr_format": 2, "shape": [%d],
			"chunks": [%d], "dtype": "|u1", "fill_value": 0, "order": "C", "filters": null,
			"compressor": {"id": %q, "level": 6}}`, chunks*chunk, chunk, compressor))
		for c := range chunks {
			err := os.Link(filepath.Join(store, fmt.Sprintf("chunk%d", chunk)),
				filepath.Join(dir, strconv.Itoa(c)))
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return store
}

// packedChunk returns a chunk of linkedArrays, compressed.
func packedChunk(t *testing.T, compressor string, size int) string {
	t.Helper()
	plain := make([]byte, size)
	for i := range plain {
		plain[i] = linkedByte(int64(i))
	}
	var packed bytes.Buffer
	var w io.WriteCloser
	switch compressor {
	case "zlib":
		w = zlib.NewWriter(&packed)
	case "gzip":
		w = gzip.NewWriter(&packed)
	case "zstd":
		enc, err := zstd.NewWriter(&packed)
		if err != nil {
			t.Fatal(err)
		}
		w = enc
	}
	if _, err := w.Write(plain); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	return packed.String()
}

// peakMemory returns the most bytes of memory that a process ever had.
func peakMemory(t *testing.T, pid string) int64 {
	t.Helper()
	for line := range strings.Lines(string(read(t, "/proc/"+pid+"/status"))) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatal("no VmHWM of process " + pid)
	return 0
}

// TestFilesBeyondDescriptors: 400 files that are not arrays are copied into a mount with at most
// 256 descriptors. Arrays can be opened meanwhile, each file has what was written, and all files
// are kept when the mount ends.
func TestFilesBeyondDescriptors(t *testing.T) {
	need(t, "bash")
	const files, chunk = 400, 64 << 10
	mnt, scratch := t.TempDir(), t.TempDir()
	store := linkedArrays(t, "zlib", 50, 1, chunk)
	run(t, "bash", "-c", `ulimit -n 256; exec "$0" mount --scratch-dir "$1" "$2" "$3"`, zarrfs(t),
		scratch, store, mnt)
	mounted := true
	defer func() {
		if mounted {
			unmount(t, mnt)
		}
	}()
	want := map[string]string{}
	for i := range files {
		name := fmt.Sprintf("note%d.txt", i)
		want[name] = strings.Repeat(name+"\n", 1+i%7)
		err := os.WriteFile(filepath.Join(mnt, name), []byte(want[name]),
			os.FileMode(0o400+0o200*(i%2)))
		if err != nil {
			t.Fatal(err)
		}
	}
	var arrays []*os.File
	for i := range 50 {
		f, err := os.Open(filepath.Join(mnt, fmt.Sprintf("a%d.raw", i)))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		arrays = append(arrays, f)
	}
	for i := range 50 { // later writes, renames and removals count, too
		name := fmt.Sprintf("note%d.txt", 2*i+1)
		f, err := os.OpenFile(filepath.Join(mnt, name), os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString("more\n"); err != nil || f.Close() != nil {
			t.Fatal(name, err)
		}
		want[name] += "more\n"
	}
	if err := os.Remove(filepath.Join(mnt, "note0.txt")); err != nil {
		t.Fatal(err)
	}
	err := os.Rename(filepath.Join(mnt, "note1.txt"), filepath.Join(mnt, "other.txt"))
	if err != nil {
		t.Fatal(err)
	}
	want["other.txt"] = want["note1.txt"]
	delete(want, "note0.txt")
	delete(want, "note1.txt")
	for name, text := range want {
		if got := string(read(t, filepath.Join(mnt, name))); got != text {
			t.Errorf("%s has %q, want %q", name, got, text)
		}
	}
	for i, f := range arrays {
		got := make([]byte, chunk)
		if _, err := f.ReadAt(got, 0); err != nil || got[1000] != linkedByte(1000) {
			t.Errorf("array %d: %v", i, err)
		}
	}
	for _, f := range arrays {
		f.Close()
	}
	unmount(t, mnt)
	mounted = false
	folders, _ := filepath.Glob(filepath.Join(scratch, "zarrfs-other-files", "*"))
	if len(folders) != 1 {
		t.Fatalf("files are kept in %q", folders)
	}
	got := tree(t, folders[0])
	delete(got, "zarrfs-note.json")
	sameTree(t, got, want)
	if info, err := os.Stat(filepath.Join(folders[0], "note2.txt")); err != nil ||
		info.Mode().Perm() != 0o400 {
		t.Errorf("the mode of note2.txt is not kept: %v, %v", info, err)
	}
	if left, _ := filepath.Glob(filepath.Join(scratch, "zarrfs-other-files-*")); len(left) > 0 {
		t.Errorf("%q is left", left)
	}
}

// TestTextsBeyondDescriptors: a program keeps 300 arrays of strings open for appending, in a mount
// whose process may have 256 descriptors. Others can be opened meanwhile, and each line is stored.
func TestTextsBeyondDescriptors(t *testing.T) {
	need(t, "bash")
	const texts = 300
	store, mnt := t.TempDir(), t.TempDir()
	put(t, store, "zarr.json", `{"zarr_format": 3, "node_type": "group"}`)
	for i := range texts {
		put(t, store, fmt.Sprintf("s%d/zarr.json", i), `{"zarr_format": 3, "node_type": "array",
			"shape": [0], "data_type": "string", "fill_value": "",
			"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [10]}},
			"chunk_key_encoding": {"name": "default"}, "codecs": [{"name": "vlen-utf8"}]}`)
	}
	run(t, "bash", "-c", `ulimit -n 256; exec "$0" mount "$1" "$2"`, zarrfs(t), store, mnt)
	var open []*os.File
	closeAll := func() {
		for _, f := range open {
			if err := f.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		}
		open = nil
	}
	defer unmount(t, mnt)
	defer closeAll()
	line := func(i int) string { return fmt.Sprintf("\"%d\"\n", i) }
	for i := range texts {
		name := filepath.Join(mnt, fmt.Sprintf("s%d.jsonl", i))
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatalf("after %d: %v", i, err)
		}
		open = append(open, f)
		if _, err := f.WriteString(line(i)); err != nil {
			t.Fatalf("after %d: %v", i, err)
		}
	}
	closeAll()
	for i := range texts {
		if got := string(read(t, filepath.Join(mnt, fmt.Sprintf("s%d.jsonl", i)))); got != line(i) {
			t.Errorf("s%d.jsonl has %q", i, got)
		}
	}
}

// TestTextsLeftByAKill: a mount that may have 64 descriptors is killed, while programs have 60
// files of lines open. What was written and not stored is named by its array. What was only read,
// or is stored, is not. It is not parallel: a program that starts would store all.
func TestTextsLeftByAKill(t *testing.T) {
	need(t, "bash")
	const texts = 60
	t.Setenv("TMPDIR", t.TempDir())
	store := t.TempDir()
	put(t, store, "zarr.json", `{"zarr_format": 3, "node_type": "group"}`)
	for i := range texts {
		name := fmt.Sprintf("w%d", i)
		run(t, zarrfs(t), "create", store, name, "--shape", "1", "--dtype", "string")
	}
	d := newDaemon(t, store)
	d.launch = func(cmd *exec.Cmd) (<-chan error, error) {
		args := append([]string{"-c", `ulimit -n 64; exec "$0" "$@"`}, cmd.Args...)
		bounded := limited(t, "bash", args...)
		cmd.Path, cmd.Args = bounded.Path, bounded.Args
		return startAndWait(cmd)
	}
	if err := d.start(); err != nil {
		t.Fatal(err)
	}
	for i := range texts {
		f := opened(t, d.path(fmt.Sprintf("w%d.jsonl", i)), os.O_RDWR)
		_, err := f.ReadAt(make([]byte, 2), 0)
		if i%3 > 0 {
			_, e := f.WriteAt([]byte("\"new\"\n"), 0)
			err = errors.Join(err, e)
		}
		if i%3 == 1 {
			err = errors.Join(err, f.Sync())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	syscall.Kill(d.process.Process.Pid, syscall.SIGKILL)
	d.wait()
	d.process = nil
	said := d.unmountKilled(t)
	found := regexp.MustCompile(`"[0-9]+(.*)"`).FindAllStringSubmatch(said, -1)
	hasOthers := strings.Contains(said, "not arrays")
	if len(found) == 0 || !strings.Contains(said, "not stored") || hasOthers {
		t.Errorf("umount says\n%s", said)
	}
	for _, name := range found {
		i := -1
		fmt.Sscanf(name[1], ".not-stored-w%d.jsonl", &i)
		if i%3 != 2 {
			t.Errorf("umount names %q", name[0])
		}
	}
}
