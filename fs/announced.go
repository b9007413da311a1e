package fs

import (
	"context"

	"github.com/zarrfs/zarrfs/zarrcore"
)

// The file of a view that was created and has no array yet is announced: a transient without a file
// stands for it. It is empty until its content makes the array. Another program may make that array
// in the store first. Nothing tells the mount, so it asks the store where it finds such a transient.
// The array is what the file shows from then on.

// announced returns the transient that stands for the file as long as there is no array, nil if
// there is none. If the file is gone, what is found under its name belongs to another file.
func (n *fileNode) announced() *transient {
	if n.place.IsGone() {
		return nil
	}
	at := n.spot()
	if x := n.fs.transients.find(at.dir, at.name); x != nil && x.file == nil {
		return x
	}
	return nil
}

// hasCome reports whether the store has the array for which a transient stands, by now. Then it
// takes the transient off the list.
func (f *filesystem) hasCome(ctx context.Context, x *transient) bool {
	at := x.where.Load()
	path, v, ok := f.names.Path(at.dir, at.name)
	if !ok || x.link != "" {
		return false
	}
	req := f.request(ctx)
	defer req.End()
	isThere := func() bool {
		n, err := f.h.Node(req, path)
		return err == nil && n.Kind == zarrcore.ArrayNode && !f.names.Lacks(req, path, v)
	}
	if !isThere() {
		return false
	}
	defer f.creations.Lock(path)()
	if !isThere() { // this mount has tried to make it
		return false
	}
	if f.transients.drop(x) {
		f.stat.ForgetAll(path)
		f.leaveAttributes(x)
	}
	return true
}

// leaveAttributes says so if attributes were copied to a transient whose array another program has
// made. That array keeps its own.
func (f *filesystem) leaveAttributes(x *transient) {
	if left := len(x.copied.take()); left > 0 {
		f.log.Warn("another program has made the array of a file to which attributes were copied; "+
			"it did not get them", "file", x.path(), "attributes", left)
	}
}
