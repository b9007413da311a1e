// Package known has what a mount knows of each path. All of it is one state in one table, so that a
// rename moves it and a removal ends it. Packages that know one thing get their part of it.
package known

import (
	"github.com/zarrfs/zarrfs/fs/alias"
	"github.com/zarrfs/zarrfs/fs/compare"
	"github.com/zarrfs/zarrfs/fs/document"
	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/input"
	"github.com/zarrfs/zarrfs/fs/material"
	"github.com/zarrfs/zarrfs/fs/pathstate"
	"github.com/zarrfs/zarrfs/fs/stat"
	"github.com/zarrfs/zarrfs/fs/texts"
	"github.com/zarrfs/zarrfs/fs/transient"
	"github.com/zarrfs/zarrfs/fs/writing"
)

// State is what the mount knows of a path: of the group or array there, and of its files. The
// table's lock is innermost except writing.mu, that of the nodes and that of the materialised
// files.
type State struct {
	Writing  writing.Part        // what programs write to the array's files
	Texts    texts.Part          // texts of it that are taken as a whole
	Unlinked alias.UnlinkedViews // views that were removed
	Material material.Part       // its files that the kernel reads without us

	Transients transient.Named // of a group: files in it that the store does not have
	Refused    transient.Named // of a group: see transient.States.Texts

	Trace   pathstate.Bound[alias.Trace]    // what a process did to it
	Failure pathstate.Bound[errno.Failure]  // why it was refused something
	Node    pathstate.Bound[stat.NodePart]  // its metadata, as it was a moment ago
	Taken   pathstate.Bound[stat.TakenPart] // what it takes in the store
	Reads   pathstate.Bound[input.Readers]  // shapes found in its document
	Copied  pathstate.Bound[input.Copy]     // which program has copied its document
	Views   pathstate.Bound[compare.Copied] // what a program that copies trees has written of it
}

// parts returns all parts of a state.
func (s *State) parts() [13]pathstate.Part {
	return [...]pathstate.Part{
		&s.Writing, &s.Texts, &s.Unlinked, &s.Material, &s.Transients, &s.Refused,
		&s.Trace, &s.Failure, &s.Node, &s.Taken, &s.Reads, &s.Copied, &s.Views,
	}
}

// Moved implements pathstate.State.
func (s *State) Moved(to string) {
	for _, p := range s.parts() {
		p.Moved(to)
	}
}

// Ended implements pathstate.State.
func (s *State) Ended() {
	for _, p := range s.parts() {
		p.Ended()
	}
}

// IsEmpty implements pathstate.State.
func (s *State) IsEmpty() bool {
	for _, p := range s.parts() {
		if !p.IsEmpty() {
			return false
		}
	}
	return true
}

// Join implements pathstate.State. Only files that the store does not have stay where a group has
// ended.
func (s *State) Join(stayed *State) {
	s.Transients.Join(stayed.Transients)
	s.Refused.Join(stayed.Refused)
}

// hasOpen reports whether programs write to files of what is at the path, or what they wrote is not
// stored. Files of an array that is only about to be created do not count.
func (s *State) hasOpen() bool {
	d := document.Of(&s.Texts)
	return s.Writing.It != nil && s.Writing.It.Live() != nil ||
		d != nil && d.HasExisted() || s.Texts.HasWholes()
}
