package integration

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
)

// killWrites is how many writes the script of the kill test does.
const killWrites = 200

// killPoints is how many of its calls are tried; with ZARRFS_KILL_PART=3/8 every eighth from the
// third on, with 1/1 all.
const killPoints = 15

// killed are the arrays that it writes: two chunks to a row of objects, rows that are appended and
// truncated.
var killed = []arraySpec{
	{Format: 3, Type: elementTypes[4], Shape: []int64{64, 256}, Chunks: []int64{8, 64},
		Shards: []int64{16, 128}, Order: "C", Keys: "/", Index: "end",
		Codec:  `[{"name": "zstd", "configuration": {"level": 1, "checksum": true}}]`,
		Filter: "null"},
	{Format: 3, Type: elementTypes[4], Shape: []int64{62, 256}, Order: "C", Keys: "/", Index: "end",
		Grid:   bounded("16, 128"),
		Codec:  `[{"name": "zstd", "configuration": {"level": 1, "checksum": true}}]`,
		Filter: "null"},
	{Format: 3, Type: elementTypes[4], Shape: []int64{62, 256}, Chunks: []int64{1, 64},
		Shards: []int64{}, Order: "C", Keys: "/", Index: "end", Grid: bounded("16, 128"),
		Codec:  `[{"name": "zstd", "configuration": {"level": 1, "checksum": true}}]`,
		Filter: "null"},
	{Format: 2, Type: elementTypes[2], Shape: []int64{64, 256}, Chunks: []int64{16, 128},
		Order: "C", Keys: ".", Codec: `{"id": "zlib", "level": 1}`, Filter: "null"},
}

// TestKilledAtAnyCall kills the daemon before each file-system call that it makes in the store
// while a script writes: what close or fsync acknowledged is there, every object is whole, and the
// next mount leaves nothing behind.
func TestKilledAtAnyCall(t *testing.T) {
	zarrfs(t)
	reader := startPeer(t, python(t, "ZARRFS_PY3", ".venv-v3"))
	for _, spec := range killed {
		bounded, sharded := spec.Grid != "", spec.Shards != nil
		name := fmt.Sprintf("v%d, bounded %v, shards %v", spec.Format, bounded, sharded)
		t.Run(name, func(t *testing.T) {
			calls, _ := killOnce(t, spec, reader, 0)
			var points, dirty atomic.Int64
			t.Run("calls", func(t *testing.T) { // it ends when all of them have
				first, step := killPart(t, calls)
				for at := first; at <= calls; at += step {
					t.Run(strconv.FormatInt(at, 10), func(t *testing.T) {
						t.Parallel()
						made, unsaved := killOnce(t, spec, reader, at)
						if made < at { // fewer calls were made this time
							return
						}
						points.Add(1)
						if unsaved {
							dirty.Add(1)
						}
					})
				}
			})
			if !t.Failed() {
				fmt.Printf("%s: killed before %d of %d calls, with unsaved writes at %d; "+
					"acknowledged bytes lost: 0, torn objects: 0\n",
					t.Name(), points.Load(), calls, dirty.Load())
			}
			if calls < killWrites/10 || points.Load() < killPoints/2 ||
				dirty.Load() < points.Load()/2 {
				t.Errorf("the test shows nothing: %d calls, %d kills, %d with unsaved writes",
					calls, points.Load(), dirty.Load())
			}
		})
	}
}

// killPart returns which calls are tried: the first, and then each step-th.
func killPart(t *testing.T, calls int64) (first, step int64) {
	if part := os.Getenv("ZARRFS_KILL_PART"); part != "" {
		if n, err := fmt.Sscanf(part, "%d/%d", &first, &step); n < 2 || first < 1 || first > step {
			t.Fatalf("ZARRFS_KILL_PART=%s: %v, expected a part as 3/8", part, err)
		}
		return first, step
	}
	step = max(1, calls/killPoints)
	return 1 + rand.Int64N(step), step
}

