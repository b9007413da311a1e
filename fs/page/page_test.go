package page

import (
	"strings"
	"testing"
)

// TestSize: a page has the size that was said before its facts and children were known.
func TestSize(t *testing.T) {
	for _, isGroup := range []bool{false, true} {
		p := Page{Title: "a & <b>", IsGroup: isGroup, Document: `{"x": "</pre>"}`}
		size := p.Size()
		p.Found = []Fact{{"stored", "3 of 6"}}
		for room := isGroup; room; {
			child := Child{Folder: "g", Link: Link{strings.Repeat("&", 200), "a b.html"},
				Kind: "array"}
			room = p.Add(child)
		}
		text, err := p.Write()
		if err != nil || int64(len(text)) != size {
			t.Errorf("%d bytes, expected %d, %v", len(text), size, err)
		}
		if strings.Contains(string(text), "<b>") || isGroup != strings.Contains(string(text),
			"and more") {
			t.Errorf("%s", text)
		}
	}
}

// TestText: what a store says is text, wherever it stands on a page.
func TestText(t *testing.T) {
	const bad = `"'><script>&amp;`
	p := Page{Title: bad, Facts: []Fact{{bad, bad}}, Files: []Link{{bad, bad}}, Picture: bad,
		Document: bad, IsGroup: true, Found: []Fact{{bad, bad}}}
	p.Add(Child{Folder: bad, Link: Link{bad, bad}, Kind: bad, Shape: bad, Type: bad})
	text, err := p.Write()
	if err != nil {
		t.Fatal(err)
	}
	const shown, linked = `&#34;&#39;&gt;&lt;script&gt;&amp;amp;`,
		`%22%27%3E%3Cscript%3E&amp;amp%3B`
	if strings.Contains(string(text), "<script") || strings.Count(string(text), shown) != 12 ||
		strings.Count(string(text), linked) != 4 {
		t.Errorf("%s", text)
	}
}

// TestLinks: any name becomes a relative link.
func TestLinks(t *testing.T) {
	for name, want := range map[string]string{
		"javascript:x.html": "./javascript:x.html", "a b%.png": "./a%20b%25.png",
		"?#.npy": "./%3F%23.npy",
	} {
		if got := (Link{File: name}).Href(); got != want {
			t.Errorf("%q becomes %q, expected %q", name, got, want)
		}
	}
}
