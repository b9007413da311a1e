package main

import (
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

// notRelative has, of a pronoun, what is in front of it where it begins no relative clause.
var notRelative = map[string]*regexp.Regexp{
	"that":  regexp.MustCompile(`(?i)^$|(?:^|\b(?:` + stated + `|` + pointing + `)[,"]?|[,(]) $`),
	"which": regexp.MustCompile(`(?i)^$|\b(?:` + asking + `) $`),
}

// relativeClauses returns how many relative clauses a sentence without semicolons has.
func relativeClauses(part string) (n int) {
	for _, at := range pronoun.FindAllStringIndex(part, -1) {
		not := notRelative[part[at[0]:at[1]]]
		if not == nil || !not.MatchString(part[:at[0]]) {
			n++
		}
	}
	return n
}

// mostClauses returns how many relative clauses a sentence has at most between its semicolons.
func mostClauses(sentence string) (most int) {
	for part := range strings.SplitSeq(sentence, ";") {
		most = max(most, relativeClauses(part))
	}
	return most
}
