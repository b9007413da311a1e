package input

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
)

// MostText is how long the text of a written document may be, in bytes.
const MostText = 64 << 20

// Text is the text of a document while programs write it.
type Text struct {
	judge func(beginning []byte) error

	// changed is the size of the text if programs have changed it since it was applied, otherwise
	// unchanged. It is read without mu, for which stat would wait as long as the text is applied.
	changed atomic.Int64

	mu      sync.Mutex // held while the text is applied, too
	text    []byte
	due     bool   // written since the last attempt to apply it
	version string // of the stored document when the text was read or applied
	cut     bool   // a program has truncated it to nothing, and nothing was written since
	jumped  bool   // a write did not begin where the one before it had ended
	parsed  int    // how many bytes were judged while the text was written
	refused error  // why the text was not taken; it stands until it is truncated to nothing

	refusedText []byte // what refused WRITEs would have put behind it
	kept        bool   // as it is now; see KeepRefused
}

// unchanged stands for the size of a text that is as it was stored.
const unchanged = -1

// NewText returns the text of a document that programs begin to write. judge returns why no text
// with that beginning can become a document, nil if one can.
func NewText(text []byte, judge func(beginning []byte) error) *Text {
	t := &Text{text: text, judge: judge}
	t.changed.Store(unchanged)
	return t
}

// Look calls see with the text, which it must not change.
func (t *Text) Look(see func(text []byte)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	see(t.text)
}

// Begin notes that the text is that of a stored document, which has this version.
func (t *Text) Begin(version string) { t.version = version }

// SetWritten notes that a program has written the text as it is. The caller holds mu, or is the
// only user of the text.
func (t *Text) SetWritten() { t.changed.Store(int64(len(t.text))) }

// isWritten reports whether a program has written the text since it was applied.
func (t *Text) isWritten() bool { return t.changed.Load() != unchanged }

// Refresh makes the text that of the stored document, unless a program has changed the text. A text
// that equals what was stored by this mount may be spelled in another way, and stays.
func (t *Text) Refresh(stored func() (text []byte, version string, err error)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.isWritten() || t.refused != nil {
		return
	}
	text, version, err := stored()
	if err == nil && (version == "" || version != t.version) {
		t.text, t.version = slices.Clone(text), version
	}
}

// Apply calls take to make the document what the text says. take returns the version of the
// document that is stored then. An empty text has no effect yet: shells close a duplicate of the
// file before they write.
func (t *Text) Apply(take func(text []byte) (version string, err error)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.due = false
	if t.refused != nil {
		return t.refused
	}
	if !t.isWritten() || len(t.text) == 0 {
		return nil
	}
	version, err := take(t.text)
	if err == nil {
		t.changed.Store(unchanged)
		t.version = version
	}
	return err
}

// ChangedSize returns the size of the text if programs have changed it. It waits for nothing.
func (t *Text) ChangedSize() (size int64, changed bool) {
	size = t.changed.Load()
	return size, size != unchanged
}

// Offered returns how many bytes programs have written, also those that were refused.
func (t *Text) Offered() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.text) + len(t.refusedText)
}

// IsDue reports whether the text was written since the last attempt to apply it.
func (t *Text) IsDue() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.due
}

// IsRefused reports whether a written text could not be taken.
func (t *Text) IsRefused() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.refused != nil || t.isWritten() && len(t.text) > 0
}

// IsEmptied reports whether the text is empty because it was changed, and whether a program has
// truncated it.
func (t *Text) IsEmptied() (emptied, cut bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	emptied = t.isWritten() && len(t.text) == 0 && t.refused == nil
	return emptied, emptied && t.cut
}

// Write writes p at off. A gap in front of it is zero bytes, as in any file.
func (t *Text) Write(p []byte, off int64, atEnd bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.refused != nil {
		t.refuse(p)
		return t.refused
	}
	if atEnd {
		off = int64(len(t.text))
	}
	t.jumped = t.jumped || off != int64(len(t.text))
	if t.refused = t.refuses(p); t.refused != nil {
		t.due = true
		t.refuse(p)
		return t.refused
	}
	if err := t.resize(max(int64(len(t.text)), off+int64(len(p)))); err != nil {
		return err
	}
	copy(t.text[off:], p)
	return nil
}

// parsedFreely is how many bytes are judged of a text while it is written, beyond eight times its
// length. So writing a long text in small pieces takes no time that grows with its square.
const parsedFreely = 16 << 20

// refuses returns why the text cannot become a document, whatever comes behind p. Shells do not
// look at the error of close. What is written in another order is judged when it is applied.
func (t *Text) refuses(p []byte) error {
	size := len(t.text) + len(p)
	if t.jumped || size > MostText || t.parsed+size > parsedFreely+8*size {
		return nil
	}
	t.parsed += size
	return t.judge(slices.Concat(t.text, p))
}

// refuse notes what a refused WRITE has brought, but only once if the program tries again. After a
// refused WRITE, bsdtar extends the file by a zero byte, which no text has.
func (t *Text) refuse(p []byte) {
	tries := bytes.HasSuffix(t.refusedText, p)
	extends := len(bytes.Trim(p, "\x00")) == 0
	if !tries && !extends && len(t.text)+len(t.refusedText)+len(p) <= MostText {
		t.refusedText, t.kept = append(t.refusedText, p...), false
	}
}

// KeepRefused keeps the text by keep, with what a refused WRITE has brought, unless it is kept.
func (t *Text) KeepRefused(keep func(text []byte) error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := slices.Concat(t.text, t.refusedText)
	if t.kept || len(text) == 0 {
		return nil
	}
	err := keep(text)
	t.kept = err == nil
	return err
}

// IsKept reports whether the text is kept beyond the last close.
func (t *Text) IsKept() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.kept
}

// SetSize truncates or extends the text. A refused text can only be truncated to nothing.
func (t *Text) SetSize(size int64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.refused != nil && size > 0 {
		return t.refused
	}
	return t.resize(size)
}

// NoteCut notes whether a program has truncated the text to nothing.
func (t *Text) NoteCut(cut bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cut = cut
}

// TextTooLong says that a document cannot have that many bytes.
func TextTooLong(size int64) error {
	return fmt.Errorf("%w: a document of %d bytes, expected at most %d",
		syscall.EFBIG, size, MostText)
}

// resize truncates or extends the text. The caller holds mu.
func (t *Text) resize(size int64) error {
	if size < 0 || size > MostText {
		return TextTooLong(size)
	}
	if n := int64(len(t.text)); size > n {
		t.text = append(t.text, make([]byte, size-n)...)
	}
	t.text = t.text[:size]
	t.SetWritten()
	t.due, t.kept, t.cut = true, false, false
	if size == 0 {
		t.jumped, t.parsed, t.refused, t.refusedText = false, 0, nil, nil
	}
	return nil
}
