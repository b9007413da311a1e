package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/terminal"
)

// What info prints for people.

// print writes the description: the node, then a line for each item.
func (i *nodeInfo) print(w io.Writer) error {
	fmt.Fprintln(w, printable(strings.TrimSuffix(i.Store+i.Path, "/")))
	return printTable(w, i.lines)
}

func (i *nodeInfo) lines(t io.Writer) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(t, "  %s\t%s\n", terminal.Line(name),
			terminal.Line(fmt.Sprintf(format, args...)))
	}
	if i.Format != 0 {
		line("node", "Zarr v%d %s", i.Format, i.Node)
	} else {
		line("node", "%s without metadata", i.Node)
	}
	i.printArray(line)
	if i.Arrays != nil {
		children := plural(*i.Arrays, "array") + ", " + plural(*i.Groups, "group")
		if i.Links > 0 {
			children += ", " + plural(i.Links, "link")
		}
		line("holds", "%s", children)
		line("all levels", "%s", i.Below.print())
	}
	if i.Modified != nil {
		line("changed", "%s", i.Modified.Format(time.RFC3339))
	}
	i.printAttributes(line)
	if i.Error != "" {
		line("cannot read", "%s", i.Error)
	}
}

func (i *nodeInfo) printArray(line func(name, format string, args ...any)) {
	if i.Shape != nil {
		line("type", "%s (%s)", i.typeName, axesText(i.Shape, i.Dimensions))
	} else if i.typeName != "" { // the shape was not understood
		line("type", "%s", i.typeName)
	}
	i.printSize(line)
	objects := i.objectsText()
	if i.Chunks != nil && i.Shards == nil {
		line("chunks", "%s%s", timesText(i.Chunks), objects)
	} else if i.Chunks != nil {
		line("chunks", "%s", timesText(i.Chunks))
		line("shards", "%s%s", timesText(i.Shards), objects)
	}
	if i.Longest != nil {
		line("objects", "differ in shape, up to %s%s", timesText(i.Longest), objects)
	}
	if i.Codecs != nil {
		line("codecs", "%s", codecsText(i.Codecs))
	}
	if i.FillValue != nil {
		line("fill", "%s", i.fillText())
	}
}

// printSize writes how many bytes there are, decoded and stored.
func (i *nodeInfo) printSize(line func(name, format string, args ...any)) {
	if i.Bytes != nil {
		line("size", "%s", exactText(*i.Bytes))
	}
	if i.Stored != nil && i.AtLeast {
		line("stored", "at least %s", bytesText(*i.Stored))
	} else if i.Stored != nil {
		line("stored", "%s%s", exactText(*i.Stored), ratio(i.Bytes, *i.Stored))
	}
}

// objectsText says how many chunks, or shards, are stored.
func (i *nodeInfo) objectsText() string {
	if i.Objects == nil {
		return ""
	}
	text := fmt.Sprintf("%d of %d stored", *i.Objects, *i.ObjectsOf)
	if i.AtLeast {
		text = "at least " + text
	}
	return ", " + text
}

// printAttributes writes a line for each attribute.
func (i *nodeInfo) printAttributes(line func(name, format string, args ...any)) {
	if i.Attributes == nil {
		return
	}
	line("attributes", "")
	eachMember(i.Attributes, func(name string, value json.RawMessage) {
		var text string
		if json.Unmarshal(value, &text) != nil {
			text = string(value)
		}
		line("  "+names.Show(name), "%s", printable(text))
	})
}

// typeText names a data type, which is spelled as in the header of a .npy file, as NumPy prints it.
func typeText(spelled string) string {
	if spelled == "" {
		return ""
	}
	rest, order := spelled, ""
	if len(spelled) > 2 && strings.ContainsRune("<>|", rune(spelled[0])) {
		rest = spelled[1:]
		if spelled[0] == '>' {
			order = " big-endian"
		}
	}
	for letter, name := range map[string]string{"M8": "datetime64", "m8": "timedelta64"} {
		if unit, ok := strings.CutPrefix(rest, letter); ok {
			return name + unit + order
		}
	}
	switch rest {
	case "b1":
		return "bool"
	case "O": // elements of no fixed size, in format 2
		return "object"
	}
	kind := map[byte]string{'i': "int", 'u': "uint", 'f': "float", 'c': "complex"}[rest[0]]
	if bytes, err := strconv.Atoi(rest[1:]); err == nil && kind != "" {
		return kind + strconv.Itoa(8*bytes) + order
	}
	return rest + order
}

// notATime is the fill value that stands for no date or time.
const notATime = "-9223372036854775808"

func (i *nodeInfo) fillText() string {
	if string(i.FillValue) == notATime && strings.Contains(i.Dtype, "8[") {
		return "NaT"
	}
	return string(i.FillValue)
}

// axesText writes a shape with the names of its axes: "time 24, lat 90".
func axesText(shape []int64, axes []string) string {
	parts := make([]string, len(shape))
	for k, n := range shape {
		parts[k] = strconv.FormatInt(n, 10)
		if k < len(axes) && axes[k] != "" {
			parts[k] = names.Show(axes[k]) + " " + parts[k]
		}
	}
	return strings.Join(parts, ", ")
}

// timesText writes a shape as a product: "6 × 45".
func timesText(shape []int64) string {
	parts := make([]string, len(shape))
	for k, n := range shape {
		parts[k] = strconv.FormatInt(n, 10)
	}
	if len(parts) == 0 {
		return "1"
	}
	return strings.Join(parts, " × ")
}

// codecsText writes a chain of codecs: "bytes(little) → zstd(0)". Only plain values of a codec's
// configuration are shown.
func codecsText(chain json.RawMessage) string {
	var codecs []struct {
		Name          string          `json:"name"`
		Configuration json.RawMessage `json:"configuration"`
	}
	if json.Unmarshal(chain, &codecs) != nil {
		return string(chain)
	}
	names := make([]string, len(codecs))
	for k, c := range codecs {
		var values []string
		inner := ""
		eachMember(c.Configuration, func(name string, value json.RawMessage) {
			var text string
			switch {
			case name == "codecs":
				inner = "[" + codecsText(value) + "]"
			case value[0] == '{' || value[0] == '[' || string(value) == "null" ||
				name == "checksum" || name == "index_location" || name == "typesize" ||
				name == "blocksize":
			case json.Unmarshal(value, &text) == nil:
				values = append(values, text)
			default:
				values = append(values, string(value))
			}
		})
		names[k] = c.Name + inner
		if len(values) > 0 {
			names[k] += "(" + strings.Join(values, ", ") + ")"
		}
	}
	return strings.Join(names, " → ")
}

// eachMember calls do for the members of a JSON object, in their order. It does nothing for other
// values.
func eachMember(object json.RawMessage, do func(name string, value json.RawMessage)) {
	d := json.NewDecoder(bytes.NewReader(object))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return
	}
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return
		}
		do(name.(string), value)
	}
}
