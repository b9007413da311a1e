package store

import (
	"strings"
	"testing"
)

func TestValidKey(t *testing.T) {
	valid := []string{
		"a", "zarr.json", ".zarray", "a/.zattrs", "c/0/1", "0.0", "...", "a/..b", "b../c", " ",
		"a b/c d", "ü/日本", "%2e%2e/x",
		`a\b`, `..\x`, "a\n", "\xff", strings.Repeat("x", 255),
	}
	for _, key := range valid {
		if !IsValidKey(key) {
			t.Errorf("ValidKey(%q) = false", key)
		}
	}
	invalid := []string{
		"", "/", "//", ".", "..", "/a", "a/", "a//b", "./a", "../a", "a/.", "a/..", "a/./b",
		"a/../b", "a/../../b", "\x00", "a\x00",
		"a/\x00/b", "a/b\x00.json",
	}
	for _, key := range invalid {
		if IsValidKey(key) {
			t.Errorf("ValidKey(%q) = true", key)
		}
	}
}
