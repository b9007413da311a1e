package codec

import (
	"fmt"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// lzma (numcodecs, and so Python's lzma module) is .xz unless its format says .lzma or raw; only a raw stream needs its
// filters told.
func init() { register("numcodecs.lzma", bytesToBytes, bindLZMA) }

func bindLZMA(in state, cfg config) (step, state, error) {
	format, err := cfg.integer("format", compress.LZMAXZ, compress.LZMAAuto, compress.LZMARaw)
	if err != nil {
		return step{}, in, err
	}
	d := compress.LZMA{Format: int(format)}
	if format == compress.LZMARaw {
		if d.Filters, err = lzmaFilters(cfg); err != nil {
			return step{}, in, err
		}
	}
	return step{move: compressor{d}}, in.compressed(), nil
}

func lzmaFilters(cfg config) ([]compress.LZMAFilter, error) {
	v := cfg.get("filters")
	if v.Kind() != pyjson.Array || v.Len() == 0 {
		return nil, cfg.expected("filters", "a list of filters, as the format is raw")
	}
	var filters []compress.LZMAFilter
	for item := range v.Elements() {
		f, err := lzmaFilter(config{item})
		if err != nil {
			return nil, fmt.Errorf("configuration \"filters\"[%d]: %w", len(filters), err)
		}
		filters = append(filters, f)
	}
	return filters, nil
}

func lzmaFilter(cfg config) (compress.LZMAFilter, error) {
	id, ok := cfg.get("id").Int64()
	if !ok {
		return compress.LZMAFilter{}, cfg.expected("id", "an integer")
	}
	dist, err := cfg.integer("dist", 1, 1, 256)
	if err != nil {
		return compress.LZMAFilter{}, err
	}
	f := compress.LZMAFilter{ID: id, Dist: int(dist)}
	props := [3]int{3, 0, 2}
	for i, key := range []string{"lc", "lp", "pb"} {
		n, err := cfg.integer(key, int64(props[i]), 0, 8)
		if err != nil {
			return f, err
		}
		props[i] = int(n)
	}
	f.Props = &props
	return f, nil
}
