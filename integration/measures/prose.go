package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A fault is a place where the prose is not plain, or a line too long.
type fault struct {
	file string
	line int
	kind kind
	what string
	text string
}

// A kind is a sort of fault, which is counted and has a ceiling of its own.
type kind int

const (
	phrasing kind = iota // a phrase that plain English does not have
	sentence             // more than maxWords words
	clauses              // more than one relative clause
	column               // more than maxColumns columns
	kinds
)

// kindNames are the kinds as the table of ceilings has them.
var kindNames = [kinds]string{"phrases", "sentences > 25", "clauses > 1", "lines > 100"}

const (
	maxWords   = 25
	maxToStop  = 40 // words to a full stop, whatever colons there are
	maxColumns = 100
	tab        = 4 // columns
)

// A phrase is one that plain English does not have, and what it has instead. It is not a fault
// where before matches the words in front of it, or after the text from there on.
type phrase struct {
	find, before, after *regexp.Regexp
	instead             string
}

// newPhrase compiles a phrase. An empty before or after matches nothing.
func newPhrase(find, before, after, instead string) phrase {
	compiled := func(s, format string) *regexp.Regexp {
		if s == "" {
			return nil
		}
		return regexp.MustCompile(fmt.Sprintf(format, s))
	}
	return phrase{compiled(find, `(?i)\b(?:%s)\b`), compiled(before, `(?i)\b(?:%s)[,"]? $`),
		compiled(after, `(?i)^(?:%s)\b`), instead}
}

// people are the nouns that the first phrase may follow. Without one of them it has no antecedent.
const people = `users?|people|person|persons|readers?|newcomers?|authors?|developers?|` +
	`maintainers?|engineers?|owners?|root|somebody|someone|everybody|everyone|anybody|anyone|` +
	`nobody|those|others|one|all`

var phrases = []phrase{
	newPhrase(`who|whom|whoever`, people, `who am i|who else`,
		"name the noun: a program that …, a user who …"),
	newPhrase(`whose`, `\w+|\)`, ``, "name the noun"),
	newPhrase(`(?:by|of|to|for|with|from|than|is|are) whose`, ``, ``, "name the noun"),
	newPhrase(`tells? (?:whether|that|if|which|how|what|why|where|of|only)`, `to|cannot|not|can`,
		``, "reports whether, says that"),
	newPhrase(`(?:is|are|was|were|be|being|am) none`, `there`,
		`(?:is|are|was|were|be|being|am) none of`, "is not an X"),
	newPhrase(`(?:is|are|was|were) no [a-z]+`, `there`,
		`\w+ no (?:longer|more|less|better|worse|larger|smaller|slower|faster|cheaper|older|`+
			`newer|different|such|room|other)`, "is not an X"),
	newPhrase(`by turns`, ``, ``, "alternately"),
	newPhrase(`anew`, ``, ``, "again, recreate"),
	newPhrase(`but for`, ``, ``, "except"),
	newPhrase(`else`,
		`any(?:thing|one|body|where)|no(?:thing|body|where| one)|some(?:thing|one|body|where)|`+
			`every(?:thing|one|body|where)|who|what|where|or|if|all`, `else if`, "otherwise"),
	newPhrase(`be it`, `can|may|must|should|could|would|will`, ``, "whether it is, also if"),
}

// check returns the faults of all files below root.
func check(root string) (faults []fault, err error) {
	err = walk(root, func(name string) error {
		if !isText(name) {
			return nil
		}
		src, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		found, err := checkFile(name, src)
		faults = append(faults, found...)
		return err
	})
	return faults, err
}

// isText reports whether people write and read a file.
func isText(name string) bool {
	return slices.Contains([]string{".go", ".md", ".s", ".sh", ".py"}, filepath.Ext(name)) ||
		filepath.Base(name) == "Makefile" || name == ".ci/run"
}

func checkFile(name string, src []byte) (faults []fault, err error) {
	all, err := passages(name, src)
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		found := p.faults()
		if filepath.Ext(name) == ".md" || strings.HasSuffix(name, "_test.go") {
			found = append(found, p.tooFarToStop()...)
		}
		for _, f := range found {
			f.file = name
			faults = append(faults, f)
		}
	}
	for i, line := range bytes.Split(src, []byte("\n")) {
		if n := columns(string(line)); n > maxColumns && !isUnbreakable(name, string(line)) {
			faults = append(faults, fault{name, i + 1, column, fmt.Sprintf("%d columns", n), ""})
		}
	}
	return faults, nil
}

// isUnbreakable reports whether a line cannot be shorter: a row of a table in Markdown, or an
// address.
func isUnbreakable(name, line string) bool {
	return filepath.Ext(name) == ".md" && strings.HasPrefix(strings.TrimSpace(line), "|") ||
		strings.Contains(line, "://") && len(strings.Fields(line)) <= 3
}

func columns(line string) int {
	return utf8.RuneCountInString(line) + (tab-1)*strings.Count(line, "\t")
}

func (p passage) faults() (faults []fault) {
	for _, ph := range phrases {
		for _, at := range ph.find.FindAllStringIndex(p.text, -1) {
			if ph.before != nil && ph.before.MatchString(p.text[:at[0]]) ||
				ph.after != nil && ph.after.MatchString(p.text[at[0]:]) {
				continue
			}
			what := fmt.Sprintf("%q (%s)", p.text[at[0]:at[1]], ph.instead)
			faults = append(faults, fault{line: p.line, kind: phrasing, what: what, text: p.text})
		}
	}
	for _, s := range sentences(p.text) {
		if n := words(s); n > maxWords {
			faults = append(faults,
				fault{line: p.line, kind: sentence, what: fmt.Sprintf("%d words", n), text: s})
		}
		if n := mostClauses(s); n > 1 {
			what := fmt.Sprintf("%d relative clauses", n)
			faults = append(faults, fault{line: p.line, kind: clauses, what: what, text: s})
		}
	}
	return faults
}

// tooFarToStop returns what has more than maxToStop words before a full stop.
func (p passage) tooFarToStop() (faults []fault) {
	for _, s := range fullStop.Split(p.text, -1) {
		if n := words(s); n > maxToStop {
			what := fmt.Sprintf("%d words to the full stop", n)
			faults = append(faults, fault{line: p.line, kind: sentence, what: what, text: s})
		}
	}
	return faults
}

var fullStop = regexp.MustCompile(`[.!?]["')\]*]*\s+`)

var sentenceEnd = regexp.MustCompile(`[.!?:]["')\]*]*\s+`)

// sentences cuts a text behind each full stop, question mark and colon.
func sentences(text string) []string { return sentenceEnd.Split(text, -1) }

func isAlphanumeric(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// words counts what has a letter or a digit between spaces.
func words(s string) (n int) {
	for _, w := range strings.Fields(s) {
		if strings.ContainsFunc(w, isAlphanumeric) {
			n++
		}
	}
	return n
}
