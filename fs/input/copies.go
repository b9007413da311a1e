package input

import (
	"time"

	"github.com/zarrfs/zarrfs/fs/pathstate"
	"github.com/zarrfs/zarrfs/fs/program"
)

// A copy of a.npy has the array's attributes twice: `cp -a` saves them as extended attributes, and
// a.json beside it has them as text. Somebody edits that text and copies all back. The program then
// writes the new text to a.json, and sets the old attributes on a.npy. So where a program that
// copies has written the document, what it sets beside it is not taken.

// Copy is the last program that copied a document to a path.
type Copy struct {
	by program.Process
	at time.Time
}

// copiedTogether is how long two programs may take that copy files of one array. Two calls of mv
// do so, and the processes of one rsync.
const copiedTogether = 10 * time.Second

// maxCopied is of how many arrays and groups that is known.
const maxCopied = 1 << 14

// Copies are those of a mount.
type Copies struct{ of *pathstate.Bounded[Copy] }

// NewCopies returns the copies of a mount: there are none yet.
func NewCopies(parts pathstate.Parts[pathstate.Bound[Copy]]) *Copies {
	return &Copies{pathstate.NewBounded(parts, maxCopied)}
}

// Note remembers that a process has written the document of the array or group at path. What a
// program of another kind writes takes the place of a copy.
func (c *Copies) Note(path string, by program.Process) {
	c.of.Edit(path, func(*Copy) *Copy {
		if !by.Mover {
			return nil
		}
		return &Copy{by, time.Now()}
	})
}

// Has reports whether the document at path was copied there together with what a process copies
// now.
func (c *Copies) Has(path string, by program.Process) bool {
	last := c.of.Of(path)
	return last != nil && (last.by == by || time.Since(last.at) <= copiedTogether)
}
