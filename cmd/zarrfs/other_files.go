package main

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"path/filepath"

	"github.com/zarrfs/zarrfs/fs/terminal"
	"github.com/zarrfs/zarrfs/fs/transient"
)

// This file is what umount says of the files of a mount that are not arrays. They are kept in a
// folder when the mount ends.

// keepable returns nil if they can be kept there, as far as that is known before the end.
func keepable(dir string, others *transient.Kept) error {
	if others == nil || others.Problem == "" {
		return nil
	}
	return fmt.Errorf("%s stays mounted, because files that are not arrays, and so not in the "+
		"store, cannot be kept in %s: %s%s\nMake room, or copy them elsewhere and remove them; "+
		"`zarrfs umount --force %[1]s` keeps what it cannot keep there in %s",
		dir, printable(others.Folder), terminal.Line(others.Problem), listedOthers(others),
		printable(others.Otherwise))
}

// sayOthers names them, and their folder, before they go there.
func sayOthers(others *transient.Kept) {
	if others != nil {
		fmt.Fprintf(stderr, "zarrfs: files that are not arrays, and so not in the store, "+
			"are kept in %s:%s\n", printable(others.Folder), listedOthers(others))
	}
}

// listed returns a line for each of the files that are named, and one with the number of the
// others.
func listed(named []string, count int) (text string) {
	for _, name := range named {
		text += fmt.Sprintf("\n  %q", name)
	}
	if more := count - len(named); more > 0 {
		text += fmt.Sprintf("\n  and %d more", more)
	}
	return text
}

// listedOthers returns a line for each file that is not an array, and one with the bytes of all.
func listedOthers(o *transient.Kept) string {
	return listed(o.Files, o.Count) + fmt.Sprintf("\n  (%s)", bytesText(o.Bytes))
}

// leftMost is how many files that a killed mount has left are named.
const leftMost = 20

// leftText says what a killed mount has left in the scratch folder.
func leftText(left transient.Left) string {
	text := fmt.Sprintf("a mount of %s at %s was killed, and left files in %s",
		printable(left.Store), printable(left.Mount), printable(left.Folder))
	for _, kind := range []struct {
		about string
		names []string
	}{
		{"files that are not arrays, and so not in the store", left.Files},
		{"what was written to files of arrays and is not stored", left.Unstored},
	} {
		if n := len(kind.names); n > 0 {
			text += "; " + kind.about + ":" + listed(kind.names[:min(n, leftMost)], n)
		}
	}
	return text + fmt.Sprintf("\n  (%s)\nMove away what you need of them, and remove the folder",
		bytesText(left.Bytes))
}

// checkOthers checks that they are in their folder, once the program that served the mount has
// ended.
func checkOthers(others *transient.Kept, log string) error {
	if others == nil {
		return nil
	}
	for _, name := range others.Files {
		_, err := os.Lstat(filepath.Join(others.Folder, name))
		if errors.Is(err, iofs.ErrNotExist) {
			return mountErr(fmt.Errorf("unmounted, but %q is not in %s: look in %s, "+
				"and for the reason in the log (%s)", name, printable(others.Folder),
				printable(others.Otherwise), printable(log)))
		}
	}
	return nil
}
