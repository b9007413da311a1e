package transient

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/zarrfs/zarrfs/fs/view"
)

// temporaryNames are those of files that a program will rename onto another one, or remove: hidden
// files, as rsync's ".a.npy.Xy7z12" and vim's ".a.json.swp", and backups, as "a.json~". Others are
// vim's "4913", the random letters of sed, ln, perl and Python's tempfile, and the usual endings.
var temporaryNames = regexp.MustCompile(
	`^[.#~]|~$|^[0-9]+$|^(sed|Cu|XX)[A-Za-z0-9]{6}$|^tmp[A-Za-z0-9_]{6,8}$|` +
		`\.(tmp|temp|part|partial|filepart|crdownload|new|swp|swx|bak|orig|rej)$`)

// randomName is eight letters and digits, as programs make them. aWord is a name that a person is
// more likely to have written.
var (
	randomName = regexp.MustCompile(`^[A-Za-z0-9]{8}$`)
	aWord      = regexp.MustCompile(`^([A-Z]?[a-z]+|[A-Z]+)$`)
)

// isTemporary reports whether a file of that name may soon become a view, or be removed.
func isTemporary(name string) bool {
	if temporaryNames.MatchString(name) || randomName.MatchString(name) &&
		!aWord.MatchString(name) {
		return true
	}
	for _, v := range view.All() { // "a.npy.Xy7z12", "a.json-1234"
		if _, rest, found := strings.Cut(name, "."+v.Name()); found && rest != "" &&
			strings.ContainsRune(".-_#", rune(rest[0])) {
			return true
		}
	}
	return false
}

// errOther marks a file that is not a view, where the mount takes none.
var errOther = fmt.Errorf("%w: no other files than those of arrays are taken here (--other-files "+
	"refuse)", errors.ErrUnsupported)

// RefusesName returns why a file cannot have a name; nil: it can. The file is not a view, or it is
// a view of an array that is not there.
func (t *Files) RefusesName(name string) error {
	if !t.o.Refuse || isTemporary(name) {
		return nil
	}
	base, v := view.Split(name)
	switch {
	case v != nil && view.IsListedOnly(v):
		return fmt.Errorf("%w: there is no array %q, or --views does not name %s", errOther, base,
			v.Name())
	case v != nil:
		return fmt.Errorf("%w: there is no array %q: copy its .%s or .%s first", errOther, base,
			view.Document.Name(), view.Headed().Name())
	}
	if _, v := view.Split(strings.ToLower(name)); v != nil {
		return fmt.Errorf("%w: %q: the names of arrays' files end in small letters, .%s", errOther,
			name, v.Name())
	}
	return fmt.Errorf("%w: %q is not the file of an array", errOther, name)
}

// otherAfter is for how long a file that is not a view may stay after its close without a line in
// the log. Editors and programs that copy make such files for a moment, and rename them before
// that.
const otherAfter = 3 * time.Second

// SayLater writes to the log that a file is not a view, unless it soon becomes one or is removed.
// The caller has closed it.
func (t *Files) SayLater(x *File) {
	if x.said.Swap(true) {
		return
	}
	time.AfterFunc(otherAfter, func() {
		switch {
		case t.ctx.Err() != nil: // the mount has ended, and says so of all files
		case t.isBeingWritten(x):
			x.said.Store(false) // the next close
		case t.Has(x):
			t.o.Log.Warn("a file that is not an array is not in the store: it is kept in a "+
				"folder when the mount ends",
				"file", x.Shown(), "bytes", x.Size(), "folder", t.keep.folder)
		}
	})
}
