package integration

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The model test does random operations on an array of a mount and on a slice of bytes, which is
// the model, and compares.
//
//	ZARRFS_MODEL_RUNS=2000  how many runs; 50 without it
//	ZARRFS_MODEL_SEED=7     the one run of that seed; a failure names it
const (
	modelRuns = 50
	modelOps  = 200
)

// TestWriteModel: what was written is read, by all views and handles, by zarr-python and by
// tensorstore; what close or fsync acknowledged outlives the daemon's death.
func TestWriteModel(t *testing.T) {
	zarrfs(t) // skips without FUSE, builds before the runs
	var reader *peer
	if path, ok := findPython("ZARRFS_PY3", ".venv-v3"); ok {
		reader = startPeer(t, path)
	} else if os.Getenv("ZARRFS_REQUIRE_PEERS") == "1" {
		t.Fatal("no Python with the peers' packages: run `make peers`")
	} else {
		t.Log("SKIPPED: zarr-python and tensorstore do not read what was written: run `make peers`")
	}
	for _, seed := range modelSeeds(t) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, 0))
			spec, flags := randomSpec(rng), randomFlags(rng)
			script := randomScript(rng, modelOps)
			run := func(script []op) error {
				m := newMountedArray(t, spec, reader, flags...)
				defer m.end()
				return runModel(script, m)
			}
			reportModel(t, run, script, fmt.Sprintf("%v\nflags %v", spec, flags))
		})
	}
}

func modelSeeds(t *testing.T) (seeds []uint64) {
	if os.Getenv("ZARRFS_MODEL_SEED") != "" {
		return []uint64{numberOf(t, "ZARRFS_MODEL_SEED", 0)}
	}
	first := numberOf(t, "ZARRFS_MODEL_FIRST", 1)
	for i := range numberOf(t, "ZARRFS_MODEL_RUNS", modelRuns) {
		seeds = append(seeds, first+i)
	}
	return seeds
}

// randomFlags makes some daemons so small that they spill, and others encode one chunk at a time.
func randomFlags(rng *rand.Rand) []string {
	return pick(rng, nil, []string{"--dirty-size", "1MiB"},
		[]string{"--dirty-size", "64KiB", "--cache-size", "1MiB"}, []string{"--workers", "1"},
		[]string{"--io", "cached"})
}

// reportModel runs a script; a failure is made as short as possible and printed in full.
func reportModel(t *testing.T, run func([]op) error, script []op, about string) {
	t.Helper()
	err := run(script)
	if err == nil {
		return
	}
	short, err := shrink(script, err, run, 150)
	t.Errorf("%s\n%v\nafter these operations:\n%s\nrun again with ZARRFS_MODEL_SEED=%s",
		about, err, tell(short), filepath.Base(t.Name()))
}

func tell(script []op) string {
	var b strings.Builder
	for _, o := range script {
		fmt.Fprintf(&b, "  %v\n", o)
	}
	return b.String()
}

// shrink leaves out as many operations as it can while the run still fails, with at most so many
// runs.
func shrink(script []op, err error, run func([]op) error, tries int) ([]op, error) {
	for size := len(script) / 2; size > 0; size /= 2 {
		for at := 0; at < len(script) && tries > 0; {
			fewer := slices.Concat(script[:at], script[min(at+size, len(script)):])
			tries--
			if again := run(fewer); again != nil {
				script, err = fewer, again
			} else {
				at += size
			}
		}
	}
	return script, err
}

// op is one operation. Its numbers have a meaning whatever was done before, so that any part of a
// script is a script.
type op struct {
	do      string
	slot    int    // of the handle
	a, b, c uint64 // where, how much, what: by the operation
}

func (o op) String() string {
	return fmt.Sprintf("%s handle %d (%d %d %d)", o.do, o.slot, o.a, o.b, o.c)
}

// weights say how often an operation comes.
var weights = []struct {
	do    string
	share int
}{
	{"write", 60}, {"read", 36}, {"load", 14}, {"store", 12}, {"append", 10}, {"resize", 8},
	{"punch", 6}, {"ragged", 3}, {"fsync", 10}, {"close", 14},
	{"size", 6}, {"all", 4}, {"remount", 3}, {"kill", 3}, {"storekill", 1}, {"outside", 6},
	{"gap", 4}, {"document", 3}, {"dirty", 8},
}

