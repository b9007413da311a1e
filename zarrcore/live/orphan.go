package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/catalog"
	"github.com/zarrfs/zarrfs/zarrcore/rescue"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// errGone says that there is nothing where an array was.
var errGone = fmt.Errorf("%w: it was removed", catalog.ErrOrphan)

// A keeper keeps in files of the scratch folder what was written for arrays that are no more, and
// forgets those arrays. All methods may be called concurrently.
type keeper struct {
	*common

	mu    sync.Mutex // held over nothing that waits
	files []string   // with what was given up
}

// Kept returns the files with what was given up, because its arrays are no more.
func (k *keeper) Kept() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.files)
}

// GiveUpOrphans keeps in files what was written to arrays that flushes have not found for as long
// as age, unless a program has them open.
func (k *keeper) GiveUpOrphans(ctx context.Context, age time.Duration) {
	for _, d := range k.unsaved.all() {
		k.giveUpOrphan(ctx, d, age)
	}
}

// giveUpOrphan keeps in a file of the scratch folder what was written for an array that is no
// more: another program has removed it, or replaced it by one of another layout. It does so once
// nobody has that array open. Otherwise it would stand against every unmount. Where rows are
// refused, they are first taken back, which each flush tries: only the draft knows of them.
func (k *keeper) giveUpOrphan(ctx context.Context, d *draft, age time.Duration) {
	if !d.hasExpired(age) || d.isInUse() {
		return
	}
	err := d.look(ctx) // what the last flush found may be another by now
	if errors.Is(err, catalog.ErrOrphan) && !d.isLeftBehind(err) {
		k.keepInFile(d, err) // where it cannot be kept it stays, and that is in the log
	}
}

// keepInFile moves what was written for an array that no longer exists to a file in the
// scratch folder, and forgets the array. why is in the log.
func (k *keeper) keepInFile(d *draft, why error) error {
	bytes := d.set.Bytes()
	file, _, err := d.unstored().Write(k.of.ScratchDir)
	if err != nil {
		if file != "" { // it is all in memory, and is tried again
			err = errors.Join(err, rescue.Remove(file))
		}
		k.of.Log.Error("unsaved data of an array that no longer exists cannot be written to a "+
			"file; it stays in memory, and is tried again", "array", d.path, "bytes", bytes, "err",
			err)
		return d.fail("rescue", err)
	}
	k.of.Log.Error("unsaved data of an array that no longer exists is now in a file; recreate "+
		"the array, and `zarrfs restore FILE` puts it back",
		"array", d.path, "bytes", bytes, "file", file, "err", why)
	k.drop(d)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.files = append(k.files, file)
	return nil
}

// drop forgets what was written to an array that is no more. A program that opens what is in its
// place now gets a draft of that.
func (k *keeper) drop(d *draft) {
	d.flushing.Lock()
	defer d.flushing.Unlock()
	d.forget()
	a := k.open.at(d.path)
	if a != nil && slices.Contains(a.lineage.drafts(), d) {
		k.open.take(d.path)
	}
}

// Vacate frees a path, and all below it, for a new node. Another program may have
// removed an array that was there. What was written to that and is not stored is
// kept in a file of the scratch folder. While a program has it open, that is ErrInUse.
// That program goes on as with any file that was removed. Nothing happens to an array
// unless it is certain that it is not there, and that the store is.
func (k *keeper) Vacate(ctx context.Context, path string) error {
	if err := k.vacate(ctx, path); err != nil {
		return &catalog.Error{Op: "create", Path: path, Err: err}
	}
	return nil
}

func (k *keeper) vacate(ctx context.Context, path string) error {
	for _, d := range k.unsaved.all() {
		if _, below := store.Moved(d.path, path, path); !below || d.isRemovedHere() {
			continue
		}
		if err := k.vacateDraft(ctx, d); err != nil {
			return err
		}
	}
	for _, a := range k.open.below(path) {
		if err := k.bury(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// vacateDraft keeps in a file what was written to an array and is not stored, if it is
// certain that the array is no more.
func (k *keeper) vacateDraft(ctx context.Context, d *draft) error {
	why := k.absent(ctx, d.path)
	if !errors.Is(why, catalog.ErrOrphan) {
		return why
	}
	if d.isInUse() {
		return fmt.Errorf("%w: another program has removed the array %q that was here, "+
			"%d bytes written to it are not stored, and it is still open",
			ErrInUse, d.path, d.set.Bytes())
	}
	return k.keepInFile(d, why)
}

// bury forgets a completely stored array, if it is certain that the array is no more.
func (k *keeper) bury(ctx context.Context, a *Array) error {
	if err := k.absent(ctx, a.gen.Path); !errors.Is(err, catalog.ErrOrphan) {
		return err
	}
	defer a.lineage.pause()()
	if !a.lineage.isClean() {
		return fmt.Errorf("%w: another program has removed the array that was here, "+
			"and it is being written to", ErrInUse)
	}
	k.open.take(a.gen.Path)
	if a.lineage.where == "" || !a.lineage.isInUse() {
		a.lineage.abandon()
		return nil
	}
	a.draft.loseName() // it may only have another one
	return nil
}
