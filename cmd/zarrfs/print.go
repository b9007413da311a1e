package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
)

// printJSON writes v for a program to read.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
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

// exactText writes a number of bytes for people who want to know it exactly: "1.5 KiB (1536 bytes)".
func exactText(n int64) string {
	if n < 1024 {
		return bytesText(n)
	}
	return fmt.Sprintf("%s (%d bytes)", bytesText(n), n)
}

// printable writes a path so that no character of it can upset a terminal.
func printable(path string) string {
	if quoted := strconv.Quote(path); quoted != `"`+path+`"` {
		return quoted
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
