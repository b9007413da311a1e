package pyjson

import (
	"slices"
	"strconv"
	"strings"
)

// maxPointerDepth bounds the time to look for non-finite numbers, which grows with the depth. A
// value nested deeper is named as a whole.
const maxPointerDepth = 64

// pointerCost is what a pointer takes in a document beside itself, in bytes.
const pointerCost = 10

// NonFinite returns JSON pointers (RFC 6901) of what is NaN or infinite in v, which Standard shows
// as strings. A list is named as a whole if none of its strings reads like such a number: its
// pointer stays true if elements are inserted. If the pointers would take much more room than v,
// the only one is that of v itself.
func (v Value) NonFinite() []string {
	p := pointers{room: 2*len(v.raw) + 64<<10}
	p.find(v, "", maxPointerDepth)
	if p.room < 0 {
		return []string{""}
	}
	return p.all
}

// pointers are those found so far.
type pointers struct {
	all  []string
	room int // bytes that further ones may have
}

// find adds the pointers of what v holds, which is at a pointer itself.
func (p *pointers) find(v Value, at string, depth int) {
	numbers, texts := v.countNonFinite()
	kind := v.Kind()
	switch {
	case numbers == 0 || p.room < 0:
	case depth == 0 || kind == Number || kind == Array && texts == 0:
		p.all = append(p.all, at)
		p.room -= len(at) + pointerCost
	default:
		for token, child := range v.byToken() {
			if child.HasNonFinite() && p.room >= 0 {
				p.find(child, at+"/"+escapePointer.Replace(token), depth-1)
			}
		}
	}
}

var (
	escapePointer   = strings.NewReplacer("~", "~0", "/", "~1")
	unescapePointer = strings.NewReplacer("~1", "/", "~0", "~")
)

// byToken runs through what v holds, each with the token of a JSON pointer that names it there.
func (v Value) byToken() func(yield func(string, Value) bool) {
	return func(yield func(string, Value) bool) {
		i := 0
		for key, child := range v.children() {
			token := strconv.Itoa(i)
			if key != nil {
				token = text(key)
			}
			if !yield(token, child) {
				return
			}
			i++
		}
	}
}

// HasNonFinite reports whether v is or holds a bare NaN or infinity.
func (v Value) HasNonFinite() bool {
	numbers, _ := v.countNonFinite()
	return numbers > 0
}

// countNonFinite counts the bare NaN and infinities in v, and the strings of these names.
func (v Value) countNonFinite() (numbers, texts int) {
	for i := skipSpace(v.raw, 0); i < len(v.raw); i = skipSpace(v.raw, i) {
		if strings.IndexByte("{}[],:", v.raw[i]) >= 0 {
			i++
			continue
		}
		end := valueEnd(v.raw, i)
		switch raw := v.raw[i:end]; {
		case isNonFinite(raw):
			numbers++
		case isKey(v.raw, end):
		case isNonFinite(unquoted(raw)):
			texts++
		}
		i = end
	}
	return numbers, texts
}

func isNonFinite(raw []byte) bool {
	switch string(raw) {
	case "NaN", "Infinity", "-Infinity":
		return true
	}
	return false
}

// unquoted returns the text of a string; nothing of any other value, or of one that is too long.
func unquoted(raw []byte) []byte {
	const most = len(`"-Infinity"`) * len(`\u0000`)
	if raw[0] != '"' || len(raw) > most {
		return nil
	}
	return []byte(text(raw))
}

// isKey reports whether the string that ends there is the key of a member.
func isKey(b []byte, end int) bool {
	next := skipSpace(b, end)
	return next < len(b) && b[next] == ':'
}

// WithNonFinite returns v with the strings NaN, Infinity and -Infinity at, and below, the pointers
// as numbers. It is the reverse of what Standard does. Pointers that lead nowhere do not count.
func (v Value) WithNonFinite(pointers []string) Value {
	var root pointed
	for _, pointer := range pointers {
		tokens := strings.Split(pointer, "/")
		if tokens[0] != "" {
			continue // a pointer begins with a slash, or is empty
		}
		at := &root
		for _, token := range tokens[1:] {
			at = at.child(unescapePointer.Replace(token))
		}
		at.all = true
	}
	return root.numbers(v, maxPointerDepth)
}

// pointed are the pointers that begin alike.
type pointed struct {
	all   bool // one of them ends here
	below map[string]*pointed
}

func (p *pointed) child(token string) *pointed {
	if p.below == nil {
		p.below = map[string]*pointed{}
	}
	if p.below[token] == nil {
		p.below[token] = &pointed{}
	}
	return p.below[token]
}

// numbers is WithNonFinite for the pointers from here on.
func (p *pointed) numbers(v Value, depth int) Value {
	switch kind := v.Kind(); {
	case p.all:
		asNumbers := printer{limit: -1, keep: true, numbers: true}
		asNumbers.print(v.raw)
		return Value{asNumbers.out}
	case len(p.below) == 0 || depth == 0 || kind != Object && kind != Array:
		return v
	}
	changed := func(yield func(string, Value) bool) {
		for token, child := range v.byToken() {
			if next := p.below[token]; next != nil {
				child = next.numbers(child, depth-1)
			}
			if !yield(token, child) {
				return
			}
		}
	}
	if v.Kind() == Object {
		return ObjectOf(changed)
	}
	var elements []Value
	for _, e := range changed {
		elements = append(elements, e)
	}
	return ArrayOf(elements...)
}

// EqualNumbers is Equal, except that no string equals a number.
func EqualNumbers(a, b Value) bool {
	return Equal(a, b) && slices.Equal(sorted(a.NonFinite()), sorted(b.NonFinite()))
}

func sorted(all []string) []string {
	slices.Sort(all)
	return all
}
