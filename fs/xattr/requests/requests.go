// Package requests reads and sets the extended attributes of files and folders, as programs ask
// for it. They follow from the documents in the store, and change these.
package requests

import (
	"context"
	"log/slog"
	"sync"

	"github.com/zarrfs/zarrfs/fs/alias"
	"github.com/zarrfs/zarrfs/fs/document"
	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/input"
	"github.com/zarrfs/zarrfs/fs/nodes"
	"github.com/zarrfs/zarrfs/fs/rights"
	"github.com/zarrfs/zarrfs/fs/site"
	"github.com/zarrfs/zarrfs/fs/stat"
	"github.com/zarrfs/zarrfs/fs/transient"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// Attributes are those of the nodes of a mount.
type Attributes struct {
	Mount
	foreign sync.Map // by name of an attribute: the program that it was refused last
}

// Mount is the mount whose nodes have them.
type Mount struct {
	*errno.Answers
	Ctx        context.Context // ends with the mount
	H          *zarrcore.Hierarchy
	Log        *slog.Logger
	Nodes      *nodes.Table
	Sites      *site.Paths
	Documents  *document.Files
	Transients *transient.Files
	Traces     *alias.Traces
	Copied     *input.Copies
	Rights     *rights.Rights
	Stat       *stat.Cache
}

// New returns the attributes of the nodes of a mount.
func New(of Mount) *Attributes { return &Attributes{Mount: of} }
