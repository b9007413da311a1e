package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// sizeFlag is a number of bytes on the command line: 1048576, 128MiB, 4G (the same as GiB), 25% of
// memory.
type sizeFlag int64

// String writes the size as it may be given.
func (s *sizeFlag) String() string {
	for _, u := range []struct {
		shift uint
		name  string
	}{{40, "TiB"}, {30, "GiB"}, {20, "MiB"}, {10, "KiB"}} {
		if n := int64(*s); n != 0 && n&(1<<u.shift-1) == 0 {
			return strconv.FormatInt(n>>u.shift, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(*s), 10)
}

// Set reads the size.
func (s *sizeFlag) Set(text string) error {
	n, err := parseSize(text, memoryTotal)
	*s = sizeFlag(n)
	return err
}

// Type names the kind of value in help texts.
func (s *sizeFlag) Type() string { return "SIZE" }

// sizeUnits by suffix, in bytes. A bare letter is binary, as in dd and du.
var sizeUnits = map[string]float64{
	"": 1, "B": 1,
	"K": 1 << 10, "KIB": 1 << 10, "KB": 1e3,
	"M": 1 << 20, "MIB": 1 << 20, "MB": 1e6,
	"G": 1 << 30, "GIB": 1 << 30, "GB": 1e9,
	"T": 1 << 40, "TIB": 1 << 40, "TB": 1e12,
}

// parseSize reads a size; "%" is of total().
func parseSize(text string, total func() int64) (int64, error) {
	end := len(text)
	for end > 0 && !(text[end-1] >= '0' && text[end-1] <= '9' || text[end-1] == '.') {
		end--
	}
	number, err := strconv.ParseFloat(strings.TrimSpace(text[:end]), 64)
	unit := strings.ToUpper(strings.TrimSpace(text[end:]))
	factor, known := sizeUnits[unit]
	if unit == "%" {
		factor, known = float64(total())/100, true
	}
	if err != nil || !known || number < 0 || math.IsInf(number, 0) || number*factor >= 1<<63 {
		return 0, fmt.Errorf("size %q: expected a number and a unit, such as 128MiB, 4GiB or 25%%",
			text)
	}
	return int64(number * factor), nil
}
