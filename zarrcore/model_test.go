package zarrcore_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore"
)

// TestModel writes random arrays, reads them in all ways at once, and compares
// with the bytes that were written. ZARRFS_MODEL_RUNS asks for more arrays,
// ZARRFS_MODEL_SEED for those of a run before.
func TestModel(t *testing.T) {
	runs, seed := envInt("ZARRFS_MODEL_RUNS", 60),
		envInt("ZARRFS_MODEL_SEED", time.Now().UnixNano())
	t.Logf("ZARRFS_MODEL_SEED=%d", seed)
	for i := range runs {
		rng := rand.New(rand.NewPCG(uint64(seed), uint64(i)))
		f := randomFixture(rng, i%20 == 0)
		t.Run(strconv.FormatInt(i, 10), func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Log(f)
				}
			}()
			testModel(t, f, rng)
		})
	}
}

func envInt(name string, otherwise int64) int64 {
	if n, err := strconv.ParseInt(os.Getenv(name), 10, 64); err == nil {
		return n
	}
	return otherwise
}

func testModel(t *testing.T, f *fixture, rng *rand.Rand) {
	d := group(t)
	f.write(t, d, rng)
	budget := []int64{1 << 30, 1 << 20, 10_000}[rng.IntN(3)]
	h := open(t, d, &zarrcore.Options{CacheSize: budget, ScratchDir: t.TempDir(),
		ScratchSize: rng.Int64N(64 << 20)})
	a := openArray(t, h, f.path)
	if a.Size() != int64(len(f.data)) {
		t.Fatalf("%d bytes, expected %d", a.Size(), len(f.data))
	}
	if got := readAt(t, a, 0, a.Size()); !bytes.Equal(got, f.data) {
		t.Fatal("the array differs as a whole")
	}
	var wg sync.WaitGroup
	for range 3 {
		mine := rand.New(rand.NewPCG(rng.Uint64(), 0))
		wg.Go(func() {
			if err := wander(a, f.data, mine); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if now := h.Status().MemoryUsed; now > budget {
		t.Errorf("%d bytes of memory in use, budget %d", now, budget)
	}
}

// wander goes through the array as some program might: mostly in order, with
// jumps, and with reads that bypass the reader.
func wander(a *zarrcore.Array, want []byte, rng *rand.Rand) error {
	r := a.NewReader()
	defer r.Close()
	size, off := int64(len(want)), int64(0)
	step := 1 + rng.Int64N(max(size/8, 1))
	for range 20 {
		switch rng.IntN(8) {
		case 0:
			off = rng.Int64N(size + 1)
		case 1:
			off = max(0, off-rng.Int64N(step))
		}
		n := 1 + rng.Int64N(step)
		got, err := read(r, off, n)
		if rng.IntN(3) == 0 {
			p := make([]byte, n)
			m, atErr := a.ReadAt(context.Background(), p, off)
			if (atErr == nil) != (off+n <= size) { // otherwise io.EOF
				return fmt.Errorf("ReadAt of %d bytes at %d of %d: %d bytes, %v", n, off, size, m,
					atErr)
			}
			got = p[:m]
		}
		end := min(off+n, size)
		if err != nil || !bytes.Equal(got, want[off:end]) {
			return fmt.Errorf("read of %d bytes at %d of %d: %d bytes that differ, or %v", n, off,
				size, len(got), err)
		}
		if off = end; off == size {
			off = 0
		}
	}
	return nil
}

// randomFixture returns an array of any kind; a large one is served in bands.
func randomFixture(rng *rand.Rand, large bool) *fixture {
	f := &fixture{
		element: elements[rng.IntN(len(elements))], path: "a", format: 2 + rng.IntN(2),
		separator:  []string{".", "/"}[rng.IntN(2)],
		compressor: []string{"", "gzip", "zstd"}[rng.IntN(3)],
		fortran:    rng.IntN(4) == 0, missing: []float64{0, 0.3, 1}[rng.IntN(3)],
	}
	rank, longest := rng.IntN(5), int64(12)
	if large {
		f.element = elements[3]
		rank, longest = 2+rng.IntN(2), 0
	}
	for i := range rank {
		n := rng.Int64N(longest + 1)
		if large {
			n = []int64{540 + rng.Int64N(100), 540}[i%2] // 2.3 MB and more in 8-byte elements
			if rank == 3 {
				n = 67 + rng.Int64N(5)
			}
		}
		chunk := 1 + rng.Int64N(n+3) // may be larger than the array
		if large {
			chunk = max(chunk, n/5)
		}
		f.shape, f.chunk = append(f.shape, n), append(f.chunk, chunk)
	}
	if f.format == 3 {
		f.checksum = rng.IntN(3) == 0
		if rng.IntN(2) == 0 {
			f.shard(rng)
		}
		switch rng.IntN(4) {
		case 0:
			f.vary(rng)
		case 1:
			f.bounded = f.inner == nil
		}
	}
	return f
}

// vary gives the objects along each axis lengths of their own, which the chunks of shards divide.
// They go on behind the end of the array.
func (f *fixture) vary(rng *rand.Rand) {
	f.lengths = make([][]int64, len(f.shape))
	for i, n := range f.shape {
		step := int64(1)
		if f.inner != nil {
			step = f.inner[i]
		}
		for sum := int64(0); sum < n+2; {
			length := step * (1 + rng.Int64N(f.chunk[i]/step+1))
			f.lengths[i] = append(f.lengths[i], length)
			sum += length
		}
	}
}

// shard makes the chunks inner ones of shards of up to three along each axis.
func (f *fixture) shard(rng *rand.Rand) {
	f.inner = append([]int64{}, f.chunk...)
	f.indexAtStart = rng.IntN(2) == 0
	for i := range f.chunk {
		f.chunk[i] *= 1 + rng.Int64N(3)
	}
}
