package zarrcore

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	iofs "io/fs"
	"net/url"
	"os"
	"slices"
	"unicode/utf8"
)

// rescueNote says what a file of Rescue has. The bytes outside of the stretches were not written:
// to store them would undo what is stored there.
type rescueNote struct {
	About   string  `json:"about"`
	Store   name    `json:"store"`
	Array   name    `json:"array"`
	Type    string  `json:"type"` // as NumPy has it
	Shape   []int64 `json:"shape"`
	Fortran bool    `json:"fortran"` // the bytes are those of the array with its axes reversed
	Size    int64   `json:"size"`    // of the file, in bytes
	CRC32   uint32  `json:"crc32"`   // of the bytes that count, as zlib has it

	Incomplete string    `json:"incomplete,omitempty"` // why the file has not all that was to be kept
	Stretches  []stretch `json:"stretches"`            // the last member, as write needs it

	most int // so many stretches are merged before there are more
}

// name is one that a store or array has, which may be any bytes. JSON has only text: a name that is
// not UTF-8 is an object, whose member has it escaped as in URLs.
type name string

type escapedName struct {
	Escaped string `json:"escaped"`
}

func (n name) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(n)) {
		return json.Marshal(string(n))
	}
	return json.Marshal(escapedName{url.PathEscape(string(n))})
}

func (n *name) UnmarshalJSON(text []byte) error {
	if text[0] == '"' {
		return json.Unmarshal(text, (*string)(n))
	}
	var escaped escapedName
	if err := json.Unmarshal(text, &escaped); err != nil {
		return err
	}
	plain, err := url.PathUnescape(escaped.Escaped)
	*n = name(plain)
	return err
}

// stretch is an offset and a number of bytes.
type stretch [2]int64

// mergeFrom is from how many stretches on a note merges them, which are then 1 MiB.
const mergeFrom = 64 << 10

// rescueNoteName returns the name of the note of a file.
func rescueNoteName(file string) string { return file + ".json" }

// add notes that bytes count. Those of several chunks may follow each other in the array, though
// they do not come one after the other.
func (n *rescueNote) add(off, bytes int64) {
	if n.extend(off, bytes) {
		return
	}
	if len(n.Stretches) >= max(n.most, mergeFrom) {
		n.merge()
		n.most = 2 * len(n.Stretches)
	}
	n.Stretches = append(n.Stretches, stretch{off, bytes})
}

// extend reports whether the bytes follow the last stretch, and adds them to it.
func (n *rescueNote) extend(off, bytes int64) bool {
	last := len(n.Stretches) - 1
	if last < 0 || n.Stretches[last][0]+n.Stretches[last][1] != off {
		return false
	}
	n.Stretches[last][1] += bytes
	return true
}

// merge sorts the stretches, and joins those that follow each other.
func (n *rescueNote) merge() {
	all := n.Stretches
	slices.SortFunc(all, func(a, b stretch) int { return cmp.Compare(a[0], b[0]) })
	n.Stretches = all[:0] // each one moves down, or stays
	for _, s := range all {
		if !n.extend(s[0], s[1]) {
			n.Stretches = append(n.Stretches, s)
		}
	}
}

// each calls do for the bytes of a file that count, in order and some at a time.
func (n *rescueNote) each(file io.ReaderAt, do func(p []byte, at int64) error) error {
	buf := make([]byte, restoreStep)
	for _, s := range n.Stretches {
		for at, end := s[0], s[0]+s[1]; at < end; {
			p := buf[:min(int64(len(buf)), end-at)]
			if _, err := file.ReadAt(p, at); err != nil {
				return err
			}
			if err := do(p, at); err != nil {
				return err
			}
			at += int64(len(p))
		}
	}
	return nil
}

// restoreStep is how many bytes are read at once.
const restoreStep = 1 << 20

// sum returns the checksum of the bytes of a file that count.
func (n *rescueNote) sum(file io.ReaderAt) (sum uint32, err error) {
	err = n.each(file, func(p []byte, _ int64) error {
		sum = crc32.Update(sum, crc32.IEEETable, p)
		return nil
	})
	return sum, err
}

// write writes the note of a file. The text of many stretches is never in memory as a whole.
func (n *rescueNote) write(note io.Writer) error {
	head := *n
	head.Stretches = []stretch{}
	text, err := json.Marshal(head)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(note)
	w.Write(bytes.TrimSuffix(text, []byte("]}")))
	for i, s := range n.Stretches {
		if i > 0 {
			w.WriteByte(',')
		}
		fmt.Fprintf(w, "[%d,%d]", s[0], s[1])
	}
	w.WriteString("]}\n")
	return w.Flush()
}

// Rescued is a file of Rescue, with what its note says.
type Rescued struct {
	file *os.File
	note rescueNote
}

// OpenRescued opens a file of Rescue. It fails if the note beside it is another file's.
func OpenRescued(name string) (*Rescued, error) {
	text, err := os.ReadFile(rescueNoteName(name))
	if err != nil {
		return nil, fmt.Errorf("the note that says which bytes of the file count: %w", err)
	}
	r := &Rescued{}
	if err := json.Unmarshal(text, &r.note); err != nil {
		return nil, fmt.Errorf("the note %s is not complete: %w", rescueNoteName(name), err)
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
func (r *Rescued) check() error {
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
		err = fmt.Errorf("%w: by its note, expected the checksum %08x, found %08x; %s", iofs.ErrInvalid,
			r.note.CRC32, sum, notAPair)
	}
	return err
}

const notAPair = "the file was changed, or the note is another file's; find the two that belong together"

// Note returns the name of the note beside the file.
func (r *Rescued) Note() string { return rescueNoteName(r.file.Name()) }

// Store returns the name of the store that the bytes belong to.
func (r *Rescued) Store() string { return string(r.note.Store) }

// Array returns the path of their array.
func (r *Rescued) Array() string { return string(r.note.Array) }

// Incomplete returns why the file has not all that was written and not stored; empty: it has all.
func (r *Rescued) Incomplete() string { return r.note.Incomplete }

// Close ends the use of the file.
func (r *Rescued) Close() error { return r.file.Close() }

// Restore writes the bytes to the array at path, and stores them. All others of the array stay. It
// returns how many it has written.
func (h *Hierarchy) Restore(ctx context.Context, r *Rescued, path string) (count int64, err error) {
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
	err = r.note.each(r.file, func(p []byte, at int64) error {
		n, err := a.WriteAt(ctx, p, at)
		count += int64(n)
		return err
	})
	if err != nil {
		return count, err
	}
	return count, a.Flush(ctx, true)
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
