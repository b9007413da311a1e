package zarrcore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"slices"
)

// rescueNote says what a file of Rescue has. The bytes outside of the stretches were not written:
// to store them would undo what is stored there.
type rescueNote struct {
	About     string    `json:"about"`
	Store     string    `json:"store"`
	Array     string    `json:"array"`
	Type      string    `json:"type"` // as NumPy has it
	Shape     []int64   `json:"shape"`
	Fortran   bool      `json:"fortran"` // the bytes are those of the array with its axes reversed
	Stretches []stretch `json:"stretches"`
}

// stretch is an offset and a number of bytes.
type stretch [2]int64

// rescueNoteName returns the name of the note of a file.
func rescueNoteName(file string) string { return file + ".json" }

// add notes that bytes count.
func (n *rescueNote) add(off, bytes int64) {
	if last := len(n.Stretches) - 1; last >= 0 {
		if s := &n.Stretches[last]; s[0]+s[1] == off {
			s[1] += bytes
			return
		}
	}
	n.Stretches = append(n.Stretches, stretch{off, bytes})
}

// write writes the note of a file, and makes it durable.
func (n *rescueNote) write(file string) error {
	all := n.Stretches
	slices.SortFunc(all, func(a, b stretch) int { return cmp.Compare(a[0], b[0]) })
	n.Stretches = nil
	for _, s := range all { // those of several chunks may follow each other
		n.add(s[0], s[1])
	}
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(rescueNoteName(file), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	return errors.Join(err, f.Sync(), f.Close())
}

// Rescued is a file of Rescue, with what its note says.
type Rescued struct {
	file *os.File
	note rescueNote
}

// OpenRescued opens a file of Rescue.
func OpenRescued(name string) (*Rescued, error) {
	text, err := os.ReadFile(rescueNoteName(name))
	if err != nil {
		return nil, fmt.Errorf("the note that says which bytes of the file count: %w", err)
	}
	r := &Rescued{}
	if err := json.Unmarshal(text, &r.note); err != nil {
		return nil, fmt.Errorf("%s: %w", rescueNoteName(name), err)
	}
	r.file, err = os.Open(name)
	return r, err
}

// Store returns the name of the store that the bytes belong to.
func (r *Rescued) Store() string { return r.note.Store }

// Array returns the path of their array.
func (r *Rescued) Array() string { return r.note.Array }

// Close ends the use of the file.
func (r *Rescued) Close() error { return r.file.Close() }

// Restore writes the bytes to the array at path, and stores them. All others of the array stay. It
// returns how many they are.
func (h *Hierarchy) Restore(ctx context.Context, r *Rescued, path string) (bytes int64, err error) {
	a, err := h.OpenArray(ctx, path)
	if err != nil {
		return 0, err
	}
	if r.note.Fortran {
		reversed, ok := a.Transposed()
		if !ok {
			return 0, fmt.Errorf("%w: the file is in Fortran order, and array %q is not", iofs.ErrInvalid, path)
		}
		a = reversed
	}
	if err := r.fits(a); err != nil {
		return 0, fmt.Errorf("array %q: %w", path, err)
	}
	for _, s := range r.note.Stretches {
		if err := r.writeTo(ctx, a, s); err != nil {
			return bytes, err
		}
		bytes += s[1]
	}
	return bytes, a.Flush(ctx, true)
}

// fits returns nil if each byte is still that of the same element. Only axis 0 of an array in C
// order may have changed.
func (r *Rescued) fits(a *Array) error {
	if have := a.meta.Type.Descr(); have != r.note.Type {
		return fmt.Errorf("%w: expected data type %s, found %s", iofs.ErrInvalid, r.note.Type, have)
	}
	have, want := slices.Clone(a.meta.Shape), r.note.Shape
	if !r.note.Fortran && len(have) > 0 && len(want) > 0 {
		have[0] = want[0]
	}
	if !slices.Equal(have, want) {
		return fmt.Errorf("%w: expected shape %v, found %v", iofs.ErrInvalid, want, a.meta.Shape)
	}
	return nil
}

// restoreStep is how many bytes are restored at once.
const restoreStep = 1 << 20

func (r *Rescued) writeTo(ctx context.Context, a *Array, s stretch) error {
	buf := make([]byte, min(s[1], restoreStep))
	for at, end := s[0], s[0]+s[1]; at < end; {
		p := buf[:min(int64(len(buf)), end-at)]
		if _, err := r.file.ReadAt(p, at); err != nil {
			return err
		}
		if _, err := a.WriteAt(ctx, p, at); err != nil {
			return err
		}
		at += int64(len(p))
	}
	return nil
}
