package main

import (
	"errors"
	"fmt"
	"testing"
)

// TestErrorsOnLines: an error has a line for each error that is joined in it. No text of a store
// begins one.
func TestErrorsOnLines(t *testing.T) {
	hostile := errors.New("member \"x\nzarrfs: all is well\"")
	for _, tc := range []struct {
		err  error
		want string
	}{
		{hostile, `member "x\nzarrfs: all is well"`},
		{storeErr(fmt.Errorf("a:\n%w", hostile)), `a:\nmember "x\nzarrfs: all is well"`},
		{storeErr(fmt.Errorf("s: %w", errors.Join(errors.New("nothing was changed:"), hostile))),
			"s: nothing was changed:\n" + `member "x\nzarrfs: all is well"`},
		{errors.Join(errors.Join(errors.New("a"), hostile), errors.New("b")),
			"a\n" + `member "x\nzarrfs: all is well"` + "\nb"},
		{mountErr(inLines("stays mounted\n  \"file\"")), "stays mounted\n  \"file\""},
	} {
		if got := onLines(tc.err); got != tc.want {
			t.Errorf("%q, expected %q", got, tc.want)
		}
	}
}
