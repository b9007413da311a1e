package material

import (
	"errors"
	"io"

	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// Outdate ends the use of those files of the array at path that have no readers, because programs
// write to the array. The others are followed.
func (t *Files) Outdate(path string) { t.at(path, (*array).outdate) }

// followers returns the files of the array at path that programs still read, each with one user
// more.
func (t *Files) followers(path string) (ms []*File) {
	t.at(path, func(a *array) { ms = a.followers() })
	return ms
}

// follows reports whether programs still read a file of the array at path that is followed.
func (t *Files) follows(path string) (any bool) {
	t.at(path, func(a *array) { any = len(a.followed) > 0 })
	return any
}

// Rewrite writes all of the array at path to the files that are followed. The array was changed as
// a whole. Outdate was called before the change. Files that came since then are outdated too.
func (t *Files) Rewrite(path string) {
	t.Outdate(path)
	if !t.follows(path) {
		return
	}
	arr, err := t.arrays.OpenArray(t.ctx, path)
	if err != nil {
		t.o.Log.To.Error("programs that have the file open see outdated bytes until they open it "+
			"again", "path", path, "err", err)
		return
	}
	t.Follow(path, arr.Live(), view.Everything, true)
}

// Follow writes a changed stretch of the array at path to the files that are followed.
func (t *Files) Follow(path string, arr *zarrcore.Array, s view.Stretch, resized bool) {
	for _, m := range t.followers(path) {
		if err := m.follow(arr, s, resized); err != nil {
			t.o.Log.To.Error("programs that have the file open see outdated bytes", "path", path,
				"view", m.view.Name(), "err", err)
		}
		m.Leave()
	}
}

func (m *File) follow(arr *zarrcore.Array, s view.Stretch, resized bool) error {
	v, ok := m.view.(view.ArrayView)
	if !ok || arr == nil {
		return errors.ErrUnsupported
	}
	m.following.Lock()
	defer m.following.Unlock()
	c, err := view.NewFlat(v, arr)
	if err != nil {
		return err
	}
	defer c.Close()
	size := c.Size()
	if resized {
		if err := m.file.Truncate(size); err != nil {
			return err
		}
	}
	e, err := view.ExtentOf(v, arr)
	if err != nil {
		return err
	}
	s, head := s.In(e), e.Head
	off, end := head+s.Off, head+s.Off+s.N
	if s == view.Everything || resized && head > 0 {
		if err := m.copyStretch(c, 0, head); err != nil {
			return err
		}
	}
	if s.N < 0 {
		end = size
	}
	return m.copyStretch(c, off, min(end, size))
}

// copyStretch writes bytes [off, end) of c to the same place of the file.
func (m *File) copyStretch(c *view.Flat, off, end int64) error {
	for ; off < end; off += pieceSize {
		err := writePiece(m.table.ctx, m.file, c, off, min(pieceSize, end-off))
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return nil // truncated meanwhile; the truncation updates this file itself
		}
		if err != nil {
			return err
		}
	}
	return nil
}
