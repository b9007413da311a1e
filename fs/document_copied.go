package fs

import (
	"time"

	"github.com/zarrfs/zarrfs/fs/pathstate"
	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/fs/xattr"
)

// A copy of a.npy has the array's attributes twice: `cp -a` saves them as extended attributes, and
// a.json beside it has them as text. Somebody edits that text and copies all back. The program then
// writes the new text to a.json, and sets the old attributes on a.npy. So where a program that
// copies has written the document, what it sets beside it is not taken.

// copiedDocument is the last program that copied a document to a path.
type copiedDocument struct {
	by program.Process
	at time.Time
}

// copiedTogether is how long two programs may take that copy files of one array. Two calls of mv
// do so, and the processes of one rsync.
const copiedTogether = 10 * time.Second

// maxCopied is of how many arrays and groups that is known.
const maxCopied = 1 << 14

// copiedDocuments are those of a mount.
type copiedDocuments struct {
	*pathstate.Bounded[copiedDocument]
}

func (t *copiedDocuments) init(states *states) {
	of := func(s *state) *pathstate.Bound[copiedDocument] { return &s.copied }
	t.Bounded = pathstate.NewBounded(pathstate.PartsOf(states, of), maxCopied)
}

// note remembers that a process has written the document of the array or group at path. What a
// program of another kind writes takes the place of a copy.
func (t *copiedDocuments) note(path string, by program.Process) {
	t.Edit(path, func(*copiedDocument) *copiedDocument {
		if !by.Mover {
			return nil
		}
		return &copiedDocument{by, time.Now()}
	})
}

// isFromDocument reports whether what a program sets by an extended attribute is to come from the
// document alone: the program copies files, and either the attribute follows from the metadata, or
// the document was copied with it.
func (f *filesystem) isFromDocument(path, attr string, by program.Process) bool {
	if !by.Mover {
		return false
	}
	if xattr.IsFixed(attr) || attr == xattr.Error {
		return true
	}
	if d := f.documents.find(path); d != nil && d.isDue() {
		return true
	}
	last := f.copied.Of(path)
	if last == nil || last.by != by && time.Since(last.at) > copiedTogether {
		return false
	}
	f.log.Info("the copied document counts, not the extended attribute that was copied beside it",
		"path", path, "attribute", attr)
	return true
}
