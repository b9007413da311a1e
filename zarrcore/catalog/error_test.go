package catalog

import (
	iofs "io/fs"
	"syscall"
	"testing"
)

// TestErrorsAreOneLine: whatever a store calls its nodes, an error of one is a line, and names a
// chunk once.
func TestErrorsAreOneLine(t *testing.T) {
	const key = "a\nFORGED/c/0"
	for _, tc := range []struct{ path, key, cause, want string }{
		{"a", "a/c/0", "a/c/0", `cannot store "a": chunk a/c/0: input/output error`},
		{"", "c/0", "zarr.json",
			`cannot store the root: chunk c/0: read zarr.json: input/output error`},
		{"a\nFORGED", key, key,
			`cannot store "a\nFORGED": chunk "a\nFORGED/c/0": input/output error`},
		{"a\nFORGED", "", key,
			`cannot store "a\nFORGED": read "a\nFORGED/c/0": input/output error`},
	} {
		err := &Error{"store", tc.path, tc.key,
			&iofs.PathError{Op: "read", Path: tc.cause, Err: syscall.EIO}}
		if err.Error() != tc.want {
			t.Errorf("got  %s\nwant %s", err, tc.want)
		}
	}
}
