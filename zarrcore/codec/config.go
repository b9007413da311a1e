package codec

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// config is a codec's configuration: an object of JSON, or nothing. Its codec's row in meta's table
// has defaults for elements of item bytes; objects within a configuration have no row.
type config struct {
	v    pyjson.Value
	row  meta.CodecType
	item int64
}

// configOf is the configuration of a codec that is given the state in.
func configOf(c meta.Codec, in state) config {
	row, _ := meta.CodecNamed(c.Name)
	return config{c.Config, row, in.item()}
}

// get returns a member, or its default. One that is null counts as absent.
func (c config) get(key string) pyjson.Value {
	if v := c.v.Get(key); v.Exists() && v.Kind() != pyjson.Null {
		return v
	}
	return c.row.Default(key, c.item)
}

// expected returns the error for a member of the wrong kind.
func (c config) expected(key, what string) error {
	v := c.v.Get(key)
	if !v.Exists() {
		return fmt.Errorf("configuration lacks %q: expected %s", key, what)
	}
	return fmt.Errorf("configuration %q: expected %s, found %s", key, what, shorten(v.Raw()))
}

// shorten writes a value on one line, cut where it is long.
func shorten(raw []byte) string {
	raw = bytes.Join(bytes.Fields(raw), []byte(" "))
	if len(raw) > 60 {
		return string(raw[:60]) + "…"
	}
	return string(raw)
}

// only refuses members with other names, for codecs whose specification forbids them.
func (c config) only(known ...string) error {
	for name := range c.v.Entries() {
		if !slices.Contains(known, name) {
			return fmt.Errorf("configuration %q: expected only %q", name, known)
		}
	}
	return nil
}

// integerOr returns a whole number of the range lo..hi, or missing where the member is absent and
// the codec's row has no default.
func (c config) integerOr(key string, missing, lo, hi int64) (int64, error) {
	if !c.get(key).Exists() {
		return missing, nil
	}
	return c.integer(key, lo, hi)
}

// integer returns a whole number of the range lo..hi, which is required.
func (c config) integer(key string, lo, hi int64) (int64, error) {
	n, ok := c.get(key).Int64()
	if !ok || n < lo || n > hi {
		return 0, c.expected(key, fmt.Sprintf("an integer from %d to %d", lo, hi))
	}
	return n, nil
}

// boolean returns true or false, which an absent member is.
func (c config) boolean(key string) (bool, error) {
	v := c.get(key)
	b, ok := v.Bool()
	if v.Exists() && !ok {
		return false, c.expected(key, "true or false")
	}
	return b, nil
}

// number returns a number, which is required.
func (c config) number(key string) (float64, error) {
	f, ok := c.get(key).Float64()
	if !ok {
		return 0, c.expected(key, "a number")
	}
	return f, nil
}

// oneOf returns one of some texts, or missing where the member is absent.
func (c config) oneOf(key, missing string, some ...string) (string, error) {
	v := c.get(key)
	if !v.Exists() {
		return missing, nil
	}
	for _, s := range some {
		if v.Kind() == pyjson.String && v.Text() == s {
			return s, nil
		}
	}
	return "", c.expected(key, fmt.Sprintf("one of %q", some))
}

// codecs returns a chain of codecs, which is required. Items are {name, configuration} or, since
// v3.1, a bare name.
func (c config) codecs(key string) ([]meta.Codec, error) {
	v := c.get(key)
	if v.Kind() != pyjson.Array || v.Len() == 0 {
		return nil, c.expected(key, "a list of codecs")
	}
	var list []meta.Codec
	for item := range v.Elements() {
		name, conf := item, pyjson.Value{}
		if item.Kind() == pyjson.Object {
			name, conf = item.Get("name"), config{v: item}.get("configuration")
		}
		if name.Kind() != pyjson.String || conf.Exists() && conf.Kind() != pyjson.Object {
			return nil, fmt.Errorf("configuration %q: expected a codec, found %s",
				key, shorten(item.Raw()))
		}
		list = append(list, meta.Codec{Name: name.Text(), Config: conf})
	}
	return list, nil
}

// lengths returns a shape, which is required: lo or more for each axis.
func (c config) lengths(key string, rank int, lo int64) ([]int64, error) {
	v := c.get(key)
	what := fmt.Sprintf("%d integers of at least %d", rank, lo)
	if v.Kind() != pyjson.Array || v.Len() != rank {
		return nil, c.expected(key, what)
	}
	shape := make([]int64, 0, rank)
	for item := range v.Elements() {
		n, ok := item.Int64()
		if !ok || n < lo {
			return nil, c.expected(key, what)
		}
		shape = append(shape, n)
	}
	return shape, nil
}
