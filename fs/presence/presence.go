// Package presence keeps a mount in step with what is in its store. What ends, moves or has
// vanished there does so in all that the mount knows, and for the kernel.
package presence

import (
	"context"

	"github.com/zarrfs/zarrfs/fs/known"
	"github.com/zarrfs/zarrfs/fs/nodes"
	"github.com/zarrfs/zarrfs/fs/site"
	"github.com/zarrfs/zarrfs/fs/texts"
	"github.com/zarrfs/zarrfs/fs/writing"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// Paths are those of a mount.
type Paths struct{ Mount }

// Mount is the mount whose paths these are.
type Mount struct {
	Ctx      context.Context // ends with the mount
	H        *zarrcore.Hierarchy
	States   *known.States
	Nodes    *nodes.Table
	Sites    *site.Paths
	Texts    *texts.Files
	Writings *writing.Arrays
}

// New returns the paths of a mount.
func New(of Mount) *Paths { return &Paths{of} }

// Ended notes everywhere in the mount that what was at path does not exist any more.
func (p *Paths) Ended(path string) {
	p.States.End(path)
	nodes.Disown(p.Nodes.Remove(path))
}
