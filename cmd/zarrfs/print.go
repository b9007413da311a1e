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
// are on the command line, or in the table of mounts; so these are known.
type inLine struct{ w io.Writer }

// Write writes p with the ends of lines, and the tabs, in names as escapes.
func (l inLine) Write(p []byte) (int, error) {
	text := string(p)
	for _, name := range brokenNames() {
		text = strings.ReplaceAll(text, name, terminal.Line(name))
	}
	if _, err := io.WriteString(l.w, text); err != nil {
		return 0, err
	}
	return len(p), nil
}

// brokenNames returns the names with an end of a line or a tab in them, as they are once their
// other characters are escaped: of folders on the command line, of the folder where the program is,
// and of mounts.
var brokenNames = sync.OnceValue(func() (names []string) {
	paths := append(slices.Clone(os.Args), workingFolder())
	for _, m := range allMounts() {
		paths = append(paths, m.dir, m.source)
	}
	for _, path := range paths {
		for name := range strings.SplitSeq(path, "/") {
			if strings.ContainsAny(name, "\n\t") && strings.TrimSpace(name) != "" {
				names = append(names, terminal.Text(name))
			}
		}
	}
	// a name may contain another one
	slices.SortFunc(names, func(a, b string) int { return len(b) - len(a) })
	return slices.Compact(names)
})

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
