package store

import (
	"context"
	"io"
	"time"
)

// Driver is the least that a backend implements: reading and listing. It is safe for concurrent
// use. [Store] calls it with keys that [IsValidKey] accepts, so a driver does not check them again.
// It adds the key to a driver's errors, so a driver leaves it out.
type Driver interface {
	// Open opens the object at key for reading. A missing key is fs.ErrNotExist, and so is a
	// directory: it is not an object. ctx bounds the opening and all reads of the object.
	Open(ctx context.Context, key string) (Object, error)

	// List calls yield for each direct child of dir ("" is the root), in no order, while it reads
	// the listing: it does not hold all entries at once. A missing dir is fs.ErrNotExist. An error
	// of yield ends the listing and is returned as it is. A store that cannot list at all is
	// ErrCannotList, always.
	List(ctx context.Context, dir string, yield func(Entry) error) error

	// Stat describes one object or directory; key "" is the root. A missing key is fs.ErrNotExist.
	Stat(ctx context.Context, key string) (Info, error)
}

// Writer is a Driver whose store can be changed. It is optional. Where its methods have a namesake
// in [Store] or [Dirs], that one's comment holds for both. A reader, whenever the program dies,
// finds the whole old or the whole new object.
type Writer interface {
	Driver

	// IsWritable reports whether the store can be changed as things are: it lies on no read-only
	// medium, and its user may.
	IsWritable() bool

	// Stage is as Store.StageParts. It leaves what write fails with as it is.
	Stage(ctx context.Context, key string, write func(Parts) error) (StagedObject, error)

	// SyncStaged makes staged objects, all of this driver, durable. Its errors name the key.
	SyncStaged(ctx context.Context, staged []StagedObject) error

	// SyncDirs makes the directories of keys durable, and also the directories above them that the
	// driver made.
	SyncDirs(ctx context.Context, keys []string) error

	Delete(ctx context.Context, key string, cond If) error
	RemoveAll(ctx context.Context, dir string) error
	RemoveAlone(ctx context.Context, dir string, isOwn func(name string) bool) error
	Rename(ctx context.Context, from, to string) error
}

// Parts takes the bytes of an object that is being staged. One goroutine uses it at a time.
type Parts interface {
	// Write appends a part, which it does not keep.
	io.Writer

	// WriteAt replaces bytes that were written before.
	io.WriterAt
}

// StagedObject is what Writer.Stage returns. One goroutine uses it at a time.
type StagedObject interface {
	// Commit is as Staged.Commit. It is the last call, whatever it returns.
	Commit(ctx context.Context, cond If) (Info, error)

	// Discard forgets the object. It is the last call.
	Discard()
}

// Locker is a Driver that other programs expect to hold a lock of its own kind between reading and
// replacing an object. It is optional.
type Locker interface {
	// Lock waits until nobody else holds the lock of key. It is not reentrant.
	Lock(ctx context.Context, key string) (unlock func(), err error)
}

// Replacer is a Driver that can rename a directory onto another at once. It is optional.
type Replacer interface {
	// Replace is as Dirs.Replace.
	Replace(ctx context.Context, from, to string) error
}

// UnfinishedMark is the name of an object in a directory that is not to stay if its program dies.
// Nothing but this module gives an object that name.
const UnfinishedMark = ".zarrfs-unfinished"

// Noter is a Driver that keeps in mind, beyond the death of its program, where something may be
// unfinished. It is optional.
type Noter interface {
	// NoteUnfinished is as Unfinished.Note.
	NoteUnfinished(ctx context.Context, dir string) (mark []byte, forget func(), err error)
	// IsAbandoned is as Unfinished.IsAbandoned.
	IsAbandoned(ctx context.Context, dir string) bool
}

// Cleaner is a Driver that leaves something behind where the program is killed while it writes. It
// is optional.
type Cleaner interface {
	// Clean removes what dead writers left. What dying ones left is removed later, at the latest by
	// Close.
	Clean(ctx context.Context) error
}

// Peeker is a Driver that needs fewer steps to read the beginning of an object than to open, read
// and close it. It is optional.
type Peeker interface {
	// Peek reads the beginning of the object at key into p and returns how many bytes: all of them
	// if the object has fewer than len(p). What is missing, and what is not an object, are the
	// errors of Open.
	Peek(ctx context.Context, key string, p []byte) (n int, err error)
}

// PathStater is a Driver that looks for names in all directories on a path in fewer steps than by a
// Stat of each. It is optional.
type PathStater interface {
	// StatAlong says what Stat would of each of names in dir, and in each directory above it, but
	// nothing of what is missing. Where that takes more, as following a link, it is an error.
	StatAlong(
		ctx context.Context, dir string, names []string, tell func(dir, name string, info Info),
	) error
}

// Refresher is a Driver that remembers where directories are. It is optional.
type Refresher interface {
	// Refresh forgets what is remembered of dir and all below it ("" is the whole store), so that
	// the next Open finds what is there now. A directory may have been replaced by another of the
	// same name.
	Refresh(dir string)
}

// Identifier is a Driver that tells a directory from a recreated one in its place. It is optional.
type Identifier interface {
	// Identity returns an opaque text. It stays as it is when the directory dir is renamed, or what
	// is in it changes, and no other directory ever has it. It is "" if that is not known.
	Identity(ctx context.Context, dir string) (string, error)
}

// Surveyor is a Driver that describes the objects in a directory for less than a Stat of each. It
// is optional.
type Surveyor interface {
	// Survey is List, and says of each child what Stat would, except its rights. An object is left
	// out if it vanishes meanwhile, or if Stat refuses it.
	Survey(ctx context.Context, dir string, yield func(Entry, Info) error) error
}

// Stamper is a Driver that can set the modification time of directories. It is optional.
type Stamper interface {
	// Stamp sets Info.ModTime of the directory dir; "" is the root. The zero time is now.
	Stamp(ctx context.Context, dir string, at time.Time) error
}

// Object is one opened object. It is safe for concurrent use, also of Close with the others. While
// it is open it shows the whole object that Open found. A store that cannot hold on to that shows
// the whole new one or an error, never a mix.
type Object interface {
	// ReadAt reads full or fails, as io.ReaderAt says; io.EOF comes bare. After Close it fails with
	// fs.ErrClosed.
	io.ReaderAt
	io.Closer

	// Size is the object's length in bytes.
	Size() int64

	// Info describes the object as it was when it was opened.
	Info() Info
}

// Owned is an Object that has rights. It is optional.
type Owned interface {
	// Rights returns the rights of users to the object as it was when it was opened.
	Rights() Rights
}

// Entry is one child in a listing.
type Entry struct {
	Name string // one path element
	Dir  bool   // has, or may have, children; of a link, what it leads to
	Link bool   // a link; see Linker
}

// Info describes one object or directory.
type Info struct {
	Name    string    // last element of the key; "" for the root
	Dir     bool      // a directory: Size and Stored mean nothing
	Size    int64     // logical bytes
	Stored  int64     // bytes allocated on the medium
	ModTime time.Time // of the last change; of a directory, of the names in it; zero: unknown
	Changed time.Time // of the last change, that of ModTime included; zero: unknown
	Version string    // opaque; differs when the object was replaced. "" if the store does not know
	Rights  Rights    // of users to it; only what Stat, ReadAll and Commit return has them
	// Replaces is set by Commit where another object was in its place.
	Replaces bool
}