func randomScript(rng *rand.Rand, n int) (script []op) {
	sum := 0
	for _, w := range weights {
		sum += w.share
	}
	for range n {
		at := rng.IntN(sum)
		for _, w := range weights {
			if at -= w.share; at < 0 {
				script = append(script, op{w.do, rng.IntN(len(slots)), rng.Uint64() >> 1,
					rng.Uint64() >> 1, rng.Uint64() >> 1})
				break
			}
		}
	}
	return script
}

// expected is the model: what a reader must see now, and what a new daemon may find after a kill.
type expected struct {
	now   []byte
	acked []byte  // what the last successful close or fsync has stored
	since []wrote // after it, in order
	fill  func(int64) []byte
}

// wrote is a stretch that was written or truncated. What was truncated reads as the fill value if
// the array grows again.
type wrote struct {
	at   int64
	data []byte
	size int64 // of the array after it
}

func (e *expected) write(at int64, data []byte) {
	if end := at + int64(len(data)); end > int64(len(e.now)) {
		e.now = append(e.now, e.fill(end-int64(len(e.now)))...)
	}
	copy(e.now[at:], data)
	e.since = append(e.since, wrote{at, bytes.Clone(data), int64(len(e.now))})
}

func (e *expected) resize(size int64) {
	if size < int64(len(e.now)) {
		e.since = append(e.since, wrote{size, e.fill(int64(len(e.now)) - size), size})
		e.now = e.now[:size]
		return
	}
	e.write(int64(len(e.now)), e.fill(size-int64(len(e.now))))
}

func (e *expected) ack() {
	e.acked, e.since = bytes.Clone(e.now), nil
}

// compare compares what was read at an offset with the model.
func (e *expected) compare(found []byte, at int64) error {
	want := e.now[at : at+int64(len(found))]
	if bytes.Equal(found, want) {
		return nil
	}
	return fmt.Errorf("[%d, %d) %s", at, at+int64(len(found)), difference(found, want))
}

func difference(found, want []byte) string {
	bad, first := 0, -1
	for i := range want {
		if found[i] != want[i] {
			if bad++; first < 0 {
				first = i
			}
		}
	}
	return fmt.Sprintf("%d bytes differ, first at %d: found %#02x, expected %#02x",
		bad, first, found[first], want[first])
}

// survive takes over what a new daemon finds after a kill: each byte must be the acknowledged one
// or a later one.
func (e *expected) survive(found []byte) error {
	sizes := []int64{int64(len(e.acked))}
	for _, w := range e.since {
		sizes = append(sizes, w.size)
	}
	if !slices.Contains(sizes, int64(len(found))) {
		return fmt.Errorf("after a kill the array has %d bytes, expected one of %v",
			len(found), sizes)
	}
	if lost := e.lost(found); lost >= 0 {
		return fmt.Errorf("after a kill byte %d is %#02x, "+
			"which it was not since the last acknowledged flush", lost, found[lost])
	}
	e.now = bytes.Clone(found)
	e.ack()
	return nil
}

// longest returns the most bytes that the array has had since the last acknowledged flush.
func (e *expected) longest() int64 {
	most := int64(len(e.acked))
	for _, w := range e.since {
		most = max(most, w.size)
	}
	return most
}

// lost returns the first byte that is neither the acknowledged one nor a later one, or -1.
func (e *expected) lost(found []byte) int {
	before := e.acked
	if len(found) > len(before) {
		before = append(bytes.Clone(before), e.fill(int64(len(found)-len(before)))...)
	}
	bad := make([]bool, len(found))
	for i := range found {
		bad[i] = found[i] != before[i]
	}
	for _, w := range e.since {
		for i := w.at; i < min(w.at+int64(len(w.data)), int64(len(found))); i++ {
			if found[i] == w.data[i-w.at] {
				bad[i] = false
			}
		}
	}
	return slices.Index(bad, true)
}

// volume is what a run works on: the views of one array.
type volume interface {
	path(view string) string // of a view, "" if there is none
	spec() arraySpec
	rows() bool               // a size must be a whole number of rows
	restart() error           // unmount, mount again
	kill() error              // the daemon dies, mount again
	outside(from, to []int64) // another program replaces an object by a copy of another
	finish(want []byte) error // after the last operation: it is unmounted, and read by others
}

// mountedArray is an array in a mount.
type mountedArray struct {
	*daemon
	array  arraySpec
	reader *peer // may be nil
}

func newMountedArray(t *testing.T, spec arraySpec, reader *peer, flags ...string) *mountedArray {
	store := filepath.Join(memoryDir(t), "s.zarr")
	spec.write(t, store)
	return &mountedArray{started(t, store, flags...), spec, reader}
}

