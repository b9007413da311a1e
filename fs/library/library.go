// Package library answers Zarr libraries that take a mount for a store, and write to it.
package library

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"sync"
	"syscall"
	"time"

	"github.com/zarrfs/zarrfs/fs/alias"
	"github.com/zarrfs/zarrfs/fs/errno"
	"github.com/zarrfs/zarrfs/fs/names"
	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/fs/resolve"
	"github.com/zarrfs/zarrfs/fs/transient"
	"github.com/zarrfs/zarrfs/fs/wire"
	"github.com/zarrfs/zarrfs/zarrcore"
)

// A Zarr library that opens a mount must get an error with the advice to open the store itself.
// Reading fails because of two kinds of documents: those of groups in a mount (meta.InMount), and
// those that only a library looks for (signpostNode). This package is about writing.

// Answers are what such libraries get.
type Answers struct {
	Mount
	unmaking sync.WaitGroup // groups of libraries that are about to go
}

// Mount is the mount that they take for a store.
type Mount struct {
	Ctx        context.Context // ends with the mount
	H          *zarrcore.Hierarchy
	Log        *slog.Logger
	Names      *resolve.Resolver
	Traces     *alias.Traces
	Transients *transient.Files
	Errors     *errno.Log
	Failures   *errno.Failures
	Gone       func(path string)      // notes that a group was removed
	IsWritten  func(path string) bool // whether a program writes the document of a group
}

// New returns how libraries are answered by a mount.
func New(of Mount) *Answers { return &Answers{Mount: of} }

// Wait waits until all groups that are about to go are gone.
func (l *Answers) Wait() { l.unmaking.Wait() }

// errOfStore marks a write by a library that takes the mount for a store.
var errOfStore = fmt.Errorf("%w in a mount", errors.ErrUnsupported)

var (
	// formatTwo are the documents of format 2. No file of a mount has such a name.
	formatTwo = regexp.MustCompile(`^\.z(array|group|attrs|metadata)$`)
	// partials are names of temporary files of zarr-python 2 and 3, and of lock files of
	// tensorstore, for documents and chunks.
	partials = regexp.MustCompile(`^.+\.([0-9a-f]{32}\.partial|__lock)$`)
)

// OfStore returns why a file of that name cannot be made: only a library makes one that takes the
// mount for a store. nil: it can.
func (l *Answers) OfStore(name string) error {
	alone := l.Names.IsAlone() && name == resolve.GroupFile
	if !formatTwo.MatchString(name) && !partials.MatchString(name) && !alone {
		return nil
	}
	return l.IsOfStore(name)
}

// IsOfStore says that a library takes a file of that name for one of a store.
func (l *Answers) IsOfStore(name string) error {
	return fmt.Errorf("%w: %q is a file of a Zarr store, and this is a mount of one. "+
		"To read or write with zarr or xarray, open the store itself: %s", errOfStore, name,
		l.H.Name())
}

// MissedInNew answers for a name that is not in the group at dir. A library that has just made the
// group, and looks for a document of format 2 in it, takes the mount for a store. It finds the
// group's document there, and stops. Then that group goes.
func (l *Answers) MissedInNew(ctx context.Context, dir, name string) {
	if !formatTwo.MatchString(name) || !l.IsMadeByCaller(ctx, dir) {
		return
	}
	l.tellLibrary(ctx, "create", dir, name)
}

// ReadInNew answers for the document of the group at dir. The caller has opened the document to
// read it. A library that wants only format 3 makes the folder, and then reads the document, in
// separate threads. It finds no array or group there, and stops. Then the group goes. Scripts that
// edit the document of a new group do both in the first thread of their process.
func (l *Answers) ReadInNew(ctx context.Context, dir string) {
	if !l.IsMadeByCaller(ctx, dir) {
		return
	}
	thread, by := wire.Thread(ctx), wire.Caller(ctx)
	isOfLibrary := thread != by.PID || thread != l.Traces.Of(dir).Thread
	if isOfLibrary && by.HasZarr() {
		l.tellLibrary(ctx, "open", dir, resolve.GroupFile)
	}
}

