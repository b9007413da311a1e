// Package names says how the nodes of a store are named in a mount, and as files. It asks nothing
// of a store.
//
// A node's name is shown as a directory entry: the name itself wherever that can be one, otherwise
// escaped (Show, Parse). A file of a node has the shown name and a suffix, or a second name where
// something else has the first (File, Second). Paths of nodes in the store are names joined by "/".
package names

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// ControlDir is the folder of the mount's own files, at its root. It resolves but is not
	// listed.
	ControlDir = ".zarrfs"
	// OwnFolder says why ControlDir is not touched.
	OwnFolder = "that is the folder of the mount's own files"
	// MaxEntry is the longest name, in bytes, that a directory entry may have everywhere
	// (NAME_MAX).
	MaxEntry = 255
	// MaxShown is the longest shown name of a node, in bytes.
	MaxShown = MaxEntry - 2 - MaxSuffix
	// MaxSuffix is the longest suffix of a file, in bytes, without the dot before it.
	MaxSuffix = 13
	// secondMark stands before the suffix in a view's second name, "a%.npy". No shown node name
	// contains it.
	secondMark = "%"
	// longMark stands before the hash that replaces the end of a name too long to show.
	longMark = "%~"
	// longHash is how many bytes of the name's SHA-256 such a hash holds.
	longHash = 16
)

// Show returns the directory entry that stands for a node's name. It is the name itself, except for
// bytes that are written %XX: no entry can hold them, or they would upset a terminal. They are '/',
// NUL, control characters, marks of the direction of text, separators of lines and paragraphs, and
// bytes that are not UTF-8. In the names ".", ".." and ".zarrfs" the first byte is written so. The
// empty name is written %_. A '%' is written %25 only where it would otherwise read as one of our
// marks. A name that becomes too long is shortened and ends in its hash: see longName.
func Show(name string) string {
	shown := Escape(name)
	if len(shown) > MaxShown {
		return longName(name, shown)
	}
	return shown
}

// Parse is the reverse of Show: the node's name for a directory entry. It fails on an entry that
// Show does not make, so that every node has one name only. It also fails on a long name, because
// the entry lacks its end, and on one that stands for a path: "g%2Fa" must not become g/a.
func Parse(shown string) (name string, ok bool) {
	if shown == emptyShown {
		return "", true
	}
	name = Unescape(shown)
	return name, Show(name) == shown && !strings.Contains(name, "/")
}

// Unescape replaces each %XX by the byte that it stands for.
func Unescape(shown string) string {
	var b strings.Builder
	for i := 0; i < len(shown); i++ {
		if shown[i] == '%' && i+2 < len(shown) && isHex(shown[i+1]) && isHex(shown[i+2]) {
			b.WriteByte(unhex(shown[i+1])<<4 | unhex(shown[i+2]))
			i += 2
			continue
		}
		b.WriteByte(shown[i])
	}
	return b.String()
}

// IsLong reports whether an entry is a name that was shortened.
func IsLong(shown string) bool { return strings.Contains(shown, longMark) }

// emptyShown stands for the empty name. "%_" is otherwise the name "%_" itself, which is written
// "%25_".
const emptyShown = "%_"

// Escape returns a name as Show does, but never shortened.
func Escape(name string) string {
	if name == "" {
		return emptyShown
	}
	if isPlainName(name) {
		return name
	}
	var b strings.Builder
	for i := 0; i < len(name); {
		r, n := utf8.DecodeRuneInString(name[i:])
		if mustEscape(name, i, r, n) {
			for _, c := range []byte(name[i : i+n]) {
				b.WriteString(escapeByte(c))
			}
		} else {
			b.WriteString(name[i : i+n])
		}
		i += n
	}
	return b.String()
}

// isPlainName is the quick way out for nearly all names: letters, digits and harmless punctuation
// of ASCII.
func isPlainName(name string) bool {
	for i := 0; i < len(name); i++ {
		c := name[i]
		if c <= ' ' || c >= 0x7f || c == '/' || c == '%' || c == '.' && i == 0 {
			return false
		}
	}
	return true
}

func mustEscape(name string, i int, r rune, n int) bool {
	switch {
	case r == '/' || unicode.IsControl(r) ||
		unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp):
		return true
	case r == utf8.RuneError && n == 1:
		return true
	case r == '.':
		return i == 0 && (name == "." || name == ".." || name == ControlDir)
	case r == '%':
		return hasAmbiguousPercent(name[i+1:])
	}
	return false
}

// hasAmbiguousPercent reports whether a '%' before rest would read as an escape or a mark: before
// two hex digits (or before what may become them: an escaped byte follows only as '%', never as a
// digit), before '.', '~' or '_', and at the end, where a suffix follows.
func hasAmbiguousPercent(rest string) bool {
	if rest == "" || rest[0] == '.' || rest[0] == '~' || rest[0] == '_' {
		return true
	}
	return len(rest) >= 2 && isHex(rest[0]) && isHex(rest[1])
}

func escapeByte(c byte) string {
	const digits = "0123456789ABCDEF"
	return string([]byte{'%', digits[c>>4], digits[c&15]})
}

// longName shortens a shown name and ends it in the hash of the whole name. It can be found again
// only among the group's children; the xattr user.zarr.path ends in the true name.
func longName(name, shown string) string {
	sum := sha256.Sum256([]byte(name))
	keep := MaxShown - len(longMark) - 2*longHash
	cut := shown[:keep]
	if i := strings.LastIndexByte(cut, '%'); i >= keep-2 { // do not cut through an escape
		cut = cut[:i]
	}
	for len(cut) > 0 && !utf8.ValidString(cut) { // nor through a character
		cut = cut[:len(cut)-1]
	}
	return cut + longMark + hex.EncodeToString(sum[:longHash])
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'F' || 'a' <= c && c <= 'f'
}

func unhex(c byte) byte {
	switch {
	case c <= '9':
		return c - '0'
	case c <= 'F':
		return c - 'A' + 10
	}
	return c - 'a' + 10
}

// File returns the first name of a file of the node that is shown as shown.
func File(shown, suffix string) string {
	if strings.HasPrefix(suffix, partOpen) {
		return shown + suffix
	}
	return shown + "." + suffix
}

// The marks around an expression that names a part of an array: "a@{t=3}.npy".
const (
	partOpen  = "@{"
	partClose = "}"
)

// SuffixOfPart returns the suffix of a file of a part of an array, which has no dot before it.
func SuffixOfPart(expression, suffix string) string {
	return partOpen + expression + partClose + "." + suffix
}

// CutPart divides a name without its suffix into the shown name of an array and an expression. ok
// reports whether it has both.
func CutPart(base string) (shown, expression string, ok bool) {
	rest, ok := strings.CutSuffix(base, partClose)
	at := strings.LastIndex(rest, partOpen)
	if !ok || at < 0 {
		return "", "", false
	}
	return rest[:at], rest[at+len(partOpen):], true
}

// Second returns the second name of such a file, for where something else has the first.
func Second(shown, suffix string) string { return shown + secondMark + "." + suffix }

// OfSecond returns the shown name of the node in a file's second name without its suffix, and
// whether it is one.
func OfSecond(base string) (shown string, second bool) {
	return strings.CutSuffix(base, secondMark)
}
