// Package texts has files of arrays that are taken as a whole: the lines of an array whose elements
// have no fixed size. It knows which texts programs have open, and of which directory.
package texts

import (
	"github.com/zarrfs/zarrfs/fs/pathstate"
	"github.com/zarrfs/zarrfs/fs/site"
)

// openText is a text that a program has open, of the array or group at a path.
type openText interface {
	Moved(to string)
	Ended()
	Home() *site.Home // the directory in which it was opened
}

// Part is what programs have open of the array or group at a path, and what is taken as a whole.
type Part struct {
	Document pathstate.Carried[openText] // its document
	files    wholeFiles                  // its other files
}

// Moved implements pathstate.Part.
func (s *Part) Moved(to string) {
	s.Document.Moved(to)
	s.files.Moved(to)
}

// Ended implements pathstate.Part.
func (s *Part) Ended() {
	s.Document.Ended()
	s.files.Ended()
}

// IsEmpty implements pathstate.Part.
func (s *Part) IsEmpty() bool { return s.Document.IsEmpty() && s.files.IsEmpty() }

// HasWholes reports whether programs write to files that are taken as a whole.
func (s *Part) HasWholes() bool { return !s.files.IsEmpty() }