// killOnce runs the script until the daemon is killed before that call (0: not at all), and checks
// what is left. It returns how many calls were made, and whether something was written and not
// acknowledged when the daemon died.
func killOnce(t *testing.T, spec arraySpec, reader *peer, at int64) (calls int64, dirty bool) {
	t.Helper()
	base := memoryDir(t) // a process is killed, not the machine
	store := filepath.Join(base, "s.zarr")
	spec.write(t, store)
	trace := &tracer{below: base, at: at}
	d := newDaemon(t, store)
	d.launch = trace.launch
	if err := d.start(); err != nil {
		t.Fatal(err)
	}
	e := &expected{fill: spec.fill, now: spec.fill(spec.Shape[0] * spec.rowBytes())}
	e.ack()
	trace.armed.Store(true)
	err := killScript(d.path("a.raw"), e, spec.rowBytes())
	trace.armed.Store(false)
	calls, dirty = trace.seen.Load(), len(e.since) > 0
	if died := at > 0 && calls >= at; !died {
		if err != nil {
			t.Fatalf("the script: %v", err)
		}
		if err := d.stop(); err != nil {
			t.Fatal(err)
		}
	} else {
		d.wait()
		d.process = nil
		d.clear()
	}
	about := fmt.Sprintf("killed before call %d (%v)", at, trace.last.Load())
	if err := afterDeath(t, d, spec, e, reader); err != nil {
		t.Errorf("%s: %v", about, err)
	}
	return calls, dirty
}

// afterDeath mounts again and compares what is there with what was acknowledged, through the mount
// and by other readers.
func afterDeath(t *testing.T, d *daemon, spec arraySpec, e *expected, reader *peer) error {
	d.launch = nil
	if err := d.start(); err != nil {
		return err
	}
	found, err := os.ReadFile(d.path("a.raw"))
	if err != nil {
		return err
	}
	since := e.since
	if err := e.survive(found); err != nil {
		return err
	}
	if found, err = regrown(d.path("a.raw"), e, since, 4*spec.rowBytes()); err != nil {
		return err
	}
	if err := d.stop(); err != nil {
		return err
	}
	if names := spec.leftovers(d.store); names != nil {
		return fmt.Errorf("left over: %v", names)
	}
	return reader.check(filepath.Join(d.store, "a"), spec, found,
		filepath.Join(t.TempDir(), "want"))
}

// regrown lets the array grow by n bytes. They are fill, or what was being written there and is not
// acknowledged. Bytes from before the array was truncated do not come back.
func regrown(path string, e *expected, since []wrote, n int64) ([]byte, error) {
	end := int64(len(e.now))
	if err := os.Truncate(path, end+n); err != nil {
		return nil, err
	}
	found, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	again := expected{acked: append(bytes.Clone(e.now), e.fill(n)...), since: since, fill: e.fill}
	if lost := again.lost(found); lost >= 0 || int64(len(found)) != end+n {
		return nil, fmt.Errorf("grown from %d to %d bytes after a kill, byte %d of %d is not fill",
			end, end+n, lost, len(found))
	}
	return found, nil
}

// killScript writes at random, appends and truncates rows, and calls fsync and close now and then,
// until the first error.
func killScript(path string, e *expected, row int64) error {
	rng := rand.New(rand.NewPCG(1, 2))
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { f.Close() }()
	for i := range killWrites {
		at, data := rng.Int64N(int64(len(e.now))), make([]byte, 1+rng.IntN(3000))
		data = data[:min(len(data), len(e.now)-int(at))]
		if i%40 == 39 { // more rows, and fewer
			at, data = int64(len(e.now)), make([]byte, row)
		}
		for j := range data {
			data[j] = byte(1 + rng.IntN(100))
		}
		e.write(at, data)
		if _, err := f.WriteAt(data, at); err != nil {
			return err
		}
		if i%60 == 59 {
			e.resize(int64(len(e.now)) - 3*row)
			if err := f.Truncate(int64(len(e.now))); err != nil {
				return err
			}
		}
		if i%10 == 9 {
			if err := f.Sync(); err != nil {
				return err
			}
			e.ack()
		}
		if i%25 == 24 {
			if err := f.Close(); err != nil {
				return err
			}
			e.ack()
			if f, err = os.OpenFile(path, os.O_RDWR, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// TestTracerKills: the tracer kills exactly before the call that it is told. The kill test relies
// on that.
func TestTracerKills(t *testing.T) {
	for at := int64(0); at <= 12; at++ {
		dir := t.TempDir()
		file := filepath.Join(dir, "file")
		trace := &tracer{below: dir, at: at}
		trace.armed.Store(true)
		ended, err := trace.launch(exec.Command("dd", "if=/dev/zero", "of="+file, "bs=1", "count=9",
			"status=none"))
		if err != nil {
			t.Fatal(err)
		}
		err = <-ended
		size := int64(-1)
		if info, err := os.Stat(file); err == nil {
			size = info.Size()
		}
		// the calls are: open, close of its duplicate, nine writes, close
		want := map[bool]int64{true: 9, false: max(-1, min(9, at-3))}[at == 0]
		if at == 2 {
			want = 0
		}
		if (err != nil) != (at > 0) || size != want {
			t.Errorf("killed before call %d of %d: %d bytes, expected %d; %v",
				at, trace.seen.Load(), size, want, err)
		}
	}
}
