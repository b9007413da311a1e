package codec

import (
	"fmt"

	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// lzma (numcodecs, and so Python's lzma module) is .xz unless its format says .lzma or raw. Only a
// raw stream needs its filters from its configuration.
func init() { register("numcodecs.lzma", bindLZMA) }

func bindLZMA(in state, cfg config) (step, state, error) {
	format, err := cfg.integerOr("format", compress.LZMAXZ, compress.LZMAAuto, compress.LZMARaw)
	if err != nil {
		return step{}, in, err
	}
	d := compress.LZMA{Format: int(format)}
	if format == compress.LZMARaw {
		if d.Filters, err = lzmaFilters(cfg); err != nil {
			return step{}, in, err
		}
	}
	s := step{move: compressor{d}}
	if e, err := lzmaEncoder(d, cfg); err != nil {
		s.why = err
	} else {
		s.enc = encodes{e}
	}
	return s, in.compressed(), nil
}

// extremePreset is a flag of presets: liblzma then tries harder.
const extremePreset = 1 << 31

// lzmaEncoder adds what only encoding needs: the check, the size of the dictionary, and filters of
// any format.
func lzmaEncoder(e compress.LZMA, cfg config) (compress.LZMA, error) {
	if e.Format == compress.LZMAAuto {
		return e, notEncoded("format 0 (automatic) can only be decoded: set format 1, 2 or 3 to " +
			"encode")
	}
	check, err := cfg.integerOr("check", -1, -1, 10)
	if err != nil {
		return e, err
	}
	e.Check = int(check)
	if e.Dict, err = cfg.lzmaDict(); err != nil {
		return e, err
	}
	if e.Format != compress.LZMARaw && cfg.get("filters").Exists() {
		e.Filters, err = lzmaFilters(cfg)
	}
	return e, err
}

// lzmaDict reads the size of a dictionary, given in bytes or by a preset; 0 if neither is.
func (c config) lzmaDict() (int, error) {
	if c.get("dict_size").Exists() {
		n, err := c.integer("dict_size", 1, 1<<31-1)
		return int(n), err
	}
	preset, err := c.integerOr("preset", compress.DefaultPreset, 0, extremePreset+9)
	if err != nil {
		return 0, err
	}
	if preset &^= extremePreset; preset > 9 {
		return 0, c.expected("preset", "an integer from 0 to 9")
	}
	return compress.PresetDict(int(preset)), nil
}

func lzmaFilters(cfg config) ([]compress.LZMAFilter, error) {
	v := cfg.get("filters")
	if v.Kind() != pyjson.Array || v.Len() == 0 {
		return nil, cfg.expected("filters", "a list of filters, as the format is raw")
	}
	var filters []compress.LZMAFilter
	for item := range v.Elements() {
		f, err := lzmaFilter(config{v: item})
		if err != nil {
			return nil, fmt.Errorf("configuration \"filters\"[%d]: %w", len(filters), err)
		}
		filters = append(filters, f)
	}
	return filters, nil
}

func lzmaFilter(cfg config) (compress.LZMAFilter, error) {
	id, ok := cfg.get("id").Int64()
	if !ok ||
		id != compress.FilterDelta && id != compress.FilterLZMA1 && id != compress.FilterLZMA2 {
		return compress.LZMAFilter{},
			cfg.expected("id", fmt.Sprintf("a filter of data: %d (delta), %d (LZMA1) or %d (LZMA2)",
				compress.FilterDelta, compress.FilterLZMA1, compress.FilterLZMA2))
	}
	dist, err := cfg.integerOr("dist", 1, 1, 256)
	if err != nil {
		return compress.LZMAFilter{}, err
	}
	f := compress.LZMAFilter{ID: id, Dist: int(dist)}
	if f.Dict, err = cfg.lzmaDict(); err != nil {
		return f, err
	}
	props := [3]int{3, 0, 2}
	for i, key := range []string{"lc", "lp", "pb"} {
		n, err := cfg.integerOr(key, int64(props[i]), 0, 8)
		if err != nil {
			return f, err
		}
		props[i] = int(n)
	}
	f.Props = &props
	return f, nil
}
