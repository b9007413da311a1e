package writing

import (
	"context"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/input"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/layout/npy"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
)

// npyFile is what the writers of an array's .npy file have made of its header. Readers are always
// shown the header that NumPy would write for the array. A writer may have another one, longer or
// of another version, and goes on writing by that length. It may also write a header with another
// length of axis 0, which resizes the array.
//
// order is held while zarrcore works: the writes of one file come one after the other anyway.
type npyFile struct {
	view    view.HeaderView
	order   sync.Mutex // of writes; before mu
	come    input.Arrival
	seam    input.Seam
	emptied atomic.Bool // a program has truncated the file to nothing

	mu      sync.Mutex
	awaited *input.Incoming // the file is rewritten; nil: it is the array's
	theirs  []byte          // the header that writers have written last; nil: ours
	edited  []byte          // a header that is being written over it, as yet incomplete; nil: none
	ender   ender           // the handle that has written up to where the file has come

	fortran bool // the order that theirs says
}

// expectHeader notes that the file is rewritten from its beginning.
func (f *npyFile) expectHeader(
	create func(context.Context, npy.Info, dtype.Type, []byte) (input.ArrayWriter, error),
) {
	f.order.Lock()
	defer f.order.Unlock()
	f.come.Settle()
	f.set(&input.Incoming{Create: create, Parse: f.view.Parse, Name: f.view.Name()}, nil, nil)
}

// state returns the members as they are now.
func (f *npyFile) state() (awaited *input.Incoming, theirs, edited []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.awaited, f.theirs, f.edited
}

// set changes them. The caller holds order.
func (f *npyFile) set(awaited *input.Incoming, theirs, edited []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.awaited, f.theirs, f.edited = awaited, theirs, edited
	header, err := f.view.Parse(theirs)
	f.fortran = err == nil && header.Fortran
}

// awaiting returns the file that is rewritten, as long as its header is not complete.
func (f *npyFile) awaiting() *input.Incoming {
	awaited, _, _ := f.state()
	return awaited
}

// forget makes the file the array's own, with no writer left. It reports whether that changes the
// file's size.
func (f *npyFile) forget() bool {
	f.order.Lock()
	defer f.order.Unlock()
	was := f.awaiting() != nil
	f.set(nil, nil, nil)
	return was
}

// header returns the header that writers see, where ours is that of the array.
func (f *npyFile) header(ours []byte) []byte {
	if _, theirs, _ := f.state(); theirs != nil {
		return theirs
	}
	return ours
}

// text is header for a caller that does not know the array's own.
func (f *npyFile) text(ctx context.Context, arr *zarrcore.Array) ([]byte, error) {
	ours, _, err := f.view.Header(ctx, arr)
	return f.header(ours), err
}

// parts returns the length of the header as writers see it, and the array whose bytes they write
// behind it. That array has the order of their header, whatever has become of the array since.
func (f *npyFile) parts(arr *zarrcore.Array) (head int64, data *zarrcore.Array, err error) {
	f.mu.Lock()
	theirs, fortran := f.theirs, f.fortran
	f.mu.Unlock()
	if theirs == nil {
		return f.view.Parts(arr)
	}
	data, err = arr.InOrder(fortran)
	return int64(len(theirs)), data, err
}

// reverses reports whether writers write the bytes of the array with its axes reversed.
func (f *npyFile) reverses(arr *zarrcore.Array) bool {
	f.mu.Lock()
	fortran := f.fortran
	f.mu.Unlock()
	data, err := arr.InOrder(fortran)
	return err == nil && data != arr
}

// extentOf returns what the file of a view shows of the array: while a .npy is being written, what
// has come. Files in another order than that one have no bytes then.
func (f *npyFile) extentOf(v view.ArrayView, arr *zarrcore.Array) (view.Extent, error) {
	e, err := view.ExtentOf(v, arr)
	come, ok := f.come.Shown()
	if err != nil || !ok || e.Sliced {
		return e, err
	}
	if f.reverses(arr) != e.Reversed {
		come = 0
	}
	if come < e.Data {
		e.Data, e.Tail = come, 0
	}
	return e, nil
}

// write writes p at off of the file, by the header that its writers have.
func (f *npyFile) write(ctx context.Context, w *Array, p []byte, off int64) error {
	f.order.Lock()
	defer f.order.Unlock()
	awaited, _, edited := f.state()
	if awaited != nil {
		err := awaited.Write(ctx, p, off)
		if awaited.IsDone() {
			f.begin(w.Live(), awaited)
			f.set(nil, awaited.Text(), nil)
		}
		return err
	}
	head, data, err := f.parts(w.Live())
	if err != nil {
		return err
	}
	if edited == nil && off >= head {
		n, err := input.OneArray{Array: data, Seam: &f.seam}.WriteAt(ctx, p, off-head)
		if n > 0 {
			f.come.Wrote(off, off+int64(n))
		}
		return err
	}
	base := edited
	if base == nil {
		if base, err = f.text(ctx, w.Live()); err != nil {
			return err
		}
	}
	return f.writeHeader(ctx, w, base, p, off)
}

// begin notes that the header of a file has made the array, and what has come behind it.
func (f *npyFile) begin(arr *zarrcore.Array, awaited *input.Incoming) {
	header := int64(len(awaited.Text()))
	f.come.Begin(input.Came{
		Header: header, Reach: awaited.Size(), Whole: header + arr.Size(),
		InOrder: awaited.IsInOrder(),
	})
}

