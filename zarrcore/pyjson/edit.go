package pyjson

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Set returns a document with the member at a path set to a value. Missing objects and members on
// the way are made. A member on the way that is not an object is replaced by an object. What is new
// is laid out like its surroundings, and no other byte changes.
func Set(doc []byte, value Value, path ...string) ([]byte, error) {
	return edit(doc, path, value)
}

// Remove returns a document without the member at a path, and with all other bytes as they were. It
// is the document itself if it has no such member.
func Remove(doc []byte, path ...string) ([]byte, error) {
	return edit(doc, path, Value{})
}

// edit sets the member at a path, or removes it if the value is absent.
func edit(doc []byte, path []string, value Value) ([]byte, error) {
	root, err := Parse(doc)
	if err != nil {
		return nil, err
	}
	if root.Kind() != Object {
		return nil, fmt.Errorf("expected an object, found %s", root.Kind())
	}
	e := editor{doc: doc, style: styleOf(root)}
	at := skipSpace(doc, len(doc)-len(bytes.TrimPrefix(doc, byteOrderMark)))
	return e.edit(at, 1, path, value), nil
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// editor changes one member of a validated document.
type editor struct {
	doc   []byte
	style style
}

// style is how a document is laid out.
type style struct {
	lines  bool   // each member on a line of its own
	indent string // of one level, if so
	spaced bool   // a space behind each colon
}

// maxIndent bounds the white space that a document can make us repeat.
const maxIndent = 16

// styleOf says how an object is laid out by the first of its members that begins a line, or by its
// last one. Without members it is laid out as Zarr's writers do.
func styleOf(root Value) style {
	found, before := style{lines: true, indent: "  ", spaced: true}, 1
	for m := range membersAt(root.raw, 0) {
		between := root.raw[before:m.key]
		line := bytes.LastIndexByte(between, '\n')
		indent := between[line+1:]
		found = style{lines: line >= 0, indent: string(indent[:min(len(indent), maxIndent)]),
			spaced: m.value > m.colon+1}
		if found.lines {
			break
		}
		before = m.end
	}
	return found
}

// spot is where a member stands in a document.
type spot struct {
	key, colon, value, end int // offsets of its key, its colon, its value and of what follows
}

// membersAt runs through the members of the object that begins at an offset.
func membersAt(doc []byte, at int) func(yield func(spot) bool) {
	return func(yield func(spot) bool) {
		for i := skipSpace(doc, at+1); doc[i] != '}'; {
			m := spot{key: i}
			m.colon = skipSpace(doc, stringEnd(doc, i))
			m.value = skipSpace(doc, m.colon+1)
			m.end = valueEnd(doc, m.value)
			if !yield(m) {
				return
			}
			if i = skipSpace(doc, m.end); doc[i] == ',' {
				i = skipSpace(doc, i+1)
			}
		}
	}
}

// edit changes a member of the object that begins at the offset at. depth is that of the object's
// members.
func (e editor) edit(at, depth int, path []string, value Value) []byte {
	before := at + 1 // the end of the member before
	for m := range membersAt(e.doc, at) {
		if !sameText(e.doc[m.key:stringEnd(e.doc, m.key)], path[0]) {
			before = m.end
			continue
		}
		switch {
		case len(path) > 1 && e.doc[m.value] == '{':
			return e.edit(m.value, depth+1, path[1:], value)
		case value.Exists():
			return e.splice(m.value, m.end, e.text(nested(path[1:], value), e.doc[m.value:m.end],
				depth))
		case len(path) > 1:
			return e.doc
		}
		return e.drop(at, before, m)
	}
	if !value.Exists() {
		return e.doc
	}
	return e.add(before, at, depth, path[0], nested(path[1:], value))
}

// nested makes the objects that lead to a value.
func nested(path []string, value Value) Value {
	for _, key := range slices.Backward(path) {
		inner := value
		value = ObjectOf(func(yield func(string, Value) bool) { yield(key, inner) })
	}
	return value
}

// splice replaces a stretch of the document.
func (e editor) splice(from, to int, text []byte) []byte {
	return slices.Concat(e.doc[:from], text, e.doc[to:])
}

// drop removes a member with the comma that separates it from the one before, or else from the one
// behind.
func (e editor) drop(object, before int, m spot) []byte {
	next := skipSpace(e.doc, m.end)
	switch {
	case before > object+1: // the comma is between the two
		return e.splice(before, m.end, nil)
	case e.doc[next] == ',':
		return e.splice(m.key, skipSpace(e.doc, next+1), nil)
	}
	return e.splice(object+1, next, nil) // it was alone
}

// add appends a member to an object, behind the offset where its last one ends.
func (e editor) add(last, object, depth int, key string, value Value) []byte {
	text := []byte{}
	if last > object+1 {
		text = append(text, ',')
	}
	if e.style.lines {
		text = append(text, '\n')
		text = append(text, strings.Repeat(e.style.indent, depth)...)
	} else if last > object+1 && e.style.spaced {
		text = append(text, ' ')
	}
	text = append(text, Quote(key)...)
	text = append(text, ':')
	if e.style.spaced {
		text = append(text, ' ')
	}
	text = append(text, e.text(value, nil, depth)...)
	if last > object+1 {
		return e.splice(last, last, text)
	}
	if e.style.lines {
		text = append(text, '\n')
		text = append(text, strings.Repeat(e.style.indent, depth-1)...)
	}
	return e.splice(object+1, skipSpace(e.doc, object+1), text)
}

// text lays a value out at a depth as the one it replaces is, or else as the document is.
func (e editor) text(value Value, old []byte, depth int) []byte {
	lines := e.style.lines
	if len(old) > 2 && (old[0] == '[' || old[0] == '{') {
		lines = lines && bytes.IndexByte(old, '\n') >= 0
	}
	p := printer{pretty: lines, spaced: !lines && e.style.spaced, indent: e.style.indent,
		depth: depth, keep: true, limit: -1}
	if lines {
		p.limit = 2*len(value.raw) + 64<<10
	}
	if !p.print(value.raw) {
		return value.raw
	}
	return p.out
}
