package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/zarrfs/zarrfs/fs/terminal"
)

// stdout and stderr are for people: their text is safe for a terminal, whatever names a store or a
// mount has. The bytes of an array do not pass through them.
var stdout, stderr = terminal.NewWriter(inLine{os.Stdout}), terminal.NewWriter(inLine{os.Stderr})

// inLine is a writer of lines, in which no name begins another line. Messages name folders as they
// are, so their names are noted where they come from.
type inLine struct{ w io.Writer }

// Write writes p with the ends of lines, and the tabs, in names as escapes.
func (l inLine) Write(p []byte) (int, error) {
	text := string(p)
	for _, name := range broken.all() {
		text = strings.ReplaceAll(text, name, terminal.Line(name))
	}
	if _, err := io.WriteString(l.w, text); err != nil {
		return 0, err
	}
	return len(p), nil
}

// brokenNames are names of files and folders with an end of a line or a tab in them. Their other
// characters are escaped.
type brokenNames struct {
	mu    sync.Mutex
	names []string // the longest first, because a name may contain another one
}

// broken has the names of the command line and of the folder where the program is. Later also those
// of mounts and links that it finds, for they may be gone when a message names them.
var broken = newBrokenNames(append(slices.Clone(os.Args), workingFolder())...)

func newBrokenNames(paths ...string) *brokenNames {
	b := new(brokenNames)
	b.note(paths...)
	return b
}

// note notes the broken names in paths.
func (b *brokenNames) note(paths ...string) {
	for _, path := range paths {
		if !strings.ContainsAny(path, "\n\t") {
			continue
		}
		for name := range strings.SplitSeq(path, "/") {
			if strings.ContainsAny(name, "\n\t") && strings.TrimSpace(name) != "" {
				b.add(terminal.Text(name))
			}
		}
	}
}

func (b *brokenNames) add(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if slices.Contains(b.names, name) {
		return
	}
	b.names = append(slices.Clone(b.names), name)
	slices.SortFunc(b.names, func(a, b string) int { return len(b) - len(a) })
}

// all returns the names, which stay as they are.
func (b *brokenNames) all() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.names
}

// onLines returns the text of an error for people. It has more than one line only where errors are
// joined, or where the error is of a mount: those are texts of ours, in which names are quoted.
// Otherwise a text from a store's documents could begin a line that looks like one of ours.
func onLines(err error) string {
	if code := codeOf(err); code == exitMount || code == exitBusy {
		return err.Error()
	}
	return safeLines(err)
}

// safeLines is onLines for an error that is not of a mount.
func safeLines(err error) string {
	whole := err.Error()
	for e := err; e != nil; e = errors.Unwrap(e) {
		joined, ok := e.(interface{ Unwrap() []error })
		if !ok {
			continue
		}
		var lines []string
		for _, part := range joined.Unwrap() {
			lines = append(lines, safeLines(part))
		}
		before, after, found := strings.Cut(whole, e.Error())
		if found && isJoined(e, joined.Unwrap()) {
			return terminal.Line(before) + strings.Join(lines, "\n") + terminal.Line(after)
		}
	}
	return terminal.Line(whole)
}

// isJoined reports whether an error is that of errors.Join, which has a line for each of its parts.
func isJoined(e error, parts []error) bool { return e.Error() == errors.Join(parts...).Error() }

// inLines returns an error of the lines of a text of ours, in which names are quoted.
func inLines(text string) error {
	var lines []error
	for line := range strings.SplitSeq(text, "\n") {
		lines = append(lines, errors.New(line))
	}
	return errors.Join(lines...)
}

// printJSON writes v for a program to read.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(terminal.NewJSONWriter(w))
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// printTable writes lines whose columns are divided by tabs, with the columns below each other.
func printTable(w io.Writer, write func(w io.Writer)) error {
	var b bytes.Buffer
	t := tabwriter.NewWriter(&b, 0, 4, 2, ' ', 0)
	write(t)
	if err := t.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(b.String()) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}

// bytesText writes a number of bytes for people: "1.5 GiB".
func bytesText(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d bytes", n)
	}
	units := "KMGTPE"
	f, i := float64(n)/1024, 0
	for f >= 1023.95 && i < len(units)-1 {
		f /= 1024
		i++
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", f), ".0") + " " + units[i:i+1] + "iB"
}

// exactText writes a number of bytes for people who want to know it exactly: "1.5 KiB (1536
// bytes)".
func exactText(n int64) string {
	if n < 1024 {
		return bytesText(n)
	}
	return fmt.Sprintf("%s (%d bytes)", bytesText(n), n)
}

// printable writes a path so that no character of it can upset a terminal, or end the line.
func printable(path string) string {
	if safe := terminal.Line(path); safe != path {
		return `"` + safe + `"`
	}
	return path
}

// plural writes a count of things: "1 array", "2 arrays".
func plural(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// shapeText writes a shape as NumPy does: "(3, 4)".
func shapeText(shape []int64) string {
	s := strings.Trim(fmt.Sprint(shape), "[]")
	s = strings.ReplaceAll(s, " ", ", ")
	if len(shape) == 1 {
		s += ","
	}
	return "(" + s + ")"
}
