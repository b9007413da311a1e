package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/terminal"
	"github.com/zarrfs/zarrfs/fs/xattr"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/codec"
)

var treeVerb = &verb{
	name: "tree", args: "STORE [GROUP]", least: 1, most: 2,
	short: "Draw the hierarchy of groups and arrays",
	long: `
Each array has its data type, axes, shards if it has any, decoded size → stored size, and the codec
that compresses it. The last line has the totals of what is drawn.

Examples:
  zarrfs tree climate.zarr
  zarrfs tree -L 1 climate.zarr ocean
  zarrfs tree --json climate.zarr | jq -r '.. | select(.node? == "array") | .path'
`,
	setup: func(flags *pflag.FlagSet) func(context.Context, []string) error {
		addCloudFlags(flags)
		depth := flags.IntP("level", "L", 0, "how many levels to show (0: all)")
		asJSON := flags.Bool("json", false, "print JSON")
		return func(ctx context.Context, args []string) error {
			return tree(ctx, args, *depth, *asJSON)
		}
	},
}

// treeNode is a node and what is below it.
type treeNode struct {
	Name     string      `json:"name"`
	Path     string      `json:"path"`
	Node     string      `json:"node"`
	Shape    []int64     `json:"shape,omitzero"`
	Dtype    string      `json:"dtype,omitempty"`
	Link     string      `json:"link,omitempty"` // the text of a link
	Bytes    *int64      `json:"bytes,omitempty"`
	Stored   *int64      `json:"stored_bytes,omitempty"`
	AtLeast  bool        `json:"at_least,omitempty"` // more may be stored: counting stopped
	Error    string      `json:"error,omitempty"`
	Children []*treeNode `json:"children,omitempty"`

	columns []string // for people: type, axes, shards, size, compressor
}

func tree(ctx context.Context, args []string, depth int, asJSON bool) error {
	if depth < 0 {
		return usageError{fmt.Errorf("-L %d: expected 0 or more", depth)}
	}
	s, h, err := openPlain(ctx, args[0])
	if err != nil {
		return err
	}
	defer s.Close()
	defer h.Close()
	n, err := findNode(ctx, h, args)
	if err != nil {
		return err
	}
	g := &grower{h: h}
	root := g.node(ctx, n, filepath.Base(s.Name()))
	if n.Kind != zarrcore.ArrayNode {
		g.drawn = tally{} // only what is below the root counts
	}
	if err := g.grow(ctx, root, n, depth); err != nil {
		return storeErr(err)
	}
	if asJSON {
		return printJSON(stdout, root)
	}
	out := bufio.NewWriter(stdout)
	if err := root.print(out); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%s\n", g.drawn.print())
	if root.hasError() {
		fmt.Fprintf(out, "`zarrfs info %s NODE` says why a node cannot be read.\n", args[0])
	}
	return out.Flush()
}

// A grower makes the tree, and counts what is in it.
type grower struct {
	h     *zarrcore.Hierarchy
	drawn tally
}

// node makes one node of the tree.
func (g *grower) node(ctx context.Context, n *zarrcore.Node, name string) *treeNode {
	if i := strings.LastIndexByte(n.Path, '/'); n.Path != "" {
		name = n.Path[i+1:]
	}
	t := &treeNode{Name: name, Path: "/" + n.Path, Node: n.Kind.String()}
	if n.Link != nil {
		t.Link = n.Link.Text
	}
	if n.Meta != nil {
		t.Shape = n.Meta.Shape
		t.Dtype = xattr.TypeName(n)
	}
	if size, ok := decodedSize(n); ok {
		t.Bytes = &size
	}
	if s := g.drawn.add(ctx, g.h, n); s != nil {
		t.Stored, t.AtLeast = &s.Bytes, !s.Whole
	}
	if n.Meta != nil {
		t.describe(n)
	}
	if err := unreadable(n); err != nil {
		t.Error = err.Error()
	}
	return t
}

// unreadable says why an array's data cannot be read, without a look at its chunks.
func unreadable(n *zarrcore.Node) error {
	if n.Err != nil || n.Kind != zarrcore.ArrayNode {
		return n.Err
	}
	if zarrcore.IsVlen(n.Meta) {
		_, err := codec.BindVlen(n.Meta)
		return err
	}
	_, err := codec.Bind(n.Meta)
	return err
}

