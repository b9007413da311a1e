package rescue

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"net/url"
	"slices"
	"unicode/utf8"
)

// A note says what the file beside it has. The bytes outside of the stretches were not written:
// to store them would undo what is stored there.
type note struct {
	About   string  `json:"about"`
	Store   name    `json:"store"`
	Array   name    `json:"array"`
	Type    string  `json:"type"` // as NumPy has it
	Shape   []int64 `json:"shape"`
	Fortran bool    `json:"fortran"` // the bytes are those of the array with its axes reversed
	Size    int64   `json:"size"`    // of the file, in bytes
	CRC32   uint32  `json:"crc32"`   // of the bytes that count, as zlib has it

	// why the file has not all that was to be kept
	Incomplete string    `json:"incomplete,omitempty"`
	Stretches  []stretch `json:"stretches"` // the last member, as write needs it

	most int // so many stretches are merged before there are more
}

// name is the name of a store or an array, and may be any bytes. JSON has only text. So a name that
// is not UTF-8 is written as an object: its member is the name, escaped as in URLs.
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

// noteName returns the name of the note of a file.
func noteName(file string) string { return file + ".json" }

// add notes that bytes count. Those of several chunks may follow each other in the array, though
// they do not come one after the other.
func (n *note) add(off, bytes int64) {
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
func (n *note) extend(off, bytes int64) bool {
	last := len(n.Stretches) - 1
	if last < 0 || n.Stretches[last][0]+n.Stretches[last][1] != off {
		return false
	}
	n.Stretches[last][1] += bytes
	return true
}

// merge sorts the stretches, and joins those that follow each other.
func (n *note) merge() {
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
func (n *note) each(file io.ReaderAt, do func(p []byte, at int64) error) error {
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
func (n *note) sum(file io.ReaderAt) (sum uint32, err error) {
	err = n.each(file, func(p []byte, _ int64) error {
		sum = crc32.Update(sum, crc32.IEEETable, p)
		return nil
	})
	return sum, err
}

// write writes the note of a file. The text of many stretches is never in memory as a whole.
func (n *note) write(to io.Writer) error {
	head := *n
	head.Stretches = []stretch{}
	text, err := json.Marshal(head)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(to)
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
