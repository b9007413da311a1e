package fs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
)

// Programs that copy files side by side, as `xargs -P` starts them, make the views of one array at
// the same time. Each begins when there is no array. The first one with content that says what the
// array is creates it. The others then find the array, and go on as if they had come after it:
// their content is that of its views.

// createByHeader makes the array that the header of a new .npy file describes. If another view of
// this mount has made the same one since the file was opened, it is that one. The caller has locked
// its creation.
func (f *filesystem) createByHeader(ctx context.Context, path string, by program.Process, shape []int64, t dtype.Type, fortran bool) (*zarrcore.Array, error) {
	if f.traces.Of(path).Made() {
		arr, err := f.h.OpenArray(ctx, path)
		switch {
		case err != nil:
		case describes(arr, shape, t, fortran):
			return arr, nil
		case isTruncated(arr, shape, t, fortran):
			arr, err = f.h.Overwrite(ctx, path, shape, t, fortran)
			return arr, errno.Refused(err)
		}
	}
	arr, err := f.createArray(ctx, path, by, shape, t, fortran)
	if err == nil {
		f.born(path, view.Headed(), by)
		f.compared.Made(path, view.Headed(), by)
	}
	return arr, errno.Refused(err)
}

// createArray creates an array. If the process by has just removed one through its only listed
// view, the new array replaces that. Attributes stay, and chunks and codecs too, as in an array
// that is overwritten.
func (f *filesystem) createArray(ctx context.Context, path string, by program.Process, shape []int64, t dtype.Type, fortran bool) (*zarrcore.Array, error) {
	old := f.traces.Of(path).Replacing(by)
	if old != nil && f.h.CreateFromDocument(ctx, path, old.Document) == nil {
		arr, err := f.h.Overwrite(ctx, path, shape, t, fortran)
		if err == nil {
			return arr, nil
		}
		if err := f.h.Remove(ctx, path); err != nil {
			return nil, err
		}
	}
	return f.h.CreateArray(ctx, path, shape, t, fortran)
}

// describes reports whether the header of an array's .npy file says this.
func describes(arr *zarrcore.Array, shape []int64, t dtype.Type, fortran bool) bool {
	m := arr.Live().Meta()
	return m.Type.SavedAs(t) && slices.Equal(m.Shape, shape) && m.HasOrder(fortran)
}

// isTruncated reports whether the header describes an array that has only lost rows: a program that
// copies its .raw has truncated that, and writes it now.
func isTruncated(arr *zarrcore.Array, shape []int64, t dtype.Type, fortran bool) bool {
	has := arr.Live().Meta().Shape
	return len(has) > 0 && len(has) == len(shape) && has[0] < shape[0] &&
		describes(arr, slices.Concat(has[:1], shape[1:]), t, fortran)
}

const (
	// writersWait is how long a document that recreates an array waits for programs that write to
	// it through other views.
	writersWait = 30 * time.Second
	writersPoll = 5 * time.Millisecond
)

// errWriters says that an array cannot be recreated, because what is being written to it would be
// lost.
var errWriters = fmt.Errorf("%w: another view of the array is being written", syscall.EBUSY)

// applyInTurn is apply, but waits for the programs that write to the array where it must be
// recreated.
func (d *document) applyInTurn(ctx context.Context, by program.Process, from origin) error {
	for end := time.Now().Add(writersWait); ; time.Sleep(writersPoll) {
		err := d.apply(ctx, by, from)
		if !errors.Is(err, errWriters) || time.Now().After(end) || ctx.Err() != nil {
			return err
		}
	}
}
