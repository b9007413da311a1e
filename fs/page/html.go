package page

import (
	"fmt"
	"html"
	"strings"
)

// This file writes HTML. Whatever comes from a store goes through markup, and so is text. A
// template would make the program larger by 4 MB: the linker then keeps methods that nothing calls.

// markup fills text into a format, in the place of each %s: between tags or as an attribute's
// value in double quotes. It is escaped.
func markup(format string, text ...string) string {
	escaped := make([]any, len(text))
	for i, t := range text {
		// A NUL has no place in HTML, not even escaped.
		escaped[i] = html.EscapeString(strings.ReplaceAll(t, "\x00", "\uFFFD"))
	}
	return fmt.Sprintf(format, escaped...)
}

// head is the part before the title, and body what lies between that and the first heading.
const (
	head = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="script-src 'none'">
`
	body = `<style>
body { font-family: sans-serif; margin: 2em; }
td, th { text-align: left; padding: 0.1em 1em 0.1em 0; vertical-align: top; }
img { max-width: 100%; image-rendering: pixelated; border: 1px solid #ccc; }
pre { background: #f4f4f4; padding: 1em; overflow: auto; }
</style>
</head>
<body>
`
)

// html returns the page.
func (p Page) html() []byte {
	var b []byte
	add := func(text string) { b = append(b, text...) }
	add(head + markup("<title>%s</title>\n", p.Title) + body + markup("<h1>%s</h1>\n", p.Title))
	if p.Picture != "" {
		add(markup(`<p><img alt="a picture" src="%s"></p>`+"\n", Link{File: p.Picture}.Href()))
	}
	add("<table>\n" + rows(p.Facts) + rows(p.Found) + "</table>\n" + files(p.Files))
	if p.IsGroup {
		add("<h2>Children</h2>\n<table>\n" +
			"<tr><th>name</th><th>kind</th><th>shape</th><th>type</th></tr>\n" +
			string(p.children) + "</table>\n")
	}
	document := p.Document
	if len(document) > documentMost {
		document = fmt.Sprintf("%d bytes: see the .%s file", len(document), p.DocumentName)
	}
	add("<h2>Metadata and attributes</h2>\n" + markup("<pre>%s</pre>\n", document))
	add("</body>\n</html>\n")
	return b
}

// rows returns the rows of a table of facts.
func rows(facts []Fact) (all string) {
	for _, f := range facts {
		all += markup("<tr><th>%s</th><td>%s</td></tr>\n", f.Name, f.Value)
	}
	return all
}

// files returns a paragraph of links, "" if there are none.
func files(links []Link) string {
	if len(links) == 0 {
		return ""
	}
	all := "<p>"
	for _, l := range links {
		all += markup(`<a href="%s">%s</a> `, l.Href(), l.Text)
	}
	return all + "</p>\n"
}

// html returns the row of a child.
func (c Child) html() string {
	return markup(`<tr><td><a href="%s">%s</a></td><td>%s</td><td>%s</td><td>%s</td></tr>`+"\n",
		c.Href(), c.Text, c.Kind, c.Shape, c.Type)
}
