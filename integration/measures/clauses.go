package main

import (
	"fmt"
	"regexp"
	"strings"
)

// pronoun finds what may begin a relative clause. A sentence has at most one of these. It does so
// behind a noun. A word is taken for a noun unless it is in one of the lists below.
var pronoun = regexp.MustCompile(`\b(?:which|whose|that)\b`)

// stated are words with a clause of a statement behind them: "says that it is stored".
const stated = `say|says|said|saying|report|reports|reported|mean|means|meant|show|shows|shown|` +
	`know|knows|known|see|sees|seen|find|finds|found|hold|holds|check|checks|checked|test|tests|` +
	`prove|proves|note|notes|noted|promise|promises|warn|warns|learn|learns|tell|tells|told|` +
	`assume|assumes|expect|expects|require|requires|guarantee|guarantees|sure|likely|possible|` +
	`so|such|like|true`

// pointing are words with "that" behind them in place of a noun: "before that".
const pointing = `is|are|was|were|be|do|does|did|has|had|can|could|may|must|will|would|not|only|` +
	`and|or|but|if|as|than|after|at|by|of|in|to|for|with|from|on|before|over|under|into|about|` +
	`unless|while|when|until|without|because|since|between|behind|beside|below|above|through|` +
	`within|during|all|leaves|keeps|gives|makes|takes|gets|sets|writes|reads|ends|then|also|even|` +
	`just|still|again|whether|share|which|that`

// asking are words with a question behind them: "depends on which store it is".
const asking = `depends on|and|or|but|is|are|in|by|after|know|knows|known|say|says|said|report|` +
	`reports|reported|show|shows|shown|see|sees|find|finds|found|learn|learns|ask|asks|decide|` +
	`decides|choose|chooses|print|prints|name|names|count|counts|record|records|notes|list|lists|` +
	`tell|tells|matter|matters|clear|exactly`

var (
	notThat  = regexp.MustCompile(`(?i)(?:^|\b(?:` + stated + `|` + pointing + `)[,"]?|[,(]) $`)
	notWhich = regexp.MustCompile(`(?i)\b(?:` + asking + `) $`)
)

// relativeClauses returns how many relative clauses a part of a sentence has.
func relativeClauses(part string) (n int) {
	for _, at := range pronoun.FindAllStringIndex(part, -1) {
		before := part[:at[0]]
		switch part[at[0]:at[1]] {
		case "that":
			if before == "" || notThat.MatchString(before) {
				continue
			}
		case "which":
			if before == "" || notWhich.MatchString(before) {
				continue
			}
		}
		n++
	}
	return n
}

// tooManyClauses returns the sentences of a passage with more than one relative clause. A semicolon
// begins another sentence.
func (p passage) tooManyClauses() (faults []fault) {
	for _, s := range sentences(p.text) {
		for part := range strings.SplitSeq(s, ";") {
			if n := relativeClauses(part); n > 1 {
				what := fmt.Sprintf("%d relative clauses", n)
				faults = append(faults, fault{line: p.line, kind: clauses, what: what, text: s})
			}
		}
	}
	return faults
}
