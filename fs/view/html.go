package view

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/page"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
)

// censusMost is how many looks at a store the page of an array takes.
const censusMost = 10000

// htmlView shows what an array or group is as a page. It is made when the file is opened.
type htmlView struct{}

func (htmlView) Name() string { return "html" }

func (htmlView) Has(Subject) bool { return true }

func (htmlView) HasBy() Criterion { return ByNothing }

func (htmlView) IsListed(Subject) bool { return true }

func (htmlView) IsDescription(*meta.Array) bool { return false }

func (htmlView) IsWritable() bool { return false }

func (htmlView) IsKeeper() bool { return false }

// HasGroup implements GroupView.
func (htmlView) HasGroup(*zarrcore.Node) bool { return true }

// Size implements View. The page of a group has room for its children, whatever they are.
func (htmlView) Size(n *zarrcore.Node) (int64, error) { return pageOf(n).Size(), nil }

// Open writes the page as the node is now.
func (htmlView) Open(ctx context.Context, h *zarrcore.Hierarchy, at string) (Content, error) {
	folder := ""
	if at != "" {
		folder = names.Show(path.Base(at))
	}
	return openPage(ctx, h, at, folder)
}

// Index is the page of a group in the folder of that group, as IndexFile. It is not among the
// views, because no suffix stands for it.
var Index View = indexView{}

// IndexFile is the name that browsers look for in a folder.
const IndexFile = "index.html"

// indexView is the page of a group whose links lead on from the folder of the group itself.
type indexView struct{ htmlView }

func (indexView) Name() string { return IndexFile }

func (indexView) Has(Subject) bool { return false }

func (indexView) IsListed(Subject) bool { return false }

// Open implements View.
func (indexView) Open(ctx context.Context, h *zarrcore.Hierarchy, at string) (Content, error) {
	return openPage(ctx, h, at, "")
}

// openPage writes the page of the node at that path. The files of its children are in folder, as
// seen from the page.
func openPage(
	ctx context.Context, h *zarrcore.Hierarchy, at, folder string,
) (Content, error) {
	n, err := h.Node(ctx, at)
	if err != nil {
		return nil, err
	}
	p := pageOf(n)
	switch {
	case p.IsGroup:
		err = addChildren(ctx, h, at, folder, &p)
	case n.Meta != nil:
		p.Found = census(ctx, h, n)
	}
	if err != nil {
		return nil, err
	}
	text, err := p.Write()
	if p.IsGroup {
		return rendered{text, n.Folder.Listing()}, err
	}
	return snapshot(text), err
}

// isForAll reports whether everybody may read the document of a node.
func isForAll(n *zarrcore.Node) bool {
	const readable = 0o444
	to := n.Documents.And(n.Folder.Inside())
	return !to.Known || to.Mode&readable == readable
}

// pageOf returns what the document of a node says.
func pageOf(n *zarrcore.Node) page.Page {
	p := page.Page{Title: n.Path, Document: string(n.Document), DocumentName: Document.Name(),
		IsGroup: n.Kind != zarrcore.ArrayNode}
	if n.Path == "" {
		p.Title = "the root of the store"
	}
	if n.Err != nil {
		p.Facts = append(p.Facts, page.Fact{Name: "not understood", Value: n.Err.Error()})
	}
	if n.Meta == nil || p.IsGroup {
		return p
	}
	m := n.Meta
	p.Facts = append(p.Facts,
		page.Fact{Name: "shape", Value: fmt.Sprint(m.Shape)},
		page.Fact{Name: "dimensions", Value: fmt.Sprintf("%q", m.DimensionNames)},
		page.Fact{Name: "type", Value: m.Type.Descr()},
		page.Fact{Name: "chunks", Value: fmt.Sprint(m.Chunk)},
		page.Fact{Name: "format", Value: fmt.Sprintf("Zarr %d", m.Format)})
	if n.Path == "" { // its files have the name of the store, which is not known here
		return p
	}
	for _, v := range views {
		if v.Name() == "html" || IsListedOnly(v) || !v.Has(Described(m)) {
			continue
		}
		file := names.File(names.Show(path.Base(n.Path)), v.Name())
		if v == View(pngView{}) {
			p.Picture = file
		}
		p.Files = append(p.Files, page.Link{Text: "." + v.Name(), File: file})
	}
	return p
}

// census counts what is stored of an array.
func census(ctx context.Context, h *zarrcore.Hierarchy, n *zarrcore.Node) []page.Fact {
	s, err := h.Stored(ctx, n, censusMost)
	if err != nil {
		return []page.Fact{{Name: "stored", Value: "unknown: the store cannot be listed"}}
	}
	atLeast := ""
	if !s.Whole {
		atLeast = "at least "
	}
	return []page.Fact{
		{Name: "stored", Value: fmt.Sprintf("%s%d of %d chunks or shards", atLeast, s.Objects,
			s.Of)},
		{Name: "bytes", Value: fmt.Sprintf("%s%d", atLeast, s.Bytes)},
	}
}

// addChildren adds the children of the group at path, as far as there is room.
func addChildren(
	ctx context.Context, h *zarrcore.Hierarchy, at, folder string, p *page.Page,
) error {
	full := errors.New("no room for more")
	err := h.Children(ctx, at, func(c zarrcore.Child) error {
		shown := names.Show(c.Name)
		child := page.Child{Link: page.Link{Text: c.Name, File: names.File(shown, "html")},
			Kind: c.Kind.String(), Folder: folder}
		n, err := h.Node(ctx, names.Join(at, c.Name))
		if err == nil && n.Meta != nil && (!h.KeepsRights() || isForAll(n)) {
			child.Shape, child.Type = fmt.Sprint(n.Meta.Shape), n.Meta.Type.Descr()
		}
		if !p.Add(child) {
			return full
		}
		return nil
	})
	if errors.Is(err, full) {
		return nil
	}
	return err
}
