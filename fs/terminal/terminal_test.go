package terminal

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"testing/iotest"
	"unicode"
	"unicode/utf8"
)

// Hostile is text with all that a terminal must not meet.
const hostile = "a\x1b[31m\n\r\tb\x7f\u0085\u009b\u202e\u2066\u200f\u2028\U000e0041\xff\xc3"

func TestEscapes(t *testing.T) {
	for _, tc := range []struct{ got, want string }{
		{Line(hostile),
			`a\x1b[31m\n\r\tb\x7f\u0085\u009b\u202e\u2066\u200f\u2028\U000e0041\xff\xc3`},
		{Text("a\n\tb\x1b"), "a\n\tb" + `\x1b`},
		{Line("größe 温度 🌡 °C"), "größe 温度 🌡 °C"},
		{JSON("{\"a\":\n\"\x7f\U000e0041\xff\"}"), "{\"a\":\n" + `"\u007f\udb40\udc41\ufffd"}`},
	} {
		if tc.got != tc.want {
			t.Errorf("got %q, want %q", tc.got, tc.want)
		}
	}
}

// FuzzTerminal: no text gets through with a character that is not plain, what is plain is
// unchanged, and JSON keeps its meaning. A writer does the same, however its text is cut.
func FuzzTerminal(f *testing.F) {
	f.Add(hostile)
	f.Add("größe")
	f.Fuzz(func(t *testing.T, s string) {
		line := Line(s)
		if !utf8.ValidString(line) || strings.ContainsFunc(line, func(r rune) bool {
			return unicode.IsControl(r) || unicode.Is(unicode.Cf, r)
		}) {
			t.Fatalf("%q became %q", s, line)
		}
		if strings.ContainsFunc(s, func(r rune) bool {
			return !unicode.IsPrint(r)
		}) == false && utf8.ValidString(s) && line != s {
			t.Fatalf("%q became %q", s, line)
		}
		var out bytes.Buffer
		w := NewWriter(&out)
		for _, b := range []byte(s) {
			w.Write([]byte{b})
		}
		if whole := s[:len(s)-cut([]byte(s))]; out.String() != Text(whole) {
			t.Fatalf("%q was written as %q, want %q", s, out.String(), Text(whole))
		}
		doc, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var again, before string
		if err := json.Unmarshal([]byte(JSON(string(doc))), &again); err != nil {
			t.Fatal(err)
		}
		if json.Unmarshal(doc, &before); again != before {
			t.Fatalf("%q became %q", before, again)
		}
	})
}

func TestWriterPassesErrorsOn(t *testing.T) {
	if _, err := NewWriter(iotest.TruncateWriter(failing{}, 0)).Write([]byte("a")); err != nil {
		t.Errorf("a writer that takes all fails: %v", err)
	}
	if _, err := NewWriter(failing{}).Write([]byte("a")); err == nil {
		t.Error("an error is lost")
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, bytes.ErrTooLarge }
