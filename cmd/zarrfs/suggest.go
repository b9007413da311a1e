package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"
)

// familiar are verbs of other programs, and which verb does the same here.
var familiar = map[string]string{
	"ls": "tree", "list": "tree", "show": "info", "stat": "info", "head": "info", "ncdump": "info",
	"du": "info", "dump": "cat", "read": "cat", "init": "create",
	"new": "create", "mkdir": "create", "touch": "create", "convert": "migrate",
	"upgrade": "migrate", "mounts": "status", "ps": "status", "df": "status",
	"log": "errors", "logs": "errors", "why": "errors", "man": "help",
}

// unknownVerb says that there is no such verb, and which one may be meant.
func unknownVerb(name string) error {
	names := make([]string, 0, 2*len(verbs))
	for _, v := range verbs {
		names = append(append(names, v.name), v.also...)
	}
	meant := nearest(name, names)
	if meant == "" {
		meant = familiar[name]
	}
	switch _, err := os.Stat(name); {
	case meant != "":
		return usageError{fmt.Errorf("unknown command %q. Did you mean %q?", name, meant)}
	case err == nil:
		return usageError{fmt.Errorf("unknown command %q. To mount it: zarrfs mount %[1]s DIR",
			name)}
	}
	return usageError{fmt.Errorf("unknown command %q; `zarrfs help` lists them", name)}
}

// familiarFlags are flags of other programs, and which flag is the same here.
var familiarFlags = map[string]string{
	"ro": "read-only", "readonly": "read-only", "other": "allow-other", "fg": "foreground",
	"debug": "log-level", "verbose": "log-level", "type": "dtype",
	"compressor": "codecs", "compression": "codecs", "fill": "fill-value",
	"dims": "dimension-names", "attrs": "attributes", "depth": "level", "cache": "cache-size",
}

// explainFlag says what is wrong with the flags of a command line, and which one may be meant.
func (v *verb) explainFlag(flags *pflag.FlagSet, err error) error {
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &invalid):
		return valueError(invalid)
	case !errors.As(err, &unknown):
		return fmt.Errorf("%s: %w; `zarrfs help %[1]s` lists the flags", v.name, err)
	case unknown.GetSpecifiedShortnames() != "":
		return fmt.Errorf("%s: unknown flag -%s; `zarrfs help %[1]s` lists the flags", v.name,
			unknown.GetSpecifiedName())
	}
	if meant := nearestFlag(flags, unknown.GetSpecifiedName()); meant != "" {
		return fmt.Errorf("%s: unknown flag --%s. Did you mean --%s?", v.name,
			unknown.GetSpecifiedName(), meant)
	}
	return fmt.Errorf("%s: unknown flag --%s; `zarrfs help %[1]s` lists the flags", v.name,
		unknown.GetSpecifiedName())
}

// nearestFlag returns the flag that may be meant by a name, "" if no flag is like it.
func nearestFlag(flags *pflag.FlagSet, name string) string {
	var names []string
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if flags.Lookup(familiarFlags[name]) != nil {
		return familiarFlags[name]
	}
	if meant := nearest(name, names); meant != "" {
		return meant
	}
	for _, known := range names { // chunks of --create-chunks
		if strings.HasSuffix(known, "-"+name) || strings.HasSuffix(known, "-"+name+"s") {
			return known
		}
	}
	return ""
}

// spelled returns a flag as it is written: its letter where it has one.
func spelled(f *pflag.Flag) string {
	if f.Shorthand != "" {
		return "-" + f.Shorthand
	}
	return "--" + f.Name
}

// valueError says what kind of value a flag takes.
func valueError(err *pflag.InvalidValueError) error {
	f, expected := err.GetFlag(), ""
	switch f.Value.Type() {
	case "int":
		expected = "a number, such as 2"
	case "duration":
		expected = "a time, such as 30s or 2m"
	case "bool":
		expected = "no value, or true or false"
	default:
		return fmt.Errorf("%s: %w", spelled(f), err.Unwrap())
	}
	if f.Name == "level" {
		expected = "a number of levels, such as 2"
	}
	return fmt.Errorf("%s %s: expected %s", spelled(f), err.GetValue(), expected)
}

// nearest returns the name that differs least from what was written, or "" if that is not likely to
// be a typing error.
func nearest(written string, names []string) string {
	best, least := "", 1+max(1, len(written)/3)
	for _, name := range names {
		if d := distance(strings.ReplaceAll(written, "_", "-"), name); d < least {
			best, least = name, d
		}
	}
	return best
}

// distance is how many letters must be changed, added, left out or exchanged with the next one to
// make b of a.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		for j := range rows[i] {
			switch {
			case i == 0 || j == 0:
				rows[i][j] = i + j
				continue
			case a[i-1] == b[j-1]:
				rows[i][j] = rows[i-1][j-1]
			default:
				rows[i][j] = 1 + min(rows[i-1][j], rows[i][j-1], rows[i-1][j-1])
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
