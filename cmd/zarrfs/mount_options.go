package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// ignoredOptions are options of mount(8), fstab and systemd that are not for us, or hold anyway.
var ignoredOptions = []string{
	"suid", "nosuid", "dev", "nodev", "exec", "noexec", "auto", "noauto", "user", "nouser", "users",
	"owner", "group",
	"defaults", "async", "sync", "atime", "noatime", "diratime", "nodiratime", "relatime",
	"norelatime", "strictatime",
	"lazytime", "nofail", "_netdev", "default_permissions", "silent", "loud", "remount", "mand",
	"nomand",
	"setuid", "drop_privileges", "fsname", "subtype", "max_read",
}

// applyOptions sets the flags that the values of -o name: each is a list of NAME or NAME=VALUE. A
// name is a flag's, with '_' or '-' between words. In a list of views ':' stands for the comma.
func applyOptions(flags *pflag.FlagSet, options []string) error {
	for _, list := range options {
		for opt := range strings.SplitSeq(list, ",") {
			if err := applyOption(flags, strings.TrimSpace(opt)); err != nil {
				return usageError{err}
			}
		}
	}
	return nil
}

func applyOption(flags *pflag.FlagSet, opt string) error {
	name, value, hasValue := strings.Cut(opt, "=")
	if name == "ro" || name == "rw" {
		return flags.Set("read-only", strconv.FormatBool(name == "ro"))
	}
	if name == "" || slices.Contains(ignoredOptions, name) || isForeign(name) {
		return nil
	}
	f := flags.Lookup(strings.ReplaceAll(name, "_", "-"))
	if f == nil || f.Name == "option" || f.Hidden {
		if meant := nearestFlag(flags, strings.ReplaceAll(name, "_", "-")); meant != "" {
			return fmt.Errorf("-o %s: no such option. Did you mean %s?", opt,
				strings.ReplaceAll(meant, "-", "_"))
		}
		return fmt.Errorf("-o %s: no such option; `zarrfs help mount` lists the flags, each of "+
			"which may be one", opt)
	}
	if !hasValue {
		value = f.NoOptDefVal
	}
	if value == "" && !hasValue {
		return fmt.Errorf("-o %s: expected a value, as %s=…", opt, name)
	}
	if err := flags.Set(f.Name, value); err != nil {
		return fmt.Errorf("-o %s: %w", opt, err)
	}
	return nil
}

// isForeign reports whether an option is a comment for another program.
func isForeign(name string) bool {
	for _, prefix := range []string{"x-", "X-", "comment"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
