package names

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestShowName(t *testing.T) {
	for _, tc := range []struct{ name, shown string }{
		{"temperature", "temperature"},
		{"sea ice (%)", "sea ice (%)"},
		{"50% quantile", "50% quantile"},
		{"größe", "größe"},
		{"a.npy", "a.npy"},
		{".hidden", ".hidden"},
		{"...", "..."},
		{"", "%_"},
		{"%_", "%25_"},
		{".", "%2E"},
		{"..", "%2E."},
		{".zarrfs", "%2Ezarrfs"},
		{"a\x00b", "a%00b"},
		{"a\nb\x1b[31m", "a%0Ab%1B[31m"},
		{"gnp\u202eyrt", "gnp%E2%80%AEyrt"}, // which a terminal would show as "gnptry"
		{"a\u2028b", "a%E2%80%A8b"},
		// text from right to left needs no marks
		{"\u05e9\u05dc\u05d5\u05dd", "\u05e9\u05dc\u05d5\u05dd"},
		{"\u0085", "%C2%85"},
		{"a\xffb", "a%FFb"},
		{"\xed\xa0\x80", "%ED%A0%80"},
		{"\ufffd", "\ufffd"},
		{"100%", "100%25"},
		{"a%2Fb", "a%252Fb"},
		{"a%zz", "a%zz"},
		{"a%.npy", "a%25.npy"},
		{"a%~b", "a%25~b"},
		{"%%2F", "%%252F"},
		{"%\x012", "%%012"},
	} {
		if got := Show(tc.name); got != tc.shown {
			t.Errorf("Show(%q) = %q, want %q", tc.name, got, tc.shown)
		}
		if got, ok := Parse(tc.shown); got != tc.name || !ok {
			t.Errorf("Parse(%q) = %q, %v, want %q", tc.shown, got, ok, tc.name)
		}
	}
	// no node has such a name, and no entry stands for a path
	if got := Show("a/b"); got != "a%2Fb" {
		t.Errorf("Show of a path = %q", got)
	}
}

func TestParseRefusesAliases(t *testing.T) {
	for _, shown := range []string{"%41", "a%2Fb", "%2F", "%2E%2E%2F", "a%2fb", "", ".", "..",
		".zarrfs", "a/b", "a\x00b", "100%", "a%.npy", "\xff"} {
		if name, ok := Parse(shown); ok {
			t.Errorf("Parse(%q) = %q, want a refusal", shown, name)
		}
	}
}

func TestLongNames(t *testing.T) {
	a, b := strings.Repeat("é", 300)+"a", strings.Repeat("é", 300)+"b"
	if Show(a) == Show(b) {
		t.Errorf("two long names are shown as one: %q", Show(a))
	}
	for _, name := range []string{a, strings.Repeat("x", 241), strings.Repeat("\x01", 100),
		strings.Repeat("x", 206) + strings.Repeat("\n", 12)} {
		shown := Show(name)
		if len(shown) > MaxShown || !IsLong(shown) || !utf8.ValidString(shown) {
			t.Errorf("Show(%q) = %q (%d bytes)", name, shown, len(shown))
		}
	}
	if shown := Show(strings.Repeat("x", 240)); IsLong(shown) {
		t.Errorf("a name of 240 bytes is cut: %q", shown)
	}
}

func FuzzNames(f *testing.F) {
	for _, s := range []string{"", ".", "..", "a/b", "a%2Fb", "100%", "%_", "%~", "%.", "\xff\xfe",
		"a\x00", "%\x01F", strings.Repeat("%", 200)} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		shown := Show(a)
		if shown == "" || shown == "." || shown == ".." || shown == ControlDir ||
			len(shown) > MaxShown ||
			strings.ContainsAny(shown, "/\x00\n\x1b") || !utf8.ValidString(shown) ||
			strings.Contains(shown, secondMark+".") {
			t.Fatalf("Show(%q) = %q, which no entry may be", a, shown)
		}
		isPath := strings.Contains(a, "/")
		if back, ok := Parse(shown); !IsLong(shown) && (back != a || ok == isPath) {
			t.Fatalf("%q is shown as %q, which is %q, %v", a, shown, back, ok)
		}
		if a != b && shown == Show(b) {
			t.Fatalf("%q and %q are both shown as %q", a, b, shown)
		}
		if name, ok := Parse(b); ok && Show(name) != b {
			t.Fatalf("Parse(%q) = %q, which is shown as %q", b, name, Show(name))
		}
	})
}
