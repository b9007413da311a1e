package rescue

import (
	"encoding/json"
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"slices"

	"github.com/zarrfs/zarrfs/zarrcore/meta"
)

// A File has what was written to an array and could not be stored, and what its note says.
type File struct {
	file *os.File
	note note
}

// Open opens a file that Write has made. It fails if the note beside it is another file's.
func Open(name string) (*File, error) {
	text, err := os.ReadFile(noteName(name))
	if err != nil {
		return nil, fmt.Errorf("the note that says which bytes of the file count: %w", err)
	}
	r := &File{}
	if err := json.Unmarshal(text, &r.note); err != nil {
		return nil, fmt.Errorf("the note %s is not complete: %w", noteName(name), err)
	}
	if r.file, err = os.Open(name); err != nil {
		return nil, err
	}
	if err := r.check(); err != nil {
		return nil, errors.Join(err, r.file.Close())
	}
	return r, nil
}

// check returns nil if the note is that of the file. Otherwise, zeros could be stored over what is
// good.
func (r *File) check() error {
	info, err := r.file.Stat()
	if err != nil {
		return err
	}
	if info.Size() != r.note.Size {
		return fmt.Errorf("%w: by its note, expected %d bytes, found %d; %s", iofs.ErrInvalid,
			r.note.Size, info.Size(), notAPair)
	}
	sum, err := r.note.sum(r.file)
	if err == nil && sum != r.note.CRC32 {
		err = fmt.Errorf("%w: by its note, expected the checksum %08x, found %08x; %s",
			iofs.ErrInvalid,
			r.note.CRC32, sum, notAPair)
	}
	return err
}

const notAPair = "the file was changed, or the note is another file's; find the two that belong " +
	"together"

// Note returns the name of the note beside the file.
func (r *File) Note() string { return noteName(r.file.Name()) }

// Store returns the name of the store that the bytes belong to.
func (r *File) Store() string { return string(r.note.Store) }

// Array returns the path of their array.
func (r *File) Array() string { return string(r.note.Array) }

// Incomplete returns why the file has not all that was written and not stored; empty: it has all.
func (r *File) Incomplete() string { return r.note.Incomplete }

// IsFortran reports whether the bytes are those of the array with its axes reversed.
func (r *File) IsFortran() bool { return r.note.Fortran }

// Each calls do for the bytes that count, in order and some at a time.
func (r *File) Each(do func(p []byte, at int64) error) error { return r.note.each(r.file, do) }

// Close ends the use of the file.
func (r *File) Close() error { return r.file.Close() }

// Fits returns nil if each byte is still that of the same element of an array that m describes.
// Only axis 0 of an array in C order may have changed.
func (r *File) Fits(m *meta.Array) error {
	if have := m.Type.Descr(); have != r.note.Type {
		return fmt.Errorf("%w: expected data type %s, found %s", iofs.ErrInvalid, r.note.Type, have)
	}
	have, want := slices.Clone(m.Shape), r.note.Shape
	if !r.note.Fortran && len(have) > 0 && len(want) > 0 {
		have[0] = want[0]
	}
	if !slices.Equal(have, want) {
		return fmt.Errorf("%w: expected shape %v, found %v", iofs.ErrInvalid, want, m.Shape)
	}
	return nil
}
