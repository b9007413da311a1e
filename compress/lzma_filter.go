package compress

import "bytes"

// checkDelta refuses each filter that is not delta. Those of ids 4 to 11 rewrite the targets of
// calls in machine code (section 5.3.2 of the .xz format). No known array uses one, so they are
// refused by name (docs/decisions/0002-libraries.md).
func (f LZMAFilter) checkDelta() error {
	switch {
	case 4 <= f.ID && f.ID <= 11:
		return unsupported("filter %#x, for machine code; expected delta (%#x)", f.ID, FilterDelta)
	case f.ID != FilterDelta:
		return unsupported("filter %#x, expected delta (%#x)", f.ID, FilterDelta)
	}
	return nil
}

// unfilter undoes a filter other than LZMA in place.
func (f LZMAFilter) unfilter(b []byte) error {
	dist, err := f.distance()
	if err != nil {
		return err
	}
	for i := dist; i < len(b); i++ {
		b[i] += b[i-dist]
	}
	return nil
}

// filter returns what a filter other than LZMA makes of src, which stays as it is.
func (f LZMAFilter) filter(src []byte) ([]byte, error) {
	dist, err := f.distance()
	if err != nil {
		return nil, err
	}
	out := bytes.Clone(src)
	for k := dist; k < len(src); k++ {
		out[k] = src[k] - src[k-dist]
	}
	return out, nil
}

// distance is a delta filter's; 0 stands for 1.
func (f LZMAFilter) distance() (int, error) {
	if err := f.checkDelta(); err != nil {
		return 0, err
	}
	dist := max(f.Dist, 1)
	if dist > 256 {
		return 0, unsupported("delta filter with distance %d, expected 1 to 256", dist)
	}
	return dist, nil
}
