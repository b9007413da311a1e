package fs

import (
	"errors"
	"io"
	"os"
)

// A materialised file that programs have open is read past the daemon, so nothing can make them read anything else. While
// its array is written to, what changes is therefore written to the file too. No further open is given it.

// written ends the use of the materialised files of an array that programs write to, as far as they have no readers.
func (t *materials) written(path string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, v := range views {
		m := t.files[fileKey{path, v.name()}]
		if m == nil {
			continue
		}
		t.drop(m)
		if m.ready && m.users > 0 {
			t.followed = append(t.followed, m)
		}
	}
}

// followers returns the materialised files of the array at path that programs still read, each with one user more.
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

// unfollow forgets a file that nobody reads any more. The caller holds mu.
func (t *materials) unfollow(m *material) {
	for i, other := range t.followed {
		if other == m {
			t.followed = append(t.followed[:i], t.followed[i+1:]...)
			return
		}
	}
}

// follow writes a stretch of an array that has changed to its materialised files.
func (t *materials) follow(w *writing, s stretch, resized bool) {
	for _, m := range t.followers(w.path()) {
		if err := m.follow(w, s, resized); err != nil {
			t.f.log.Error("programs that have the file open see outdated bytes", "path", w.path(), "view", m.key.view, "err", err)
		}
		t.leave(m)
	}
}

func (m *material) follow(w *writing, s stretch, resized bool) error {
	v, ok := viewNamed(m.key.view).(arrayView)
	arr := w.array()
	if !ok || arr == nil {
		return errors.ErrUnsupported
	}
	m.following.Lock()
	defer m.following.Unlock()
	c, err := newFlat(v, arr)
	if err != nil {
		return err
	}
	defer c.close()
	size := c.size()
	if resized {
		if err := m.file.Truncate(size); err != nil {
			return err
		}
	}
	e := newExtent(arr, c.now.head, c.now.data)
	s, head := s.in(e), e.head
	off, end := head+s.off, head+s.off+s.n
	if s == everything || resized && head > 0 {
		if err := copyStretch(w, m.file, c, 0, head); err != nil {
			return err
		}
	}
	if s.n < 0 {
		end = size
	}
	return copyStretch(w, m.file, c, off, min(end, size))
}

// copyStretch writes bytes [off, end) of c to the same place of file.
func copyStretch(w *writing, file *os.File, c *flat, off, end int64) error {
	for ; off < end; off += maxRequest {
		err := writePiece(w.fs.ctx, file, c, off, min(maxRequest, end-off))
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return nil // cut meanwhile, which is written by whoever cut it
		}
		if err != nil {
			return err
		}
	}
	return nil
}