// tellLibrary leaves a reason for a library that takes the mount for a store and has just made the
// group at dir. The group goes once the library has read what the group's document says.
func (l *Answers) tellLibrary(ctx context.Context, op, dir, name string) {
	made, by, why := l.Traces.Of(dir).At, wire.Caller(ctx), l.IsOfStore(name)
	l.Errors.Errno(op, names.Join(dir, name), why)
	l.unmaking.Go(func() {
		time.Sleep(unmadeAfter)
		l.Failures.Note(l.unmake(dir, made, by), why)
	})
}

// RefuseName answers for a file that cannot be made under its name in the group at dir. The reason
// is the group's.
func (l *Answers) RefuseName(ctx context.Context, dir, name string, why error) syscall.Errno {
	stays := dir
	if errors.Is(why, errOfStore) {
		stays = l.unmake(dir, time.Now(), wire.Caller(ctx))
	}
	l.Failures.Note(stays, why)
	return l.Errors.Errno("create", names.Join(dir, name), why)
}

// NoGroup is why a group cannot be made at path. What is there may be an array, of which the caller
// sees no such name.
func (l *Answers) NoGroup(path string, why error) error {
	if n, err := l.H.Node(l.Ctx, path); err != nil || n.Kind != zarrcore.ArrayNode {
		return why
	}
	return fmt.Errorf("%w: it is an array, whose files are here. To open it with zarr or xarray, "+
		"open the store itself: %s", why, l.H.Name())
}

// RefusedAt returns the path of the node at which the refusal of a document for path is to be
// noted. A program that takes the mount for a store may have made a group for an array. Then that
// group goes, and the node is the one above it that stays.
func (l *Answers) RefusedAt(path string, by program.Process, why error) string {
	if errors.Is(why, zarrcore.ErrGroupStays) {
		return l.unmake(path, time.Now(), by)
	}
	return path
}

const (
	// unmadeAfter is how long a library may take to read the group's document. It then says what
	// that document says: to open the store.
	unmadeAfter = 100 * time.Millisecond
	// unmadeFor is how old a group may be that is removed again: a library makes the folder of an
	// array right before its document.
	unmadeFor = 10 * time.Second
	// unmadeWith is how much older than the group a group above it may be, if it was made for the
	// sake of the lower one.
	unmadeWith = time.Second
	// madeJustNow is for how long listings do not show a group's document to the process that made
	// the group. The kernel does not keep these listings for so long.
	madeJustNow = time.Second
)

// IsMadeByCaller reports whether the caller has made the group at path a moment ago. A listing does
// not show the group's document to it then. The reason: a library looks whether the folder that it
// has made for a store is empty, and stops if it is not.
func (l *Answers) IsMadeByCaller(ctx context.Context, path string) bool {
	trace := l.Traces.Of(path)
	return !trace.IsGone() && time.Since(trace.At) < madeJustNow && trace.By == wire.Caller(ctx)
}

// IsAsMade reports whether nobody has written the document of the group n since it was made, and
// nobody writes it now. Its maker would lose what it has written if a listing did not show it: it
// may be about to move the folder.
func (l *Answers) IsAsMade(n *zarrcore.Node) bool {
	return n.Version == l.Traces.Of(n.Path).Group && !l.IsWritten(n.Path)
}

// unmake removes the group at path, and those above it. The same process must have made each of
// them just now, not later than made, and each must be as mkdir has made it. It returns the path of
// the nearest group that stays.
func (l *Answers) unmake(path string, made time.Time, by program.Process) (stays string) {
	oldest := time.Now().Add(-unmadeFor)
	for path != "" && by.PID != 0 {
		trace := l.Traces.Of(path)
		isMeant := !trace.IsGone() && trace.By == by && !trace.At.Before(oldest) &&
			!trace.At.After(made)
		if !isMeant || !l.removeAsMade(path, trace.Group) {
			return path
		}
		l.Gone(path)
		l.Log.Warn("removed again: an empty group that a program made for an array, as it took "+
			"the mount for a store", "path", path)
		made, oldest = trace.At, trace.At.Add(-unmadeWith)
		path, _ = names.Split(path)
	}
	return path
}

// removeAsMade removes the group at path, and reports whether it could. It does so only if its
// documents have still that version, and nothing is in it.
func (l *Answers) removeAsMade(path, version string) bool {
	return len(l.Transients.In(path)) == 0 && l.H.RemoveGroup(l.Ctx, path, version) == nil
}
