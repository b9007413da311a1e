package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/pflag"

	"github.com/zarrfs/zarrfs/fs/xattr"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
)

var infoVerb = &verb{
	name: "info", args: "STORE [NODE]", least: 1, most: 2,
	short: "Show a store, or an array or group of it",
	long: `
NODE is the path of an array or group in the store; without it, the root is shown. "stored" is the
size of the chunks (of a sharded array: the shards) that the store has. A chunk that is not stored
holds the fill value alone. If there are very many chunks, a part is counted: "at least …".

Examples:
  zarrfs info climate.zarr
  zarrfs info climate.zarr ocean/temperature
  zarrfs info --json climate.zarr ocean/temperature | jq .shape
`,
	setup: func(flags *pflag.FlagSet) func(context.Context, []string) error {
		addCloudFlags(flags)
		asJSON := flags.Bool("json", false, "print JSON")
		return func(ctx context.Context, args []string) error { return info(ctx, args, *asJSON) }
	},
}

// nodeInfo is what info prints. An array's members are absent for a group.
type nodeInfo struct {
	Store  string  `json:"store"`
	Path   string  `json:"path"`
	Node   string  `json:"node"`
	Format int     `json:"zarr_format,omitempty"`
	Shape  []int64 `json:"shape,omitzero"`
	Dtype  string  `json:"dtype,omitempty"`
	Chunks []int64 `json:"chunks,omitzero"`
	Shards []int64 `json:"shards,omitempty"`
	// along each axis, of objects that differ in shape
	Longest    []int64         `json:"longest_chunks,omitempty"`
	Codecs     json.RawMessage `json:"codecs,omitempty"`
	FillValue  json.RawMessage `json:"fill_value,omitempty"`
	Dimensions []string        `json:"dimension_names,omitempty"`
	Bytes      *int64          `json:"bytes,omitempty"`
	Stored     *int64          `json:"stored_bytes,omitempty"`
	// chunks, or shards, that are stored
	Objects    *int64          `json:"objects_stored,omitempty"`
	ObjectsOf  *int64          `json:"objects,omitempty"`  // stored or not
	AtLeast    bool            `json:"at_least,omitempty"` // more may be stored: counting stopped
	Modified   *time.Time      `json:"modified,omitempty"`
	Arrays     *int            `json:"arrays,omitempty"`
	Groups     *int            `json:"groups,omitempty"`
	Links      int             `json:"links,omitempty"`
	Below      *tally          `json:"below,omitempty"` // of a group: all levels
	Attributes json.RawMessage `json:"attributes,omitempty"`
	Error      string          `json:"error,omitempty"`

	typeName string // for people
}

func info(ctx context.Context, args []string, asJSON bool) error {
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
	i, err := describe(ctx, h, n)
	if err != nil {
		return storeErr(err)
	}
	print := i.print
	if asJSON {
		print = func(w io.Writer) error { return printJSON(w, i) }
	}
	if err := print(stdout); err != nil {
		return err
	}
	if errors.Is(n.Err, meta.ErrInvalid) {
		return storeErr(fmt.Errorf("%s: the document cannot be understood; this is what could "+
			"be read", args[0]))
	}
	return nil
}

// describe collects what info prints about a node.
func describe(ctx context.Context, h *zarrcore.Hierarchy, n *zarrcore.Node) (*nodeInfo, error) {
	i := &nodeInfo{Store: h.Name(), Path: "/" + n.Path, Node: n.Kind.String(), Format: n.Format}
	if n.Err != nil {
		i.Error = n.Err.Error()
	}
	if !n.SaysKind() {
		i.Node = "node"
	}
	if !n.ModTime.IsZero() {
		i.Modified = &n.ModTime
	}
	if n.Attributes.Exists() && n.Attributes.Len() > 0 {
		i.Attributes = n.Attributes.Standard()
	}
	if n.Kind != zarrcore.ArrayNode {
		return i, i.countChildren(ctx, h, n)
	}
	i.fromArray(n)
	i.countStored(ctx, h, n)
	a, err := h.OpenArray(ctx, n.Path)
	// only decoding would show its decoded size
	if errors.Is(err, zarrcore.ErrVlen) {
		_, err = h.OpenVlen(ctx, n.Path)
	}
	if err != nil {
		i.Error = err.Error()
	} else if a != nil {
		size := a.Size()
		i.Bytes = &size
	}
	return i, nil
}

// countStored counts what the store has of an array.
func (i *nodeInfo) countStored(ctx context.Context, h *zarrcore.Hierarchy, n *zarrcore.Node) {
	s := new(tally).add(ctx, h, n)
	if s == nil {
		return
	}
	i.Stored, i.Objects, i.ObjectsOf, i.AtLeast = &s.Bytes, &s.Objects, &s.Of, !s.Whole
	if i.Modified != nil && s.ModTime.After(*i.Modified) {
		i.Modified = &s.ModTime
	}
}

// fromArray takes over what the metadata says.
func (i *nodeInfo) fromArray(n *zarrcore.Node) {
	i.Shape, i.Dimensions = n.Meta.Shape, n.Meta.DimensionNames
	i.Dtype, i.typeName = xattr.TypeName(n), typeText(xattr.TypeName(n))
	i.Chunks = xattr.Chunk(n)
	i.Shards = xattr.Shard(n)
	if !n.Meta.IsRegular() {
		i.Longest = n.Meta.Chunk
	}
	i.Codecs = xattr.CodecsJSON(n)
	i.FillValue = xattr.FillJSON(n)
}

func (i *nodeInfo) countChildren(
	ctx context.Context, h *zarrcore.Hierarchy, n *zarrcore.Node,
) error {
	arrays, groups, links := 0, 0, 0
	err := h.Children(ctx, n.Path, func(c zarrcore.Child) error {
		switch c.Kind {
		case zarrcore.ArrayNode:
			arrays++
		case zarrcore.LinkNode:
			links++
		default:
			groups++
		}
		return nil
	})
	i.Arrays, i.Groups, i.Links, i.Below = &arrays, &groups, links, &tally{}
	if err != nil {
		return err
	}
	return i.Below.below(ctx, h, n.Path)
}

// ratio says how many times smaller the stored bytes are.
func ratio(size *int64, stored int64) string {
	if size == nil || stored <= 0 || *size <= 0 {
		return ""
	}
	return fmt.Sprintf(" (%.1f×)", float64(*size)/float64(stored))
}
