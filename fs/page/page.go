// Package page writes what a group or array is as an HTML page, without a script. What a store says
// is text there, whatever it looks like. A page has a size that follows from the node's document:
// what is not known from that has room of a fixed size. It reads no store.
package page

import (
	"bytes"
	"fmt"
	"net/url"
)

const (
	// factsRoom is the room, in bytes, for what is found out of an array when its page is opened.
	factsRoom = 1 << 10
	// childrenRoom is that for the rows of a group's children.
	childrenRoom = 64 << 10
	// documentMost is how many bytes of a document a page shows.
	documentMost = 256 << 10
)

// A Fact is a line of the table of an array or group.
type Fact struct{ Name, Value string }

// A Link leads to a file, whose name is relative to the page.
type Link struct{ Text, File string }

// Href returns the link as a relative URL, whatever characters the name has.
func (l Link) Href() string { return "./" + url.PathEscape(l.File) }

// A Page is what is known of a node from its document.
type Page struct {
	Title        string
	Facts        []Fact
	Files        []Link
	Picture      string // the file of a picture beside the page; "": there is none
	Document     string
	DocumentName string // of the view that shows all of it
	IsGroup      bool

	Found []Fact // found out when the page is opened

	children []byte // rows
}

// A Child is one row of the table of children.
type Child struct {
	Folder string // in which its page lies, relative to this page; "": the same
	Link
	Kind, Shape, Type string
}

// Href returns the link to the page of the child.
func (c Child) Href() string {
	if c.Folder == "" {
		return c.Link.Href()
	}
	return "./" + url.PathEscape(c.Folder) + "/" + url.PathEscape(c.File)
}

// Size returns the bytes of the page.
func (p Page) Size() int64 {
	p.Found, p.children = nil, nil
	room := factsRoom
	if p.IsGroup {
		room += childrenRoom
	}
	return int64(len(p.html()) + room)
}

// Write returns the page, with spaces in what is left of its room.
func (p Page) Write() ([]byte, error) {
	size, text := p.Size(), p.html()
	if int64(len(text)) > size {
		return nil, fmt.Errorf("a page of %d bytes, expected at most %d", len(text), size)
	}
	return append(text, bytes.Repeat([]byte{' '}, int(size)-len(text))...), nil
}

// Add adds the row of a child. It reports false where there is no room for it: then it has said so.
func (p *Page) Add(c Child) bool {
	const last = "<tr><td>and more</td></tr>\n"
	row := c.html()
	hasRoom := len(p.children)+len(row)+len(last) <= childrenRoom
	if !hasRoom {
		row = last
	}
	p.children = append(p.children, row...)
	return hasRoom
}