// memoryDir is a folder that is in memory if there is such a file system: syncing thousands of
// objects takes no time there.
func memoryDir(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "zarrfs-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func (m *mountedArray) path(view string) string { return m.daemon.path("a" + view) }
func (m *mountedArray) spec() arraySpec         { return m.array }
func (m *mountedArray) rows() bool              { return true }

func (m *mountedArray) restart() error { return errors.Join(m.stop(), m.start()) }

func (m *mountedArray) kill() error {
	m.daemon.kill()
	return m.start()
}

func (m *mountedArray) outside(from, to []int64) {
	source, target := filepath.Join(m.store, "a", m.array.key(from)),
		filepath.Join(m.store, "a", m.array.key(to))
	data, err := os.ReadFile(source)
	if err != nil { // it is fill
		os.Remove(target)
		return
	}
	temporary := filepath.Join(filepath.Dir(m.store), "outside")
	os.MkdirAll(filepath.Dir(target), 0o777)
	os.WriteFile(temporary, data, 0o666)
	os.Rename(temporary, target)
}

func (m *mountedArray) finish(want []byte) error {
	if err := m.stop(); err != nil {
		return err
	}
	if names := m.array.leftovers(m.store); names != nil {
		return fmt.Errorf("left over in the store: %v", names)
	}
	if m.reader == nil {
		return nil
	}
	return m.reader.check(filepath.Join(m.store, "a"), m.array, want,
		filepath.Join(filepath.Dir(m.store), "want"))
}

// plainArray is a plain file that behaves as a mount should, except for one fault: it tests the
// test.
type plainArray struct {
	dir, fault string
	array      arraySpec
}

func (p *plainArray) spec() arraySpec { return p.array }
func (p *plainArray) rows() bool      { return false }

func (p *plainArray) path(view string) string {
	if view == ".npy" {
		return ""
	}
	return filepath.Join(p.dir, "a"+view)
}

func (p *plainArray) restart() error {
	if p.fault == "restart" {
		return p.damage()
	}
	return nil
}

func (p *plainArray) kill() error {
	if p.fault == "kill" {
		return p.damage()
	}
	return nil
}

// damage tears the file: a stretch in the middle gets bytes that nobody wrote.
func (p *plainArray) damage() error {
	data, err := os.ReadFile(p.path(".raw"))
	if err != nil {
		return err
	}
	for i := len(data) / 2; i < len(data)/2+100 && i < len(data); i++ {
		data[i] ^= 0x5a
	}
	return os.WriteFile(p.path(".raw"), data, 0o666)
}

func (p *plainArray) outside(from, to []int64) {
	data, err := os.ReadFile(p.path(".raw"))
	if err != nil || p.fault == "outside" {
		return
	}
	copyBox(data, p.array, from, to)
	os.WriteFile(p.path(".raw"), data, 0o666)
}

func (p *plainArray) finish(want []byte) error {
	data, err := os.ReadFile(p.path(".raw"))
	if err == nil && !bytes.Equal(data, want) {
		err = errors.New("the file differs in the end")
	}
	return err
}

// TestWriteModelFindsFaults: the model agrees with a plain file, and finds each fault that is put
// into it, in few operations.
func TestWriteModelFindsFaults(t *testing.T) {
	for _, fault := range []string{"", "kill", "restart", "outside"} {
		t.Run("fault "+fault, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 1))
			array := arraySpec{Format: 3, Type: elementTypes[0], Shape: []int64{50, 700},
				Chunks: []int64{10, 70}}
			run := func(script []op) error {
				p := &plainArray{t.TempDir(), fault, array}
				if err := os.WriteFile(p.path(".raw"), array.fill(50*700), 0o666); err != nil {
					t.Fatal(err)
				}
				return runModel(script, p)
			}
			script := randomScript(rng, 1000)
			err := run(script)
			if fault == "" {
				if err != nil {
					t.Errorf("a plain file: %v", err)
				}
				return
			}
			if err == nil {
				t.Fatal("the fault was not found")
			}
			if short, err := shrink(script, err, run, 500); len(short) > 6 {
				t.Errorf("%v needs %d operations:\n%s", err, len(short), tell(short))
			}
		})
	}
}

// caller is the line of a check that failed.
func caller(err error) error {
	if err == nil {
		return nil
	}
	_, _, line, _ := runtime.Caller(1)
	return fmt.Errorf("line %d: %w", line, err)
}