// grow adds the children of t, and theirs, down to a depth; 0 is all.
func (g *grower) grow(ctx context.Context, t *treeNode, n *zarrcore.Node, depth int) error {
	if n.Kind == zarrcore.ArrayNode || n.Kind == zarrcore.LinkNode {
		return nil
	}
	var names []string
	err := g.h.Children(ctx, n.Path, func(c zarrcore.Child) error {
		names = append(names, c.Name)
		return nil
	})
	slices.Sort(names)
	for _, name := range names {
		child, nodeErr := g.h.Node(ctx, strings.TrimPrefix(n.Path+"/"+name, "/"))
		if nodeErr != nil {
			t.Children = append(t.Children, &treeNode{Name: name, Path: t.Path + "/" + name,
				Error: nodeErr.Error()})
			continue
		}
		c := g.node(ctx, child, name)
		t.Children = append(t.Children, c)
		if depth == 1 {
			continue
		}
		if err := g.grow(ctx, c, child, max(depth-1, 0)); err != nil {
			return err
		}
	}
	return err
}

// hasError reports whether a node of the tree cannot be read.
func (t *treeNode) hasError() bool {
	return t.Error != "" || slices.ContainsFunc(t.Children, (*treeNode).hasError)
}

// print draws the tree.
func (t *treeNode) print(w io.Writer) error {
	return printTable(w, func(table io.Writer) {
		fmt.Fprintln(table, t.line())
		t.draw(table, "")
	})
}

// draw writes what is below t; every line begins with indent.
func (t *treeNode) draw(w io.Writer, indent string) {
	for i, c := range t.Children {
		branch, next := "├── ", "│   "
		if i == len(t.Children)-1 {
			branch, next = "└── ", "    "
		}
		fmt.Fprintln(w, indent+branch+c.line())
		c.draw(w, indent+next)
	}
}

// line is what is shown of a node: its label, and its columns.
func (t *treeNode) line() string {
	columns := t.columns
	if columns == nil {
		columns = make([]string, 5)
	}
	// a tab or newline in a name would begin another column or line
	safe := []string{terminal.Line(t.label())}
	for _, column := range columns {
		safe = append(safe, terminal.Line(column))
	}
	return strings.Join(safe, "\t")
}

// describe fills in the columns of an array.
func (t *treeNode) describe(n *zarrcore.Node) {
	axes, shards := "", ""
	if t.Shape != nil {
		axes = strings.ReplaceAll(axesText(t.Shape, n.Meta.DimensionNames), ", ", " × ")
	}
	if shard := xattr.Shard(n); shard != nil {
		shards = "shards " + timesText(shard)
	}
	t.columns = []string{typeText(t.Dtype), axes, shards, t.sizeText(n), compressorOf(n)}
}

// sizeText says how many bytes there are, decoded and stored: "1.5 MiB → 1.3 MiB".
func (t *treeNode) sizeText(n *zarrcore.Node) string {
	size, stored := "", ""
	if t.Bytes != nil {
		size = bytesText(*t.Bytes)
	} else if n.Meta.Type.Size > 0 && t.Shape != nil {
		size = "too large"
	}
	if t.Stored != nil {
		stored = "→ " + bytesText(*t.Stored)
		if t.AtLeast {
			stored = "→ at least " + bytesText(*t.Stored)
		}
	}
	return strings.TrimSpace(size + " " + stored)
}

// compressorOf names the last codec of an array's chain, or of the inner chain of its shards. It
// returns "" for the codec bytes, which does not compress.
func compressorOf(n *zarrcore.Node) string {
	chain := codecsText(xattr.CodecsJSON(n))
	last := chain[strings.LastIndexAny(chain, " [")+1:]
	if i := strings.LastIndex(chain, "→ "); i >= 0 {
		last = chain[i+len("→ "):]
	}
	last, _, _ = strings.Cut(strings.TrimRight(last, "]"), "(")
	if last == "bytes" {
		return ""
	}
	return strings.TrimPrefix(last, "numcodecs.")
}

// label is a node's line. Names are escaped as in the mount, so that none can upset a terminal.
func (t *treeNode) label() string {
	s := names.Show(t.Name)
	switch {
	case t.Node == "link" && t.Link == "":
		return s + " -> [leaves the store]"
	case t.Node == "link" && t.Error != "":
		return s + " -> " + names.ShowLink(t.Link) + " [leads nowhere]"
	case t.Node == "link":
		return s + " -> " + names.ShowLink(t.Link)
	case t.Node != "array":
		s += "/"
	}
	if t.Error != "" {
		s += " [cannot be read]"
	}
	return s
}
