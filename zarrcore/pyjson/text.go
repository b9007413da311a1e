package pyjson

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Text returns a string's decoded text, "" if v is not a string. It is valid UTF-8: what cannot be
// said in UTF-8, half of a surrogate pair or a stray byte, becomes U+FFFD, as with encoding/json.
func (v Value) Text() string {
	if v.Kind() != String {
		return ""
	}
	return text(v.raw)
}

// text decodes a string given with its quotes.
func text(raw []byte) string {
	inner := raw[1 : len(raw)-1]
	if bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner)
	}
	return string(replaceInvalid(unescape(inner, false)))
}

// sameText reports whether a string given with its quotes decodes to want.
func sameText(raw []byte, want string) bool {
	inner := raw[1 : len(raw)-1]
	if bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner) == want
	}
	return text(raw) == want
}

// replaceInvalid replaces each byte that is not a part of valid UTF-8 by U+FFFD.
func replaceInvalid(b []byte) []byte {
	if utf8.Valid(b) {
		return b
	}
	out := make([]byte, 0, len(b)+16)
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		out = utf8.AppendRune(out, r)
		b = b[n:]
	}
	return out
}

// unescape resolves the escape sequences of a validated string's inside. Half of a surrogate pair
// becomes U+FFFD or, if halves is set, the three bytes that UTF-8's scheme would give it.
func unescape(s []byte, halves bool) []byte {
	out := make([]byte, 0, len(s))
	for len(s) > 0 {
		if s[0] != '\\' {
			out = append(out, s[0])
			s = s[1:]
			continue
		}
		if s[1] != 'u' {
			out = append(out, unescapeShort(s[1]))
			s = s[2:]
			continue
		}
		r := hexRune(s)
		s = s[6:]
		if utf16.IsSurrogate(r) {
			if pair := utf16.DecodeRune(r, hexRune(s)); pair != utf8.RuneError {
				r = pair
				s = s[6:]
			} else if halves {
				out = append(out, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f)
				continue
			}
		}
		out = utf8.AppendRune(out, r)
	}
	return out
}

// hexRune returns the code unit of the \uXXXX that s begins with, or -1 if it does not.
func hexRune(s []byte) rune {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(s[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}

func unescapeShort(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c // " \ and /
}
