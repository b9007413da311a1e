package fs

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

// state is what the mount knows of a path: of the group or array there, and of its files. All of it
// is in one table: a rename moves it, and a removal ends it. The table's lock is innermost except
// writing.mu, that of the nodes and that of the materialised files.
type state struct {
	writing  writing.Part        // what programs write to the array's files
	texts    texts.Part          // texts of it that are taken as a whole
	unlinked alias.UnlinkedViews // views that were removed
	material material.Part       // its files that the kernel reads without us

	transients transient.Named // of a group: files in it that the store does not have
	refused    transient.Named // of a group: see transient.States.Texts

	trace   pathstate.Bound[alias.Trace]    // what a process did to it
	failure pathstate.Bound[errno.Failure]  // why it was refused something
	node    pathstate.Bound[stat.NodePart]  // its metadata, as it was a moment ago
	taken   pathstate.Bound[stat.TakenPart] // what it takes in the store
	reads   pathstate.Bound[input.Readers]  // shapes found in its document
	copied  pathstate.Bound[input.Copy]     // which program has copied its document
	views   pathstate.Bound[compare.Copied] // what a program that copies trees has written of it
}

// states are those of a mount.
type states = pathstate.Table[state, *state]

func (s *state) writingOf() *writing.Part                   { return &s.writing }
func (s *state) textPartOf() *texts.Part                    { return &s.texts }
func (s *state) traceOf() *pathstate.Bound[alias.Trace]     { return &s.trace }
func (s *state) materialOf() *material.Part                 { return &s.material }
func (s *state) nodeOf() *pathstate.Bound[stat.NodePart]    { return &s.node }
func (s *state) takenOf() *pathstate.Bound[stat.TakenPart]  { return &s.taken }
func (s *state) failureOf() *pathstate.Bound[errno.Failure] { return &s.failure }
func (s *state) unlinkedOf() *alias.UnlinkedViews           { return &s.unlinked }
func (s *state) transientsOf() *transient.Named             { return &s.transients }
func (s *state) textsOf() *transient.Named                  { return &s.refused }

func (s *state) readsOf() *pathstate.Bound[input.Readers]  { return &s.reads }
func (s *state) copiedOf() *pathstate.Bound[input.Copy]    { return &s.copied }
func (s *state) viewsOf() *pathstate.Bound[compare.Copied] { return &s.views }

// parts returns all parts of a state.
func (s *state) parts() [13]pathstate.Part {
	return [...]pathstate.Part{
		&s.writing, &s.texts, &s.unlinked, &s.material, &s.transients, &s.refused,
		&s.trace, &s.failure, &s.node, &s.taken, &s.reads, &s.copied, &s.views,
	}
}

// Moved implements pathstate.State.
func (s *state) Moved(to string) {
	for _, p := range s.parts() {
		p.Moved(to)
	}
}

// Ended implements pathstate.State.
func (s *state) Ended() {
	for _, p := range s.parts() {
		p.Ended()
	}
}

// IsEmpty implements pathstate.State.
func (s *state) IsEmpty() bool {
	for _, p := range s.parts() {
		if !p.IsEmpty() {
			return false
		}
	}
	return true
}

// Join implements pathstate.State. Only files that the store does not have stay where a group has
// ended.
func (s *state) Join(stayed *state) {
	s.transients.Join(stayed.transients)
	s.refused.Join(stayed.refused)
}

// documentOpen returns the document while programs write it, nil if none does.
func (s *state) documentOpen() *document.File { return document.Of(&s.texts) }