// writeHeader writes p, which begins within the header or follows an incomplete one. The header
// counts once it was written to its end, or something was written behind it.
func (f *npyFile) writeHeader(ctx context.Context, w *Array, base, p []byte, off int64) error {
	f.come.Wrote(off, off)
	text, header, err := f.overlay(base, p, off)
	cut := errors.Is(err, io.ErrUnexpectedEOF)
	if cut && off > int64(len(base)) {
		return fmt.Errorf("%w: expected the rest of the header at %d, found bytes at %d",
			iofs.ErrInvalid, len(base), off)
	}
	if cut || off+int64(len(p)) < int64(len(text)) {
		f.edit(text)
		return nil
	}
	f.edit(nil)
	if err != nil {
		return err
	}
	if err := f.take(ctx, w, text, header); err != nil {
		return err
	}
	_, data, err := f.parts(w.Live())
	if err != nil {
		return err
	}
	_, err = input.PassOn(ctx, input.OneArray{Array: data, Seam: &f.seam},
		input.Piece{Off: off, Data: p}, header.Len)
	return err
}

// edit keeps a header that is not complete; nil: there is none. The caller holds order.
func (f *npyFile) edit(text []byte) {
	_, theirs, _ := f.state()
	f.set(nil, theirs, text)
}

// overlay returns the header text with p written over it at off, as long as it then says it is. A
// header that is not complete is io.ErrUnexpectedEOF.
func (f *npyFile) overlay(text, p []byte, off int64) (over []byte, header npy.Info, err error) {
	over = slices.Clone(text)
	if off <= int64(len(over)) {
		n := copy(over[off:], p)
		over = append(over, p[n:]...)
	}
	header, err = f.view.Parse(over)
	switch {
	case err == nil:
		return over[:header.Len], header, nil
	case errors.Is(err, io.ErrUnexpectedEOF):
		return over, header, err
	}
	return over[:len(text)], header, err
}

// finishHeader acts on a header that was written in part, because no more of it will come.
func (f *npyFile) finishHeader(ctx context.Context, w *Array) error {
	f.order.Lock()
	defer f.order.Unlock()
	awaited, _, text := f.state()
	if awaited != nil {
		return awaited.Complete()
	}
	if text == nil {
		return nil
	}
	f.edit(nil)
	header, err := f.view.Parse(text)
	if err != nil {
		return fmt.Errorf("%w: the header that was written: %w", iofs.ErrInvalid, err)
	}
	return f.take(ctx, w, text, header)
}

// take makes the array what a header says that was written over its own. Only axis 0 may differ.
// The caller holds order.
func (f *npyFile) take(ctx context.Context, w *Array, text []byte, header npy.Info) error {
	arr := w.Live()
	now, err := f.text(ctx, arr)
	if err != nil || slices.Equal(text, now) {
		return err
	}
	rows, err := rowsOf(arr, header)
	if err == nil {
		err = setRows(ctx, arr, rows)
	}
	if err == nil {
		f.set(nil, text, nil)
		f.come.Settle()
	}
	return err
}

// rowsOf returns the length of axis 0 that a header gives the array. All else must be the same.
func rowsOf(arr *zarrcore.Array, header npy.Info) (int64, error) {
	m := arr.Meta()
	t, err := dtype.ParseDescr(header.Descr)
	if err != nil {
		return 0, err
	}
	if !m.Type.CanBeSavedAs(t) || !m.HasOrder(header.Fortran) || len(header.Shape) != len(m.Shape) {
		return 0, fmt.Errorf("%w: expected a header of %s in %d axes, found %s in %d, Fortran "+
			"order %t: truncate the file to nothing first to make it another array",
			iofs.ErrInvalid, m.Type.Descr(), len(m.Shape), header.Descr, len(header.Shape),
			header.Fortran)
	}
	if len(m.Shape) == 0 {
		return 1, nil
	}
	if m.IsInFortranOrder() && !slices.Equal(header.Shape, m.Shape) {
		return 0, fmt.Errorf("%w: expected a header of shape %v, found %v: a file in Fortran "+
			"order keeps its size; resize the .%s file, or set the shape in the .%s file",
			iofs.ErrInvalid, m.Shape, header.Shape, view.Plain().Name(), view.Document.Name())
	}
	if !slices.Equal(header.Shape[1:], m.Shape[1:]) {
		return 0, fmt.Errorf("%w: expected a header of shape (n, %v), found %v", iofs.ErrInvalid,
			m.Shape[1:], header.Shape)
	}
	return header.Shape[0], nil
}

// setRows sets the length of axis 0.
func setRows(ctx context.Context, arr *zarrcore.Array, rows int64) error {
	if len(arr.Meta().Shape) == 0 {
		return nil
	}
	row := rowBytes(arr)
	if rows > (1<<63-1)/max(1, row) {
		return fmt.Errorf("%d rows of %d bytes: %w", rows, row, errno.ErrTooBig)
	}
	return arr.SetSize(ctx, rows*row)
}

// rowBytes returns the bytes of one index of axis 0.
func rowBytes(arr *zarrcore.Array) int64 {
	n := arr.Meta().Type.Size
	for _, dim := range arr.Meta().Shape[1:] {
		n *= dim
	}
	return n
}

// setSize truncates or extends the file.
func (f *npyFile) setSize(ctx context.Context, w *Array, size int64) error {
	f.order.Lock()
	defer f.order.Unlock()
	if awaited := f.awaiting(); awaited != nil {
		return awaited.SetSize(size)
	}
	f.come.Settle()
	head, data, err := f.parts(w.Live())
	if err != nil {
		return err
	}
	if size < head {
		return fmt.Errorf("%w: a .%s file has a header of %d bytes and cannot be truncated to %d",
			iofs.ErrInvalid, f.view.Name(), head, size)
	}
	return data.SetSize(ctx, size-head)
}
