// Package slice knows the expressions that name a part of an array in the name of a file:
// "t=3,z=10:20" in "a@{t=3,z=10:20}.npy". It says which bytes of an array such a part is, and what
// they are shown as. It asks no store.
//
// The grammar, without spaces:
//
//	expression = item {"," item}
//	item       = axis "=" index | axis "=" [index] ":" [index] [":" [index]]
//	           | "order=" ("C" | "F") | "dtype=" typestr | "scale"
//	axis       = the number of an axis, or the name of a dimension
//	index      = ["-"] digits
package slice

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// errNoAxis says that an item is an index alone.
var errNoAxis = errors.New("expected the number or name of an axis before the index")

// most is how many items an expression has at most.
const most = 64

// expression is what a text says.
type expression struct {
	items   []item
	fortran bool
	dtype   string // "": that of the array
	scale   bool
}

// item says which indexes of an axis are taken. Those of first, last and step that are nil were
// left out.
type item struct {
	axis              string
	isRange           bool
	first, last, step *int64
}

// parse reads an expression. Whether the array has such axes is not known here.
func parse(text string) (e expression, err error) {
	parts := strings.Split(text, ",")
	if len(parts) > most {
		return e, fmt.Errorf("%d items, expected at most %d", len(parts), most)
	}
	var seen []string
	for _, part := range parts {
		key, value, isPair := strings.Cut(part, "=")
		if slices.Contains(seen, key) {
			return e, fmt.Errorf("%q is there twice", key)
		}
		seen = append(seen, key)
		if err := e.add(key, value, isPair); err != nil {
			return e, fmt.Errorf("%q: %w", part, err)
		}
	}
	return e, nil
}

// add adds what one item says. What looks like an index always belongs to an axis.
func (e *expression) add(key, value string, isPair bool) error {
	x, err := parseIndexes(value)
	_, errOfKey := parseIndexes(key)
	switch {
	case isPair && key != "" && err == nil:
		x.axis = key
		e.items = append(e.items, x)
	case isPair && key == "order" && (value == "C" || value == "F"):
		e.fortran = value == "F"
	case isPair && key == "order":
		return errors.New("expected order=C or order=F")
	case isPair && key == "dtype" && value != "":
		e.dtype = value
	case !isPair && key == "scale":
		e.scale = true
	case !isPair && key != "" && errOfKey == nil:
		return fmt.Errorf("%w, such as 0=%s", errNoAxis, key)
	case !isPair || key == "":
		return errors.New("expected t=3, t=10:20, t=::4, order=F, dtype=<f4 or scale")
	default:
		return err
	}
	return nil
}

// parseIndexes reads "3", "10:20" or "::-1".
func parseIndexes(text string) (x item, err error) {
	parts := strings.Split(text, ":")
	if len(parts) > 3 {
		return x, errors.New("expected at most two colons")
	}
	x.isRange = len(parts) > 1
	for i, to := range []**int64{&x.first, &x.last, &x.step}[:len(parts)] {
		if parts[i] == "" && x.isRange {
			continue
		}
		n, err := parseIndex(parts[i])
		if err != nil {
			return x, err
		}
		*to = &n
	}
	if x.step != nil && *x.step == 0 {
		return x, errors.New("a step of 0")
	}
	return x, nil
}

// parseIndex reads a decimal number. It has no "+" and no "0x".
func parseIndex(text string) (int64, error) {
	if strings.Trim(strings.TrimPrefix(text, "-"), "0123456789") != "" {
		return 0, fmt.Errorf("%q is not an index", text)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not an index", text)
	}
	return n, nil
}
