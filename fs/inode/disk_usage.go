package inode

import (
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// blocks returns st_blocks, which counts 512 bytes each, of so many bytes.
func blocks(n int64) uint64 { return uint64(n)/512 + min(uint64(n)%512, 1) }

// charge returns st_blocks of a view of an array that takes so many bytes. Only one view has them,
// so that du counts each array once. The others have one block, not zero: tar -S takes a file
// without blocks for one of zeros.
func (f *Attributes) charge(n *zarrcore.Node, v view.View, bytes int64) uint64 {
	if n.Kind == zarrcore.ArrayNode && v != view.Document && v != f.charged(n) {
		bytes = min(bytes, 1)
	}
	return blocks(bytes)
}

// charged returns the view to which the bytes of an array are counted: the first that is listed and
// is not the document, or the first of all if no such view is listed.
func (f *Attributes) charged(n *zarrcore.Node) view.View {
	array := view.Described(n.Meta)
	for _, v := range f.Names.ViewsOf(array) {
		if v != view.Document {
			return v
		}
	}
	for _, v := range view.All() {
		if v != view.Document && view.Shows(v, array) {
			return v
		}
	}
	return nil
}
