// Package install puts a file that the store does not have in the place of a view's file. A .npy
// becomes an array or its content, and a text becomes a document or elements.
package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"

	"github.com/zarrfs/zarrfs/fs/adopt"
	"github.com/zarrfs/zarrfs/fs/alias"
	"github.com/zarrfs/zarrfs/fs/coherence"
	"github.com/zarrfs/zarrfs/fs/compare"
	"github.com/zarrfs/zarrfs/fs/creation"
	"github.com/zarrfs/zarrfs/fs/document"
	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/input"
	"github.com/zarrfs/zarrfs/fs/material"
	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/fs/site"
	"github.com/zarrfs/zarrfs/fs/transient"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/fs/writing"
	"github.com/zarrfs/zarrfs/layout/npy"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
)

// Files are those of a mount that are installed.
type Files struct{ Mount }

// Mount is the mount whose files these are.
type Mount struct {
	Ctx        context.Context // ends with the mount
	H          *zarrcore.Hierarchy
	Sites      *site.Paths
	Traces     *alias.Traces
	Transients *transient.Files
	Writings   *writing.Arrays
	Documents  *document.Files
	Compared   *compare.Files
	Material   *material.Files
	Kernel     *coherence.Kernel
	Adopting   *adopt.Files
	Creation   *creation.Arrays
}

// New returns the files of a mount.
func New(of Mount) *Files { return &Files{of} }

// As is where a file is installed: as the file of a view of the array or group at a path, by a
// program. If the array is missing, the file makes it.
type As struct {
	Path    string
	View    view.View
	By      program.Process
	Missing bool
}

// Install puts a transient there, which keeps its name. EndInstalled is to be called if that
// succeeds.
func (f *Files) Install(x *transient.File, as As) error {
	if err := view.RefusesWrites(as.View); err != nil {
		return err
	}
	f.Material.Outdate(as.Path)
	if !as.Missing { // the array may have all of it already
		has, err := f.Compared.File(x.Bytes, x.Size(), as.Path, as.View, as.By)
		if has || err != nil {
			return err
		}
	}
	return f.become(x, as)
}

// EndInstalled ends a transient that was installed, and whatever waited for what it has become.
func (f *Files) EndInstalled(x *transient.File, as As) error {
	f.Transients.End(x)
	if w := f.Writings.Find(as.Path); w != nil {
		w.Settle() // the array has the content of another file
	}
	f.Creation.Made(as.Path, as.View, as.By)
	err := f.Creation.TakeAttributes(as.Path, as.View, x, as.By)
	f.Kernel.Changed(as.Path)
	f.Adopting.EndCopies(f.Ctx, as.Path)
	f.Adopting.CompareAsideSoon(as.Path)
	return err
}

func (f *Files) become(x *transient.File, as As) error {
	switch v := as.View.(type) {
	case view.HeaderView:
		return f.array(v, x, as)
	case view.ArrayView:
		return f.Adopting.Data(f.Ctx, as.Path, v, x)
	case view.TextView:
		return f.Adopting.Elements(f.Ctx, as.Path, v, x)
	}
	return f.document(x, as)
}

// document makes the bytes of a transient a document.
func (f *Files) document(x *transient.File, as As) error {
	text, err := io.ReadAll(io.NewSectionReader(x.Bytes, 0, input.MostText+1))
	switch {
	case err != nil:
		return err
	case len(text) > input.MostText:
		return fmt.Errorf("%s: %w", x.Path(), input.TextTooLong(x.Size()))
	case len(text) == 0:
		return fmt.Errorf("%w: expected a document, found an empty file", iofs.ErrInvalid)
	}
	return f.Documents.Written(as.Path, text).ApplyInTurn(f.Ctx, as.By, document.Opened)
}

// array makes an array of the .npy file that a transient holds. If the array is there already, the
// file becomes its new content.
func (f *Files) array(v view.HeaderView, x *transient.File, as As) error {
	header, t, err := view.ReadHeader(v, x.Path(), view.Written{ReaderAt: x.Bytes, Size: x.Size()})
	if err != nil {
		return err
	}
	if as.Missing {
		err = f.newArray(x, as, header, t)
	}
	if !as.Missing || errors.Is(err, iofs.ErrExist) {
		err = f.Adopting.Overwrite(v, x, as.Path, header, t)
	}
	if lines, ok := v.(view.TextView); ok && errors.Is(err, zarrcore.ErrVlen) {
		return f.Adopting.Elements(f.Ctx, as.Path, lines, x)
	}
	return err
}

// newArray makes a new array of a .npy file that a transient holds. A lookup waits until it has its
// bytes.
func (f *Files) newArray(x *transient.File, as As, header npy.Info, t dtype.Type) error {
	defer f.Sites.Lock(as.Path)()
	arr, err := f.Creation.Create(f.Ctx, as.Path, as.By, header.Shape, t, header.Fortran)
	if err != nil {
		return errno.Refused(err)
	}
	f.Traces.NoteMade(as.Path, as.View, as.By)
	f.Compared.Made(as.Path, as.View, as.By)
	if err = f.Adopting.Behind(arr, x, header); err != nil {
		err = errors.Join(err, f.H.Remove(f.Ctx, as.Path))
	}
	return err
}
