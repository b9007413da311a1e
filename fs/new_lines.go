package fs

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"syscall"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// A new file NAME.jsonl is a transient until it is closed. Then its lines, if they are strings, become an array of strings. Other lines
// say nothing of their array: they wait for its document if their writer copies a tree, and else are refused and gone.

// linesOf returns the path of the array whose lines a file in that place is, or would be.
func (f *filesystem) linesOf(at spot) (path string, ok bool) {
	path, v, isView := f.viewPath(at.dir, at.name)
	return path, isView && v == view(jsonlView{})
}

// createStrings creates an array of strings of any length.
func (f *filesystem) createStrings(ctx context.Context, path string, shape []int64) error {
	t, err := dtype.ParseV3(pyjson.StringOf("string"))
	if err == nil {
		err = f.h.CreateEmpty(ctx, path, shape, t, false)
	}
	return refused(err)
}

// newLines makes the bytes of a transient the lines of the array at path. If there is none they become one of strings.
func (f *filesystem) newLines(ctx context.Context, x *transient, path string) error {
	n, err := f.h.Node(ctx, path)
	switch {
	case errors.Is(err, iofs.ErrNotExist):
		if err := f.createStrings(ctx, path, []int64{0}); err != nil {
			return err
		}
		if err := f.becomeLines(ctx, x, path); err != nil {
			return errors.Join(err, f.h.Remove(ctx, path))
		}
		return nil
	case err != nil:
		return err
	case n.Kind != zarrcore.ArrayNode:
		return fmt.Errorf("%w: %s is a %s", iofs.ErrExist, path, n.Kind)
	case n.Err == nil && !zarrcore.IsVlen(n.Meta):
		return fmt.Errorf("%w: the elements of %s have a fixed size, so that it has no lines", iofs.ErrInvalid, path)
	}
	return f.becomeLines(ctx, x, path)
}

// linesWait tells whether lines that a program brings may have to wait for their array's document, because it copies a tree: it has made
// their group, or the array by another view.
func (f *filesystem) linesWait(path string, by process) bool {
	dir, _ := splitPath(path)
	return f.traces.of(path).unfinished(by) || f.traces.of(dir).madeBy(by)
}

// mayHaveLines returns why a program cannot make NAME.jsonl where there is something called NAME, which has no such view.
func (f *filesystem) mayHaveLines(ctx context.Context, path string, by process) error {
	n, err := f.h.Node(ctx, path)
	switch {
	case errors.Is(err, iofs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case n.Kind != zarrcore.ArrayNode:
		return fmt.Errorf("%w: %s is a %s", iofs.ErrExist, path, n.Kind)
	case f.linesWait(path, by):
		return nil
	}
	return fmt.Errorf("%w: %s has no view .jsonl: its elements have a fixed size", iofs.ErrInvalid, path)
}

// takeLines makes the file, if it is new lines, an array. One that was made so by an earlier close, as of a child of its writer, is
// written again.
func (h *transientHandle) takeLines(op string) syscall.Errno {
	f, x := h.node.fs, h.node.data
	x.taking.Lock()
	defer x.taking.Unlock()
	path, ok := x.became, x.became != ""
	if !ok && !h.node.place.gone.Load() {
		path, ok = f.linesOf(*x.where.Load())
	}
	if !ok || !x.written.Swap(false) || x.size() == 0 {
		return 0
	}
	err := f.newLines(f.ctx, x, path)
	if err == nil {
		x.unfit.Store(false)
		if x.became == "" {
			x.became = path
			f.end(x)
			f.born(path, jsonlView{}, h.by)
		}
		f.changedAt(path)
		return 0
	}
	if x.became == "" && f.linesWait(path, h.by) && errnoOf(err) == syscall.EINVAL {
		return 0
	}
	x.written.Store(true)
	x.refused.Store(&err)
	x.unfit.Store(isRefused(err) || errors.Is(err, iofs.ErrExist))
	return f.errors.errno(op, path+".jsonl", err)
}
