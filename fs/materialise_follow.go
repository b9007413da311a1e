package fs

import (
	"errors"
	"io"
	"slices"

	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// A materialised file that programs have open is read past the daemon, so nothing can make them
// read another file. Therefore, while its array is written to, each change is written to the file
// too. Later opens do not get that file.

// written ends the use of those materialised files of an array that have no readers, because
// programs write to the array.
func (t *materials) written(path string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, v := range view.All() {
		m := t.files[fileKey{path, v.Name()}]
		if m == nil {
			continue
		}
		t.drop(m)
		if m.ready && m.users > 0 {
			t.followed = append(t.followed, m)
		}
	}
}

// followers returns the materialised files of the array at path that programs still read, each with
// one more user.
func (t *materials) followers(path string) (ms []*material) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range t.followed {
		if m.key.path == path {
			m.users++
			ms = append(ms, m)
		}
	}
	return ms
}

// follows reports whether programs still read a materialised file of the array at path.
func (t *materials) follows(path string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.ContainsFunc(t.followed, func(m *material) bool { return m.key.path == path })
}

// unfollow forgets a file that nobody reads any more. The caller holds mu.
func (t *materials) unfollow(m *material) {
	t.followed = slices.DeleteFunc(t.followed, func(other *material) bool { return other == m })
}

// move follows a rename. A file that is not read now is materialised again.
func (t *materials) move(from, to string) {
	for _, path := range t.under(from) {
		t.written(path)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range t.followed {
		if names.IsUnder(m.key.path, from) {
			m.key.path = names.Moved(m.key.path, from, to)
		}
	}
}

// gone notes that the array at path was removed. Its readers keep the old bytes; a successor of
// that name is not shown to them.
func (t *materials) gone(path string) {
	for _, path := range t.under(path) {
		t.written(path)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.followed = slices.DeleteFunc(t.followed, func(m *material) bool { return names.IsUnder(m.key.path, path) })
}

// under returns the arrays at path or below it that have materialised files which may be opened.
func (t *materials) under(path string) (paths []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key := range t.files {
		if names.IsUnder(key.path, path) {
			paths = append(paths, key.path)
		}
	}
	return paths
}

// rewritten writes all of the array at path, which was changed as a whole, to its materialised
// files. written was called before the change. Files that came since then are outdated too.
func (t *materials) rewritten(path string) {
	t.written(path)
	if !t.follows(path) {
		return
	}
	arr, err := t.f.h.OpenArray(t.f.ctx, path)
	if err != nil {
		t.f.log.Error("programs that have the file open see outdated bytes", "path", path, "err", err)
		return
	}
	t.follow(path, arr.Live(), view.Everything, true)
}

// follow writes a stretch that programs have changed to the materialised files of the array, unless
// another is in its place.
func (w *writing) follow(s view.Stretch, resized bool) {
	if path := w.path(); w.fs.writings.find(path) == w {
		w.fs.material.follow(path, w.array(), s, resized)
	}
}

// follow writes a stretch of an array that has changed to its materialised files.
func (t *materials) follow(path string, arr *zarrcore.Array, s view.Stretch, resized bool) {
	for _, m := range t.followers(path) {
		if err := m.follow(arr, s, resized); err != nil {
			t.f.log.Error("programs that have the file open see outdated bytes", "path", path, "view", m.key.view, "err", err)
		}
		t.leave(m)
	}
}

func (m *material) follow(arr *zarrcore.Array, s view.Stretch, resized bool) error {
	v, ok := view.Named(m.key.view).(view.ArrayView)
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
func (m *material) copyStretch(c *view.Flat, off, end int64) error {
	for ; off < end; off += maxRequest {
		err := writePiece(m.table.f.ctx, m.file, c, off, min(maxRequest, end-off))
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return nil // truncated meanwhile; the truncation updates this file itself
		}
		if err != nil {
			return err
		}
	}
	return nil
}
