package main

import (
	"strings"
	"testing"
)

// TestProseIsPlain holds that no path has more faults of prose than ceilings.txt allows.
func TestProseIsPlain(t *testing.T) {
	const root = "../.."
	faults, err := check(root)
	if err != nil {
		t.Fatal(err)
	}
	all, err := ceilings(root, faults)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		for k, n := range c.have {
			if n > c.most[k] {
				t.Errorf("%s has %d faults (%s), at most %d are allowed: "+
					"go run ./integration/measures -faults %s",
					c.path, n, kindNames[k], c.most[k], c.path)
			}
		}
	}
}

func TestPhrases(t *testing.T) {
	checkCounts(t, phrasing, []counted{
		{1, "Who copies a tree would fail."},
		{1, "a copy is seen by who opens it"},
		{0, "The user who mounted it, and those who read."},
		{0, "the array whose file is open, and a whose is free"},
		{1, "by whose name it is found"},
		{1, "tells whether it is open"},
		{0, "The kernel does not tell whether it is."},
		{1, "a name that is none"},
		{0, "there is none, and it is none of ours"},
		{1, "what is no array"},
		{0, "there is no array, and it is no longer there"},
		{1, "Else it fails."},
		{0, "nothing else, or what somebody else wrote"},
		{3, "all but for one; made anew; read by turns"},
		{0, "where it can be, whether it is so, and may be it is"},
	})
}

func TestRelativeClauses(t *testing.T) {
	checkCounts(t, clauses, []counted{
		{1, "the array that holds a chunk which is stored"},
		{0, "the array that is open; a chunk that is stored"},
		{0, "the chunk that is read says that it is stored, so that it goes"},
		{1, "the mount whose store is gone, and the file which it had"},
		{0, "depends on which store it is, before that, in that folder"},
		{1, "Nothing. That holds for a name that is new, which is rare."},
	})
}

// A counted is a text with so many faults of a kind.
type counted struct {
	want int
	text string
}

func checkCounts(t *testing.T, kind kind, texts []counted) {
	t.Helper()
	for _, c := range texts {
		n := 0
		for _, f := range (passage{text: c.text}).faults() {
			if f.kind == kind {
				n++
			}
		}
		if n != c.want {
			t.Errorf("%q has %d faults, expected %d", c.text, n, c.want)
		}
	}
}

func TestSentences(t *testing.T) {
	for text, want := range map[string]int{
		strings.Repeat("word ", 25) + ".":                                0,
		strings.Repeat("word ", 26) + ".":                                1,
		strings.Repeat("word ", 20) + "end. " + strings.Repeat("w ", 20): 0,
		strings.Repeat("word → ", 25):                                    0,
	} {
		if got := len(passage{text: text}.faults()); got != want {
			t.Errorf("%q has %d faults, expected %d", text, got, want)
		}
	}
}

// TestColonsAreNotEnough holds that colons do not make a sentence of any length plain.
func TestColonsAreNotEnough(t *testing.T) {
	text := strings.Repeat("word ", 20) + "end: " + strings.Repeat("word ", 20) + "end. Last.\n"
	for name, want := range map[string]int{"a.md": 1, "a_test.go": 1, "a.go": 0} {
		src := text
		if name != "a.md" {
			src = "package a\n\n// " + text
		}
		found, err := checkFile(name, []byte(src))
		n := 0
		for _, f := range found {
			if f.kind == sentence {
				n++
			}
		}
		if err != nil || n != want {
			t.Errorf("%s has %d faults, %v; expected %d", name, n, err, want)
		}
	}
}

// TestPassages holds where prose is found, and where it is not.
func TestPassages(t *testing.T) {
	for name, c := range map[string]struct {
		src  string
		want []string
	}{
		"a.go": {"package a\n\n// One\n// two.\n//\n// Three\n//\n//\tcode else\n" +
			"import \"else a b\"\n\n//go:generate else\nvar s = \"four five six\"\n",
			[]string{"One two.", "Three", "four five six"}},
		"a_test.go": {"package a\n\nfunc f() { t.Errorf(\"one two three\", " +
			"g(\"four five six\")) }\n", []string{"one two three"}},
		"names_test.go": {"package a\n\nfunc TestMadeAnew(t *testing.T) {\n" +
			"t.Run(\"one two three\", nil)\n_ = []c{{\"four five six\", \"no such name\"}, " +
			"{name: \"its own name\"}}\n_ = map[string]int{\"key of map\": 1}\n}\n",
			[]string{"made anew", "one two three", "four five six", "its own name", "key of map"}},
		"a.md": {"# One\n\nTwo `else`\nthree.\n\n```\ncode\n```\n- four\n  five (TestA, " +
			"TestB).\n| six | seven |\n",
			[]string{"One", "Two x three.", "four five.", "six", "seven"}},
		"a.sh": {src: "#!/bin/sh\n# One\n# two\necho else # three\n",
			want: []string{"One two", "three"}},
	} {
		got, err := passages(name, []byte(c.src))
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, p := range got {
			texts = append(texts, p.text)
		}
		if strings.Join(texts, "|") != strings.Join(c.want, "|") {
			t.Errorf("%s has the passages %q, expected %q", name, texts, c.want)
		}
	}
}

// TestColumns holds that tabs count, and that rows of tables and addresses may be long.
func TestColumns(t *testing.T) {
	long := strings.Repeat("x", 101)
	found, err := checkFile("a.sh", []byte(long+"\n"+long[1:]+"\n\t"+long[4:]+"\n"))
	if err != nil || len(found) != 2 {
		t.Errorf("found %v, %v; expected the first line and the third", found, err)
	}
	found, err = checkFile("a.md", []byte("| "+long+"\nhttps://"+long+"\n"))
	if err != nil || len(found) != 0 {
		t.Errorf("lines that cannot be shorter are faults: %v, %v", found, err)
	}
}
