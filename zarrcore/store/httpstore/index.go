package httpstore

import (
	"encoding/json"
	"html"
	"mime"
	"net/url"
	"regexp"
	"strings"

	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/remote"
)

// This file reads the indexes that web servers make of directories: of nginx, Apache, Caddy, Go and
// Python, as HTML, and of nginx and Caddy as JSON. Any other page is not an index.

var (
	// isIndex finds the words that servers begin an index with: "Index of" nginx and Apache,
	// "Directory listing for" Python, Caddy its folder's name and a table. Go has a bare list.
	isIndex = regexp.MustCompile(`(?i)<title>\s*(index of|directory listing for|directory:)` +
		`|<pre>\s*(<a href="[^"]*">[^<]*</a>\s*)*</pre>\s*$`)

	// links finds the places that a page leads to.
	links = regexp.MustCompile(`(?is)<a\s[^>]*?href\s*=\s*(?:"([^"]*)"|'([^']*)')`)
)

// readIndex returns the children of the directory at a URL, by the index that the server has made.
func readIndex(contentType string, page []byte, at *url.URL) ([]remote.Listed, bool) {
	switch kind, _, _ := mime.ParseMediaType(contentType); kind {
	case "application/json":
		return readJSONIndex(page)
	case "text/html", "application/xhtml+xml":
		if !isIndex.Match(page) {
			return nil, false
		}
		return readHTMLIndex(page, at), true
	}
	return nil, false
}

// readJSONIndex reads the index of nginx (autoindex_format json) or Caddy.
func readJSONIndex(page []byte) (all []remote.Listed, ok bool) {
	var entries []struct {
		Name  *string `json:"name"`
		Type  string  `json:"type"`   // of nginx: file, directory, other
		IsDir *bool   `json:"is_dir"` // of Caddy
	}
	if err := json.Unmarshal(page, &entries); err != nil {
		return nil, false
	}
	for _, e := range entries {
		if e.Name == nil || e.Type == "" && e.IsDir == nil {
			return nil, false
		}
		isDir := e.Type == "directory" || e.IsDir != nil && *e.IsDir
		all = append(all, listed(strings.TrimSuffix(*e.Name, "/"), isDir))
	}
	return all, true
}

// readHTMLIndex returns the children that a page leads to, each once.
func readHTMLIndex(page []byte, at *url.URL) (all []remote.Listed) {
	seen := map[string]bool{}
	for _, m := range links.FindAllSubmatch(page, -1) {
		href := html.UnescapeString(string(m[1]) + string(m[2]))
		name, isDir, ok := child(href, at)
		if ok && !seen[name] {
			seen[name] = true
			all = append(all, listed(name, isDir))
		}
	}
	return all
}

// child returns the name of the child of a directory that a link leads to.
func child(href string, at *url.URL) (name string, isDir, ok bool) {
	to, err := at.Parse(href)
	if err != nil || to.Host != at.Host || strings.HasPrefix(href, "?") || to.Fragment != "" {
		return "", false, false
	}
	raw, below := strings.CutPrefix(to.EscapedPath(), at.EscapedPath())
	if !below {
		return "", false, false
	}
	raw, isDir = strings.CutSuffix(raw, "/")
	name, err = url.PathUnescape(raw)
	isChild := err == nil && raw != "" && !strings.Contains(raw, "/")
	return name, isDir, isChild && store.IsValidKey(name)
}

func listed(name string, isDir bool) remote.Listed {
	return remote.Listed{Entry: store.Entry{Name: name, Dir: isDir}}
}
