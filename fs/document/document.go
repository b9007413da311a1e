// Package document has the documents of arrays and groups while programs write them. What a program
// has written changes the array or group, recreates it, or makes an array.
package document

import (
	"context"
	"log/slog"
	"slices"
	"sync/atomic"

	"github.com/zarrfs/zarrfs/fs/alias"
	"github.com/zarrfs/zarrfs/fs/coherence"
	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/input"
	"github.com/zarrfs/zarrfs/fs/material"
	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/pathstate"
	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/fs/site"
	"github.com/zarrfs/zarrfs/fs/stat"
	"github.com/zarrfs/zarrfs/fs/texts"
	"github.com/zarrfs/zarrfs/fs/transient"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/fs/writing"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
)

// File is a .json file, or a group's zarr.json, while programs write it: its whole text. A flush
// applies it to the existing array or group, or creates one.
type File struct {
	of    *Mount
	where atomic.Pointer[string] // the path of the array or group
	opens int                    // guarded by the lock of the states
	home  site.Home
	gone  atomic.Bool // the array or group was removed

	existed atomic.Bool // the array or group was there, and is not only about to be created

	Text    *input.Text
	waiting bool // see Apply; guarded by the lock of the text
}

// judge returns why no text that begins so can become the document.
func (d *File) judge(beginning []byte) error {
	whole, err := meta.CheckBeginning(beginning)
	if err == nil && whole != nil && !d.existed.Load() {
		err = describesArray(d.Path(), whole)
	}
	return errno.Refused(err)
}

// Path returns the path of the array or group.
func (d *File) Path() string { return *d.where.Load() }

// Files are those of a mount that are open for writing.
type Files struct {
	Mount
	states pathstate.Parts[texts.Part]
}

// Mount is the mount whose documents these are.
type Mount struct {
	H          *zarrcore.Hierarchy
	Log        *slog.Logger
	Sites      *site.Paths
	Texts      *texts.Files
	Writings   *writing.Arrays
	Traces     *alias.Traces
	Reads      *input.Reads
	Copied     *input.Copies
	Transients *transient.Files
	Stat       *stat.Cache
	Kernel     *coherence.Kernel
	Material   *material.Files

	Arrays maker
	Remade replacer
	Taken  func(path string, by program.Process, err error) // notes how a text was taken
}

// maker makes arrays.
type maker interface {
	// ByDocument makes the array that a document describes.
	ByDocument(ctx context.Context, path string, doc []byte, by program.Process) error
}

// replacer recreates arrays.
type replacer interface {
	// Replace recreates the array at path as a document says, with the bytes that it has. It does
	// so only if isFree is true at the end.
	Replace(
		ctx context.Context, path string, doc []byte, isFree func() bool,
	) (remade bool, err error)
}

// Of returns the document of a path while programs write it, nil if none does.
func Of(p *texts.Part) *File {
	d, _ := p.Document.It.(*File)
	return d
}

// New returns the documents of a mount. There are none yet.
func New(of Mount, states pathstate.Parts[texts.Part]) *Files { return &Files{of, states} }

func (t *Files) new(path string, text []byte) *File {
	d := &File{of: &t.Mount}
	d.where.Store(&path)
	d.Text = input.NewText(text, d.judge)
	return d
}

// Written returns the document at path that a program has written as a whole.
func (t *Files) Written(path string, text []byte) *File {
	d := t.new(path, text)
	d.Text.SetWritten()
	return d
}

// Find returns the document of the array or group at path, nil if no program writes it.
func (t *Files) Find(path string) *File { return t.FindAt(pathstate.At(path)) }

// FindAt is Find for the path that where returns, also if a rename comes just then.
func (t *Files) FindAt(where func() string) (d *File) {
	t.states.Seek(where, func(p *texts.Part) { d = Of(p) })
	return d
}

// Open counts a writable handle of the document at the path that where returns. The first begins
// with the document of n, and isFirst is set. A text of an array or group that another program has
// recreated since ends.
func (t *Files) Open(
	ctx context.Context, where func() string, n *zarrcore.Node,
) (d *File, isFirst bool) {
	isAgain := t.Texts.InDirectory(where, func(p *texts.Part, identity string) {
		if d = Of(p); d == nil {
			isFirst = true
			d = t.new(where(), slices.Clone(n.Document))
			d.Text.Begin(n.Version)
			d.home.Note(identity)
			p.Document.It = d
		}
		d.opens++
	})
	if isFirst && isAgain { // n may be of the array that was there before
		d.Refresh(ctx)
	}
	return d, isFirst
}

// Close ends a handle, and reports whether it was the last. A text that could not be applied ends
// with the last.
func (t *Files) Close(d *File) (last bool) {
	t.states.Follow(d.Path, func(p *texts.Part) {
		d.opens--
		last = d.opens == 0
		if last && Of(p) == d {
			p.Document.It = nil
		}
	})
	return last
}

// Moved notes that the array or group has another path.
func (d *File) Moved(to string) { d.where.Store(&to) }

// Ended notes that the array or group is not there any more. A later array or group of that name
// has a document of its own.
func (d *File) Ended() { d.gone.Store(true) }

// HasExisted reports whether the array or group was there, and is not only about to be created.
func (d *File) HasExisted() bool { return d.existed.Load() }

// NoteExisted notes that it was there.
func (d *File) NoteExisted() { d.existed.Store(true) }

// Home implements openText.
func (d *File) Home() *site.Home { return &d.home }

// Refresh makes the text that of the stored document, unless a program has changed the text.
func (d *File) Refresh(ctx context.Context) {
	d.Text.Refresh(func() (text []byte, version string, err error) {
		n, err := d.of.H.Node(ctx, d.Path())
		if err != nil {
			return nil, "", err
		}
		return n.Document, n.Version, nil
	})
}

// noteStored notes that the text was applied, and returns the version of what is stored then.
func (d *File) noteStored(ctx context.Context, path string) (version string) {
	if n, err := d.of.H.Node(ctx, path); err == nil {
		version = n.Version
	}
	if !d.existed.Swap(true) {
		d.home.Note(d.of.Sites.Identity(path))
	}
	return version
}

// IsEmptied reports whether the text of a document that was there is empty now, and whether a
// program has truncated it.
func (d *File) IsEmptied() (emptied, cut bool) {
	if !d.existed.Load() {
		return false, false
	}
	return d.Text.IsEmptied()
}

// Origin is what there was when a document was opened.
type Origin uint8

// What there was: the document, no array, or an array whose document had been removed.
const (
	Opened Origin = iota
	Missing
	Removed
)

// Spot returns where the document of the array at path is shown.
func Spot(path string) transient.Spot {
	dir, _ := names.Split(path)
	return transient.Spot{Dir: dir, Name: view.FileOf(path, view.Document)}
}
