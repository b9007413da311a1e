package known

import (
	"github.com/zarrfs/zarrfs/fs/alias"
	"github.com/zarrfs/zarrfs/fs/compare"
	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/input"
	"github.com/zarrfs/zarrfs/fs/material"
	"github.com/zarrfs/zarrfs/fs/pathstate"
	"github.com/zarrfs/zarrfs/fs/stat"
	"github.com/zarrfs/zarrfs/fs/texts"
	"github.com/zarrfs/zarrfs/fs/transient"
	"github.com/zarrfs/zarrfs/fs/view"
	"github.com/zarrfs/zarrfs/fs/writing"
)

// States are those of a mount. The zero value knows nothing.
type States struct {
	pathstate.Table[State, *State]
}

// partsOf returns one kind of parts of all states.
func partsOf[T any](t *States, part func(*State) *T) pathstate.Parts[T] {
	return pathstate.PartsOf(&t.Table, part)
}

// Writings returns what programs write to files of arrays.
func (t *States) Writings() pathstate.Parts[writing.Part] {
	return partsOf(t, func(s *State) *writing.Part { return &s.Writing })
}

// Texts returns the texts that are taken as a whole.
func (t *States) Texts() pathstate.Parts[texts.Part] {
	return partsOf(t, func(s *State) *texts.Part { return &s.Texts })
}

// Unlinked returns the views that were removed.
func (t *States) Unlinked() pathstate.Parts[alias.UnlinkedViews] {
	return partsOf(t, func(s *State) *alias.UnlinkedViews { return &s.Unlinked })
}

// Material returns the files that the kernel reads without us.
func (t *States) Material() pathstate.Parts[material.Part] {
	return partsOf(t, func(s *State) *material.Part { return &s.Material })
}

// Transients returns the files that the store does not have.
func (t *States) Transients() transient.States {
	return transient.States{
		Files: partsOf(t, func(s *State) *transient.Named { return &s.Transients }),
		Texts: partsOf(t, func(s *State) *transient.Named { return &s.Refused }),
	}
}

// Traces returns what processes did to arrays and groups.
func (t *States) Traces() pathstate.Parts[pathstate.Bound[alias.Trace]] {
	return partsOf(t, func(s *State) *pathstate.Bound[alias.Trace] { return &s.Trace })
}

// Failures returns why nodes were refused something.
func (t *States) Failures() pathstate.Parts[pathstate.Bound[errno.Failure]] {
	return partsOf(t, func(s *State) *pathstate.Bound[errno.Failure] { return &s.Failure })
}

// Stat returns what stat answers with.
func (t *States) Stat() stat.States {
	return stat.States{
		Nodes: partsOf(t, func(s *State) *pathstate.Bound[stat.NodePart] { return &s.Node }),
		Taken: partsOf(t, func(s *State) *pathstate.Bound[stat.TakenPart] { return &s.Taken }),
	}
}

// Reads returns the shapes that programs have found in documents.
func (t *States) Reads() pathstate.Parts[pathstate.Bound[input.Readers]] {
	return partsOf(t, func(s *State) *pathstate.Bound[input.Readers] { return &s.Reads })
}

// Copied returns which programs have copied documents.
func (t *States) Copied() pathstate.Parts[pathstate.Bound[input.Copy]] {
	return partsOf(t, func(s *State) *pathstate.Bound[input.Copy] { return &s.Copied })
}

// Views returns what programs that copy trees have written of arrays.
func (t *States) Views() pathstate.Parts[pathstate.Bound[compare.Copied]] {
	return partsOf(t, func(s *State) *pathstate.Bound[compare.Copied] { return &s.Views })
}

// HasOpen reports whether programs write to files of what is at path, or what they wrote is not
// stored. Files of an array that is only about to be created do not count.
func (t *States) HasOpen(path string) (open bool) {
	t.Look(path, func(s *State) { open = s.hasOpen() })
	return open
}

// HasData reports whether programs write bytes or elements of the array at path, or what they wrote
// is not stored.
func (t *States) HasData(path string) (has bool) {
	t.Look(path, func(s *State) { has = s.Writing.It != nil || s.Texts.HasWholes() })
	return has
}

// Below returns path and the paths below it of which anything is known.
func (t *States) Below(path string) (known []string) {
	t.Each(path, func(path string, _ *State) { known = append(known, path) })
	return known
}

// MoveAwaited gives another path to what was written to a view whose array is not there yet.
func (t *States) MoveAwaited(from, to string, v view.View) {
	if from == to {
		return
	}
	t.Both(func() (string, string) { return from, to }, func(old, s *State) {
		if v == view.Document {
			s.Texts.Document.Take(&old.Texts.Document, to)
		} else {
			s.Writing.Take(&old.Writing.Carried, to)
		}
	})
}
