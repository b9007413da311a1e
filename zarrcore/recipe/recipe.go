// Package recipe decides what a new array looks like: its format, chunks, shards, codecs, fill
// value and chunk keys.
//
// What nobody has set is what zarr-python 3.4 chooses in zarr.create_array, except one thing: the
// fill value of dates and durations is zero bytes here, not NaT. So holes of a file that is copied
// in read as zeros. [Recipe.WithNaT] follows zarr-python in that, too.
package recipe

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// Recipe says how to make an array of any shape and type. The zero Recipe sets nothing.
type Recipe struct {
	// Format is 2 or 3; 0 means 3. Where there is a group already, its format counts.
	Format int

	codecs    []meta.Codec // of one chunk; nil: the default
	chunks    cutting
	shards    cutting
	fill      pyjson.Value // absent: zero bytes; null: those, or in format 2 null
	nat       bool         // an absent fill is NaT for dates and durations
	separator byte         // 0: the format's default
}

// Settings are the names of what can be set, each with the texts it takes.
var Settings = []struct{ Name, Takes string }{
	{"format", "2 or 3"},
	{"codecs", "auto, none, a codec such as zstd:3 or blosc:lz4:5:shuffle, or a JSON list of " +
		"codecs as in a zarr.json"},
	{"chunks", "auto, rows, or a length for each axis, such as 64,64"},
	{"shards", "none, auto, or a length for each axis, such as 512,512"},
	{"fill_value", "a JSON value as in the array's document"},
	{"dimension_separator", `"." or "/"`},
}

// Set returns the recipe with one of the Settings set as a text says. Errors wrap meta.ErrInvalid
// and say what was expected.
func (r Recipe) Set(name, text string) (Recipe, error) {
	var err error
	switch name {
	case "format":
		r.Format, err = parseFormat(text)
	case "codecs":
		r.codecs, err = parseCodecs(text)
	case "chunks":
		r.chunks, err = parseCutting(name, text, auto, rows)
	case "shards":
		r.shards, err = parseCutting(name, text, whole, auto)
	case "fill_value":
		r.fill, err = parseFill(text)
	case "dimension_separator":
		r.separator, err = parseSeparator(text)
	default:
		err = invalid(name, settingNames(), "this name")
	}
	return r, err
}

// Override returns the recipe with what a group's attribute "zarrfs" sets. The attribute is an
// object whose members are Settings, each with the text for Set. In JSON a number, a list of
// lengths or of codecs, or any fill value reads better, and is taken too.
func (r Recipe) Override(attribute pyjson.Value) (Recipe, error) {
	switch attribute.Kind() {
	case pyjson.Invalid, pyjson.Null:
		return r, nil
	case pyjson.Object:
	default:
		return r, invalid("", "an object", string(attribute.Raw()))
	}
	for name, value := range attribute.Entries() {
		var err error
		if r, err = r.Set(name, settingText(name, value)); err != nil {
			return r, err
		}
	}
	return r, nil
}

// settingText returns the text of Set for a JSON value.
func settingText(name string, value pyjson.Value) string {
	if value.Kind() == pyjson.String && name != "fill_value" {
		return value.Text()
	}
	if value.Kind() == pyjson.Null && name != "fill_value" {
		return "none"
	}
	return string(value.Raw())
}

// Spec says what an array of a shape and type is to be. It is shown in the order of its source,
// which is Fortran order if fortran is set, whatever codecs there are. An error wraps
// meta.ErrInvalid or errors.ErrUnsupported, and says what was expected.
func (r Recipe) Spec(shape []int64, t dtype.Type, fortran bool) (meta.Spec, error) {
	if r.Format == 0 {
		r.Format = 3
	}
	if t.Kind == dtype.Object && stringCodecs[t.Name] == "" {
		return meta.Spec{}, fmt.Errorf("data_type: expected string or bytes for elements of no "+
			"fixed size, found %s: %w", t.NumPy(), errors.ErrUnsupported)
	}
	s := meta.Spec{Format: r.Format, Shape: shape, Type: t, Order: 'C', Separator: r.separator}
	if fortran && len(shape) > 1 {
		s.Order = 'F'
	}
	var err error
	if s.Chunk, s.Shard, err = partition(shape, max(t.Size, 1), r.chunks, r.shards); err != nil {
		return s, err
	}
	if s.Codecs, err = r.chain(t); err != nil {
		return s, err
	}
	if t.Kind == dtype.Object && r.Format == 2 {
		t.Name = "object" // what they are the codec says
		s.Type = t
	}
	s.NoFill = r.HasNoFill()
	s.Fill, err = r.fillOf(t)
	return s, err
}

// stringCodecs are the codecs of strings, and of byte strings, by the name of the type.
var stringCodecs = map[string]string{"string": "vlen-utf8", "bytes": "vlen-bytes"}

// HasNoFill reports that new arrays have a fill value of null, which format 3 has not.
func (r Recipe) HasNoFill() bool { return r.Format == 2 && r.fill.Kind() == pyjson.Null }

// WithNaT returns the recipe with the fill value NaT for dates and durations if none is set.
func (r Recipe) WithNaT() Recipe {
	r.nat = true
	return r
}

// fillOf returns the element of the fill value, nil for zero bytes. Of objects it is JSON, as in
// the document.
func (r Recipe) fillOf(t dtype.Type) (fill []byte, err error) {
	isSet := r.fill.Exists() && r.fill.Kind() != pyjson.Null
	switch isDate := t.Kind == dtype.Datetime || t.Kind == dtype.Timedelta; {
	case !isSet && t.Name == "object":
		return []byte(`""`), nil
	case r.nat && isDate && !r.fill.Exists():
		return dtype.FillV3.Element(t, pyjson.StringOf("NaT"))
	case !isSet:
		return nil, nil
	}
	format := dtype.FillV3
	if r.Format == 2 {
		format = dtype.FillV2
	}
	if fill, err = format.Element(t, r.fill); err != nil {
		return nil, &meta.Error{Member: "fill_value", Kind: meta.ErrInvalid, Cause: err}
	}
	return fill, nil
}

func parseFormat(text string) (int, error) {
	if text == "2" || text == "3" {
		return int(text[0] - '0'), nil
	}
	return 0, invalid("format", takes("format"), text)
}

func parseFill(text string) (pyjson.Value, error) {
	v, err := pyjson.Parse([]byte(text))
	if err != nil {
		return v, invalid("fill_value", takes("fill_value"), text)
	}
	return v, nil
}

func parseSeparator(text string) (byte, error) {
	if text == "." || text == "/" {
		return text[0], nil
	}
	return 0, invalid("dimension_separator", takes("dimension_separator"), text)
}

// takes says which texts a setting takes.
func takes(name string) string {
	for _, s := range Settings {
		if s.Name == name {
			return s.Takes
		}
	}
	return ""
}

func settingNames() string {
	text := "one of"
	for i, s := range Settings {
		if i > 0 {
			text += ","
		}
		text += " " + s.Name
	}
	return text
}

// invalid is the error for a setting that is not what it must be.
func invalid(setting, expected, found string) error {
	const most = 60
	if len(found) > most {
		found = found[:most] + "…"
	}
	return &meta.Error{Member: setting, Expected: expected, Found: strconv.Quote(found),
		Kind: meta.ErrInvalid}
}

// invalidLengths is the error for lengths that do not fit.
func invalidLengths(setting, expected string, found []int64) error {
	return &meta.Error{Member: setting, Expected: expected, Found: fmt.Sprint(found),
		Kind: meta.ErrInvalid}
}
