package view

import (
	"strings"
	"testing"
)

// TestTextsNameViews: the texts that name views for a purpose name those that serve it.
func TestTextsNameViews(t *testing.T) {
	const want = "truncate the .raw or .jsonl file of an array to remove its rows"
	if got := ErrEmpty(Headed()).Error(); !strings.Contains(got, want) {
		t.Errorf("%q, want in it %q", got, want)
	}
}
