// Package replacing readies an array that is renamed onto another one. If the array is no more than
// a document, or the content of one file, only that takes the place of the other one's.
package replacing

import (
	"context"

	"github.com/zarrfs/zarrfs/fs/alias"
	"github.com/zarrfs/zarrfs/fs/document"
	"github.com/zarrfs/zarrfs/fs/known"
	"github.com/zarrfs/zarrfs/fs/nodes"
	"github.com/zarrfs/zarrfs/fs/presence"
	"github.com/zarrfs/zarrfs/fs/remake"
	"github.com/zarrfs/zarrfs/fs/stat"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// Arrays are those of a mount that are renamed onto others.
type Arrays struct{ Mount }

// Mount is the mount whose arrays these are.
type Mount struct {
	Ctx       context.Context // ends with the mount
	H         *zarrcore.Hierarchy
	Store     *store.Store // nil: unknown
	States    *known.States
	Nodes     *nodes.Table
	Present   *presence.Paths
	Traces    *alias.Traces
	Stat      *stat.Cache
	Documents *document.Files
	Remade    *remake.Arrays
}

// New returns the arrays of a mount.
func New(of Mount) *Arrays { return &Arrays{of} }
