package view

import (
	"strings"
	"testing"
)

// TestTextsNameViews: texts that name views for a purpose name the right views.
func TestTextsNameViews(t *testing.T) {
	const want = "truncate the .raw or .jsonl file of an array to remove its rows"
	if got := ErrEmpty(Headed()).Error(); !strings.Contains(got, want) {
		t.Errorf("%q, want in it %q", got, want)
	}
}
