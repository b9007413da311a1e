// Package adopt makes files of a mount that the store does not have the data of arrays, once there
// are such arrays. A file that has nothing more than its array ends.
package adopt

import (
	"context"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"

	"github.com/zarrfs/zarrfs/fs/coherence"
	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/netcdf"
	"github.com/zarrfs/zarrfs/fs/resolve"
	"github.com/zarrfs/zarrfs/fs/site"
	"github.com/zarrfs/zarrfs/fs/stat"
	"github.com/zarrfs/zarrfs/fs/transient"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/fs/writing"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// Files are those of a mount that may become the data of arrays.
type Files struct {
	Mount
	ending endingCopies
}

// Mount is the mount whose files these are.
type Mount struct {
	Ctx        context.Context // ends with the mount
	H          *zarrcore.Hierarchy
	Names      *resolve.Resolver
	Sites      *site.Paths
	Transients *transient.Files
	Stat       *stat.Cache
	Kernel     *coherence.Kernel
	Writings   *writing.Arrays
	Layout     netcdf.Layout // of the files that show a group
	Errors     *errno.Log
}

// New returns the files of a mount.
func New(of Mount) *Files { return &Files{Mount: of} }

// guarded calls do in a goroutine that compares files at path. A panic does not end the mount.
func (f *Files) guarded(path string, do func()) {
	var err error // the panic is in the log
	defer f.Errors.RecoverTo("compare", path, &err)
	do()
}

// Waiting makes files that came before their array its data, such as NAME.raw, and its elements,
// such as NAME.jsonl.
func (f *Files) Waiting(ctx context.Context, path string) error {
	if err := f.bytes(ctx, path); err != nil {
		return err
	}
	return f.Texts(ctx, path)
}

// bytes makes files that came before their array, such as NAME.raw, its data. An empty file has no
// data yet.
func (f *Files) bytes(ctx context.Context, path string) error {
	for _, v := range view.Keeping() {
		plain, ok := v.(view.ArrayView)
		if !ok || v.IsDescription(nil) {
			continue
		}
		if err := f.file(ctx, path, plain); err != nil {
			return err
		}
	}
	return nil
}

func (f *Files) file(ctx context.Context, path string, v view.ArrayView) error {
	dir, _ := names.Split(path)
	x := f.Transients.Find(dir, view.FileOf(path, v))
	switch {
	case x == nil || x.Bytes == nil:
		return nil
	case f.Transients.NoteLate(x):
		return f.storeLate(ctx, path, v, x)
	case x.Size() == 0:
		return nil
	}
	return f.Data(ctx, path, v, x)
}

// Texts makes texts that came before their array, such as NAME.jsonl, its elements.
func (f *Files) Texts(ctx context.Context, path string) error {
	dir, _ := names.Split(path)
	for _, v := range view.Keeping() {
		text, ok := v.(view.TextView)
		if !ok || v.IsDescription(nil) {
			continue
		}
		x := f.Transients.Find(dir, view.FileOf(path, v))
		if x == nil || x.Bytes == nil {
			continue
		}
		if lacks, err := f.Names.Lacks(ctx, path, v); err != nil {
			return err
		} else if lacks {
			continue
		}
		if err := f.Elements(ctx, path, text, x); err != nil {
			return err
		}
		f.Transients.End(x)
	}
	return nil
}

// Elements makes a transient the elements of the array at path.
func (f *Files) Elements(
	ctx context.Context, path string, v view.TextView, x *transient.File,
) error {
	return v.Take(ctx, f.H, path, view.Written{ReaderAt: x.Bytes, Size: x.Size()}, true, false)
}

// Data makes the bytes of a transient, as view v has them, the data of the array at path.
func (f *Files) Data(
	ctx context.Context, path string, v view.ArrayView, x *transient.File,
) error {
	arr, err := f.H.OpenArray(ctx, path)
	if err != nil {
		return err
	}
	if err := f.fillBy(ctx, arr, v, x); err != nil {
		return err
	}
	f.Transients.End(x)
	return nil
}

// fillBy writes a transient to the array, as view v has its bytes, and stores them. Its header must
// be that of the array.
func (f *Files) fillBy(
	ctx context.Context, arr *zarrcore.Array, v view.ArrayView, x *transient.File,
) error {
	arr = arr.Live()
	head, _, err := v.Header(ctx, arr)
	if err != nil {
		return err
	}
	_, data, err := v.Parts(arr)
	if err != nil {
		return err
	}
	found := make([]byte, len(head))
	if _, err := x.Bytes.ReadAt(found, 0); err != nil && err != io.EOF {
		return fmt.Errorf("scratch file of %s: %w", x.Path(), err)
	}
	if _, _, err := writing.BehindHeader(v, head, found, 0); err != nil {
		return err
	}
	size := x.Size() - int64(len(head))
	if view.IsDerived(v) {
		if err := checkSize(v, x, int64(len(head)), data.Size()); err != nil {
			return err
		}
		size = data.Size()
	}
	return f.Fill(ctx, data, x, int64(len(head)), size)
}

// checkSize returns an error unless a transient has as many bytes as the file of a derived view. It
// must have zeros where that has them behind the array's bytes.
func checkSize(v view.ArrayView, x *transient.File, head, data int64) error {
	tail := make([]byte, v.Tail(data))
	if size := head + data + int64(len(tail)); x.Size() != size {
		return writing.ErrKeepsSize(v, size, x.Size())
	}
	if _, err := x.Bytes.ReadAt(tail, head+data); err != nil && err != io.EOF {
		return fmt.Errorf("scratch file of %s: %w", x.Path(), err)
	}
	_, err := writing.BeforeTail(v, tail, 0)
	return err
}

// Fill writes size bytes of a transient from off on to the array, and stores them. They must be all
// of its rows.
func (f *Files) Fill(
	ctx context.Context, arr *zarrcore.Array, x *transient.File, off, size int64,
) error {
	if have := arr.Live().Size(); size != have {
		if err := arr.SetSize(ctx, size); err != nil {
			return fmt.Errorf("%s has %d bytes, expected %d of the array: %w", x.Path(), size, have,
				err)
		}
	}
	err := x.EachPiece(off, func(p []byte, at int64) error {
		p = p[:min(int64(len(p)), max(0, off+size-at))]
		if len(p) == 0 {
			return nil
		}
		_, err := arr.WriteAt(ctx, p, at-off)
		return err
	})
	if err != nil {
		return err
	}
	// another program may be writing the last row
	return writing.ExceptOpenRow(arr, arr.Save(ctx, false))
}

// FinishLate stores the bytes of a transient that is the .raw file of an array. A document made the
// array while the transient was open for writing. If the array is gone again, the file waits for
// the next one.
func (f *Files) FinishLate(x *transient.File) error {
	at := x.At()
	path, v, ok := f.Names.Path(at.Dir, at.Name)
	plain, isArray := v.(view.ArrayView)
	if !ok || !isArray || !x.IsLate() || f.Transients.Find(at.Dir, at.Name) != x {
		return nil
	}
	defer f.Sites.Lock(path)()
	err := f.storeLate(f.Ctx, path, plain, x)
	if errors.Is(err, iofs.ErrNotExist) {
		x.Waits()
		return nil
	}
	f.Stat.ForgetAll(path)
	f.Kernel.Changed(path)
	return err
}

// storeLate writes such bytes to the array at path, unless they are there already, or more may
// come. More may come if the file is empty, or was not closed since it was written.
func (f *Files) storeLate(
	ctx context.Context, path string, v view.ArrayView, x *transient.File,
) error {
	if !x.IsToBeStored() {
		return nil
	}
	arr, err := f.H.OpenArray(ctx, path)
	if err != nil {
		return err
	}
	x.NoteStored(true)
	if err = f.fillBy(ctx, arr, v, x); err != nil {
		x.NoteStored(false)
	}
	return err
}
