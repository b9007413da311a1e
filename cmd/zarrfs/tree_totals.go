package main

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/zarrfs/zarrfs/zarrcore"
)

// tallyLooks is how many objects of the store a tally looks at, which takes about a second. A node
// counts as nodeLooks of them, because its document is read.
const (
	tallyLooks = 200_000
	nodeLooks  = 20
)

// A tally counts arrays and groups, and the bytes of the arrays. It stops after tallyLooks.
type tally struct {
	Arrays  int   `json:"arrays"`
	Groups  int   `json:"groups"`
	Links   int   `json:"links,omitempty"`
	Bytes   int64 `json:"bytes"` // decoded, of those arrays whose size is known
	Stored  int64 `json:"stored_bytes"`
	AtLeast bool  `json:"at_least,omitempty"` // it stopped: all numbers may be higher

	looks   int
	unsized bool // the decoded size of an array that is stored is not known
}

// add counts one node. For an array it returns what is stored, or nil if that cannot be found out.
func (t *tally) add(ctx context.Context, h *zarrcore.Hierarchy, n *zarrcore.Node) *zarrcore.Stored {
	switch n.Kind {
	case zarrcore.LinkNode:
		t.Links++
		return nil
	case zarrcore.ArrayNode:
	default:
		t.Groups++
		return nil
	}
	t.Arrays++
	if size, ok := decodedSize(n); ok {
		t.Bytes = sum(t.Bytes, size)
	} else {
		t.unsized = true
	}
	if n.Meta == nil || n.Meta.Shape == nil {
		return nil
	}
	s, err := h.Stored(ctx, n, max(tallyLooks-t.looks, 0))
	if err != nil {
		return nil
	}
	t.looks += s.Looks
	t.Stored = sum(t.Stored, s.Bytes)
	t.AtLeast = t.AtLeast || !s.Whole
	return &s
}

// below counts all that is below the group at path.
func (t *tally) below(ctx context.Context, h *zarrcore.Hierarchy, path string) error {
	var names []string
	err := h.Children(ctx, path, func(c zarrcore.Child) error {
		names = append(names, c.Name)
		return nil
	})
	for _, name := range names {
		if t.looks += nodeLooks; t.looks > tallyLooks {
			t.AtLeast = true
			return err
		}
		n, nodeErr := h.Node(ctx, strings.TrimPrefix(path+"/"+name, "/"))
		if nodeErr != nil { // another program has removed it
			continue
		}
		t.add(ctx, h, n)
		if n.Kind == zarrcore.ArrayNode || n.Kind == zarrcore.LinkNode {
			continue
		}
		if err := t.below(ctx, h, n.Path); err != nil {
			return err
		}
	}
	return err
}

// print writes the tally for people: "2 arrays, 1 group: 1.5 MiB, stored 1.2 MiB (1.3×)".
func (t *tally) print() string {
	text := plural(t.Arrays, "array") + ", " + plural(t.Groups, "group")
	if t.Links > 0 {
		text += ", " + plural(t.Links, "link")
	}
	if t.Arrays > 0 {
		text += fmt.Sprintf(": %s, stored %s", bytesText(t.Bytes), bytesText(t.Stored))
	}
	if t.AtLeast {
		return "at least " + text + " (too much to count all)"
	}
	if t.unsized {
		return text
	}
	return text + ratio(&t.Bytes, t.Stored)
}

// decodedSize returns how many bytes an array decodes to. ok is false where its document does not
// say that, and where a file cannot be so large.
func decodedSize(n *zarrcore.Node) (size int64, ok bool) {
	a := n.Meta
	if a == nil || a.Shape == nil || a.Type.Size <= 0 {
		return 0, false
	}
	bytes := float64(a.Type.Size)
	for _, length := range a.Shape {
		bytes *= float64(length)
	}
	if bytes >= math.MaxInt64 {
		return 0, false
	}
	return int64(bytes), true
}

// sum adds sizes, and stays at the largest number.
func sum(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
