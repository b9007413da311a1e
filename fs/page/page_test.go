package page

import (
	"strings"
	"testing"
)

// TestSize: a page has the size that was said before its facts and children were known.
func TestSize(t *testing.T) {
	for _, isGroup := range []bool{false, true} {
		p := Page{Title: "a & <b>", IsGroup: isGroup, Document: `{"x": "</pre>"}`}
		size, err := p.Size()
		if err != nil {
			t.Fatal(err)
		}
		p.Found = []Fact{{"stored", "3 of 6"}}
		for room := isGroup; room; {
			child := Child{Folder: "g", Link: Link{strings.Repeat("&", 200), "a b.html"},
				Kind: "array"}
			if room, err = p.Add(child); err != nil {
				t.Fatal(err)
			}
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
