package integration

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
)

// A raceRow has the results of one combination of a race.
type raceRow struct {
	rounds  int            // actions while the other programs raced
	lost    int            // of these, what a program was told is stored, and is not
	half    int            // folders with chunks, or nodes, and without a document
	zeros   int            // reads that had zeros which nobody wrote
	accused int            // times that a mount took its own work for another program's
	allowed map[string]int // errors that programs got, by their text
}

// bad is how many faults a row has.
func (r *raceRow) bad() int { return r.lost + r.half + r.zeros + r.accused }

// allow notes that programs got an error so many times.
func (r *raceRow) allow(text string, times int) {
	if r.allowed == nil {
		r.allowed = map[string]int{}
	}
	r.allowed[text] += times
}

// countHalf counts what a store has only in part, and fails if there is any.
func (r *raceRow) countHalf(t *testing.T, base string) {
	t.Helper()
	if half := halfThings(t, base); len(half) > 0 {
		r.half += len(half)
		t.Errorf("half: %v", some(half))
	}
}

// stopByForce unmounts after an umount that could not store all. The row allows that.
func (r *raceRow) stopByForce(t *testing.T, d *daemon) {
	t.Helper()
	r.allow("umount: not all can be stored", 1)
	d.stopByForce(t)
}

// lastPart returns the cause that ends the text of an error, without what wraps it. A text without
// a colon is returned whole.
func lastPart(text string) string {
	if i := strings.LastIndex(text, ": "); i >= 0 {
		return text[i+2:]
	}
	return text
}

// races are the rows of the table that make races prints, by the race and its combination.
var races = raceTable{rows: map[[2]string]*raceRow{}}

type raceTable struct {
	mu   sync.Mutex
	rows map[[2]string]*raceRow
}

// add adds a row to the one of the same race and combination.
func (t *raceTable) add(race, combination string, r raceRow) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := [2]string{race, combination}
	if t.rows[key] == nil {
		t.rows[key] = &raceRow{}
	}
	sum := t.rows[key]
	sum.rounds += r.rounds
	sum.lost += r.lost
	sum.half += r.half
	sum.zeros += r.zeros
	sum.accused += r.accused
	for text, times := range r.allowed {
		sum.allow(text, times)
	}
}

// printIfAsked prints the table in the long mode of the races.
func (t *raceTable) printIfAsked() {
	if os.Getenv("ZARRFS_RACE_MS") != "" && len(t.rows) > 0 {
		t.print(os.Stdout)
	}
}

// print prints all rows, by race, and their sum.
func (t *raceTable) print(to io.Writer) {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "race\tcombination\trounds\tlost\thalf\tzeros\taccused\tallowed errors")
	var all raceRow
	byName := func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }
	for _, key := range slices.SortedFunc(maps.Keys(t.rows), byName) {
		r := t.rows[key]
		fmt.Fprintf(w, "%s\t%s\t%v\t%s\n", key[0], key[1], r, r.errors())
		all.rounds += r.rounds
		all.lost += r.lost
		all.half += r.half
		all.zeros += r.zeros
		all.accused += r.accused
	}
	fmt.Fprintf(w, "all\t\t%v\t\n", &all)
	w.Flush()
}

func (r *raceRow) String() string {
	return fmt.Sprintf("%d\t%d\t%d\t%d\t%d", r.rounds, r.lost, r.half, r.zeros, r.accused)
}

// errors lists the errors that programs got, and how many times.
func (r *raceRow) errors() string {
	var all []string
	for _, text := range slices.Sorted(maps.Keys(r.allowed)) {
		all = append(all, fmt.Sprintf("%d × %s", r.allowed[text], text))
	}
	return strings.Join(all, ", ")
}
