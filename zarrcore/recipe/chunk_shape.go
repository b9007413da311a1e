package recipe

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/zarrfs/zarrfs/layout"
)

// manner is how an array, or a shard, is cut.
type manner uint8

const (
	unset    manner = iota // the default: chunks auto, no shards
	auto                   // by the size of the array
	rows                   // into whole rows
	whole                  // not at all
	explicit               // into given lengths
)

// mannerTexts are the texts of the manners that have one.
var mannerTexts = map[manner]string{auto: "auto", rows: "rows", whole: "none"}

// cutting is a manner, with the lengths of an explicit one.
type cutting struct {
	manner  manner
	lengths []int64
}

// parseCutting reads one of some manners, or lengths separated by commas, in brackets or not.
func parseCutting(setting, text string, some ...manner) (cutting, error) {
	for _, m := range some {
		if text == mannerTexts[m] {
			return cutting{manner: m}, nil
		}
	}
	inner := strings.TrimSpace(text)
	if strings.HasPrefix(inner, "[") && strings.HasSuffix(inner, "]") {
		inner = inner[1 : len(inner)-1]
	}
	c := cutting{manner: explicit}
	for word := range strings.SplitSeq(inner, ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(word), 10, 64)
		if err != nil || n < 1 || len(c.lengths) == layout.MaxRank {
			return cutting{}, invalid(setting, takes(setting), text)
		}
		c.lengths = append(c.lengths, n)
	}
	return c, nil
}

// Sizes in bytes. The first four are zarr-python's.
const (
	autoStep    = 256 << 10 // the size of the chunks of an array of 1 MiB
	autoLeast   = 128 << 10
	autoMost    = 64 << 20
	autoInShard = 1 << 20 // the most within a shard
	rowsMost    = 4 << 20
)

// partition returns the shape of the chunks and, if there are shards, of those.
func partition(
	shape []int64, itemSize int64, chunks, shards cutting,
) (chunk, shard []int64, err error) {
	for _, c := range []struct {
		setting string
		cutting
	}{{"chunks", chunks}, {"shards", shards}} {
		if c.manner == explicit && len(c.lengths) != len(shape) {
			return nil, nil, invalidLengths(c.setting,
				fmt.Sprintf("%d lengths, one for each axis", len(shape)), c.lengths)
		}
	}
	sharded := shards.manner == auto || shards.manner == explicit
	switch chunks.manner {
	case explicit:
		chunk = chunks.lengths
	case rows:
		chunk = wholeRows(shape, itemSize)
	default:
		most := float64(autoMost)
		if sharded {
			most = autoInShard
		}
		chunk = guess(shape, itemSize, most)
	}
	if !sharded {
		return chunk, nil, nil
	}
	if shards.manner == auto {
		return chunk, shardOf(shape, chunk), nil
	}
	if chunks.manner != explicit {
		chunk = divisors(shards.lengths, chunk)
	}
	for i, n := range shards.lengths {
		if n%chunk[i] != 0 {
			return nil, nil, invalidLengths("shards",
				fmt.Sprintf("multiples of the lengths of a chunk, %v", chunk), shards.lengths)
		}
	}
	return chunk, shards.lengths, nil
}

// guess returns the chunks that zarr-python chooses, of at most so many bytes: the larger the array
// the larger they are, from 128 KiB on. The axes are halved in turn until a chunk is less than half
// larger than wanted. Its arithmetic is in floating point.
func guess(shape []int64, itemSize int64, most float64) []int64 {
	lengths := make([]float64, len(shape))
	for i, n := range shape {
		lengths[i] = math.Max(float64(n), 1)
	}
	want := autoStep * math.Pow(2, log10(product(lengths)*float64(itemSize)/(1<<20)))
	want = math.Max(math.Min(want, most), math.Min(autoLeast, most))
	for axis := 0; ; axis++ {
		elements := product(lengths)
		size := elements * float64(itemSize)
		if (size < want || math.Abs(size-want)/want < 0.5) && size < most || elements == 1 {
			return integers(lengths)
		}
		n := &lengths[axis%len(lengths)]
		*n = math.Ceil(*n / 2)
	}
}

func product(lengths []float64) float64 {
	p := 1.0
	for _, n := range lengths {
		p *= n
	}
	return p
}

// log10 is exact for powers of ten, as C's is.
func log10(x float64) float64 {
	log := math.Log10(x)
	if near := math.Round(log); math.Pow(10, near) == x {
		return near
	}
	return log
}

func integers(lengths []float64) []int64 {
	all := make([]int64, len(lengths))
	for i, n := range lengths {
		all[i] = int64(n)
	}
	return all
}

// shardOf returns zarr-python's automatic shard: two chunks along each axis that has more than
// eight.
func shardOf(shape, chunk []int64) []int64 {
	shard := slices.Clone(chunk)
	for i, n := range chunk {
		if shape[i]/n > 8 {
			shard[i] = 2 * n
		}
	}
	return shard
}

// divisors returns for each axis the largest divisor of a shard's length that is at most as long as
// a chunk would be.
func divisors(shard, chunk []int64) []int64 {
	all := make([]int64, len(shard))
	for i, n := range shard {
		all[i] = largestDivisor(n, min(chunk[i], n))
	}
	return all
}

// largestDivisor returns the largest divisor of n that is at most so large. It tries as many
// numbers as the root of n.
func largestDivisor(n, most int64) int64 {
	best := int64(1)
	for d := int64(1); d <= n/d && d <= maxDivisor; d++ {
		if n%d != 0 {
			continue
		}
		for _, found := range []int64{d, n / d} {
			if found <= most && found > best {
				best = found
			}
		}
	}
	return best
}

// maxDivisor bounds the search: no sensible shard is longer than its square.
const maxDivisor = 1 << 20

// wholeRows returns chunks of whole rows: the power of two of them that makes 2 to 4 MiB, but no
// more than the array has, and at least one. An array that is empty yet is thought to grow.
func wholeRows(shape []int64, itemSize int64) []int64 {
	chunk := make([]int64, len(shape))
	row := float64(itemSize)
	for i, n := range shape {
		chunk[i] = max(n, 1)
		if i > 0 {
			row *= float64(chunk[i])
		}
	}
	if len(chunk) == 0 {
		return chunk
	}
	n := int64(1)
	for float64(2*n)*row <= rowsMost {
		n *= 2
	}
	if shape[0] == 0 {
		chunk[0] = n
	}
	chunk[0] = min(n, max(chunk[0], 1))
	return chunk
}
