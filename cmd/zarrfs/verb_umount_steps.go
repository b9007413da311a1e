package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/fs/attach"
	"github.com/zarrfs/zarrfs/fs/program"
	"github.com/zarrfs/zarrfs/fs/statusfile"
	"github.com/zarrfs/zarrfs/fs/transient"
)

// unmounting is the work of umount on one mount.
type unmounting struct {
	mount       mountEntry
	at          string // the folder where the mount is asked; it may be that of a copy
	onlyCopies  bool   // it was taken out of the tree before, and goes on for copies of it
	lazy, force bool
	wait        time.Duration // for the end of the program that serves it
	pid         int           // of that program; 0: not known
	named       int           // the number by which the program calls itself; 0: not known
	verdict     *os.File      // in which that program says how it ended; nil: not known
	kept        []string      // files with what was written for arrays that no longer exist
	hasKept     bool          // some of them exist
	kernel      connection
}

// umount unmounts the store at dir.
func umount(dir string, lazy, force bool, wait time.Duration) error {
	u := &unmounting{lazy: lazy, force: force, wait: wait}
	err := u.find(dir)
	if err != nil {
		return err
	}
	if owner, known := u.mount.owner(); known && os.Geteuid() != 0 && os.Geteuid() != owner {
		return mountErr(fmt.Errorf("%s was mounted by user %d; only they and root may unmount it "+
			"(sudo zarrfs umount %[1]s)", u.mount.dir, owner))
	}
	u.kernel = connectionOf(u.mount)
	defer u.kernel.close()
	if done, err := u.meet(); done || err != nil {
		return err
	}
	defer u.verdict.Close()
	return u.finish()
}

// find looks for the mount at dir, or for copies that are left of it.
func (u *unmounting) find(dir string) (err error) {
	if u.mount, err = ourMountAt(dir); err == nil {
		u.at = u.mount.dir
		return nil
	}
	left, at, found := leftOf(dir)
	if !found {
		return err
	}
	u.mount, u.at, u.onlyCopies = left, at, true
	if u.force {
		return nil
	}
	pid := left.server()
	return withCode(exitBusy, stillCopied(left, pid, left.isServedBy(pid), copiesText(left)))
}

// meet asks the program that serves the mount whether it is there, and unmounts if it is not.
func (u *unmounting) meet() (done bool, err error) {
	state, health := u.askPatiently(u.at)
	switch {
	case health == gone:
		err := u.cutOff()
		return true, cmp.Or(err, u.killedErr(u.sayLeft()))
	case health == silent && u.force:
		return true, u.cutOffSilent()
	case u.mount.kind != ourKind:
		return true, mountErr(fmt.Errorf("%s is a mount of type %s, not of zarrfs; "+
			"unmount it with `umount %[1]s`", u.mount.dir, u.mount.kind))
	case health == silent && !u.lazy:
		return true, mountErr(silentError(u.mount, 0))
	case health == silent:
		return true, u.detach()
	case state.Pid == 0 && u.isTakenOut():
		return true, mountErr(fmt.Errorf("another program unmounted %s meanwhile; the output of "+
			"that program says whether all is stored", u.mount.dir))
	}
	u.kept = state.Core.Write.Kept
	u.pid = u.mount.serverOr(state.Pid)
	u.named = cmp.Or(state.Pid, u.pid)
	u.verdict = verdictFile(u.pid)
	return false, nil
}

// finish has the mount store what was written, takes it out of the tree, and waits for the end of
// the program that serves it.
func (u *unmounting) finish() error {
	unstored, err := u.awaitStored()
	switch {
	case errors.Is(err, errStoreHangs):
		state, _ := stateOf(u.at)
		sayOthers(state.OtherFiles)
		return u.endByForce()
	case err != nil && u.force:
		return u.cutOffSilent()
	case err != nil:
		return mountErr(err)
	case unstored != nil && !u.force && !u.lazy:
		return mountErr(fmt.Errorf("%s stays mounted, because %w\nRemove the cause and try again. "+
			"`zarrfs umount --force %[1]s` unmounts now, and keeps unsaved bytes in the scratch "+
			"folder if there is room", u.mount.dir, unstored))
	}
	if err := u.takeOut(); err != nil {
		return err
	}
	return u.howEnded(unstored)
}

// takeOut takes the mount out of the tree, and waits.
func (u *unmounting) takeOut() error {
	state, health := u.askPatiently(u.at)
	if health == silent && !u.force {
		return mountErr(silentError(u.mount, u.pid))
	}
	if err := keepable(u.mount.dir, state.OtherFiles); err != nil && !u.force {
		return mountErr(err)
	}
	if files := state.Core.Write.Kept; len(files) > 0 {
		u.kept = files
	}
	u.hasKept = sayKept(u.kept)
	others := state.OtherFiles
	if u.lazy || u.onlyCopies {
		sayOthers(others)
	}
	var err error
	switch {
	case u.onlyCopies:
	case u.lazy:
		return u.detach()
	default:
		others, err = u.unmountPatiently()
	}
	if err == nil {
		err = u.awaitRelease()
	}
	if err == nil {
		err = checkOthers(others, state.Log)
	}
	return err
}

// sayKept names the files with what was written for arrays that another program has removed or
// replaced. It reports whether there are any. It does not count files that were restored and
// removed.
func sayKept(files []string) bool {
	files = slices.DeleteFunc(files, func(name string) bool {
		_, err := os.Lstat(name)
		return errors.Is(err, os.ErrNotExist)
	})
	if len(files) > 0 {
		fmt.Fprintf(stderr, "zarrfs: what was written for arrays that another program has removed "+
			"or replaced is kept in %q. %s\n", files, restoring(files))
	}
	return len(files) > 0
}

// cutOff takes a mount whose program has ended, or does not answer, out of the tree. It makes the
// kernel abort all waiting requests: a killed program may itself wait for its own mount.
func (u *unmounting) cutOff() error {
	err := u.kernel.end() // if this user may
	if err != nil && u.onlyCopies {
		return mountErr(fmt.Errorf("%w\nCopies of a mount can only be cut off after "+
			"`mount -t fusectl none /sys/fs/fuse/connections`", silentError(u.mount, u.pid)))
	}
	if !u.onlyCopies {
		err = unix.Unmount(u.mount.dir, unix.MNT_FORCE|unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
		if errors.Is(err, syscall.EPERM) {
			err = unmountOnce(u.mount.dir, true)
		}
	}
	if err != nil && !u.isTakenOut() {
		return mountErr(fmt.Errorf("cannot unmount %s: %w", u.mount.dir, err))
	}
	return nil
}

// cutOffSilent is cutOff where the program that serves the mount does not answer. It fails unless
// nothing can have been written, because nobody knows what that program has not stored.
func (u *unmounting) cutOffSilent() error {
	pid := cmp.Or(u.pid, u.mount.server())
	if err := u.cutOff(); err != nil || u.mount.isReadOnly() {
		return err
	}
	text := "the program that serves it"
	if pid != 0 {
		text = fmt.Sprintf("process %d, which serves it,", pid)
	}
	if pid != 0 && program.IsStopped(pid) {
		text += fmt.Sprintf(" is stopped. Let it go on with `kill -CONT %d`", pid)
	} else {
		text += " did not answer. Unless it was killed, let it end by itself"
	}
	return mountErr(fmt.Errorf("%s is unmounted, but %s: it then stores what was written, "+
		"or keeps it in the scratch folder. What it has not stored is lost if it is killed",
		u.mount.dir, text))
}

// killedErr says what a mount may have lost, after its program ended without unmounting it. named
// says that folders with files of it were named before.
func (u *unmounting) killedErr(named bool) error {
	if u.mount.kind != ourKind || u.mount.isReadOnly() {
		return nil
	}
	kept := "in the mount's scratch folder, if it had one of its own"
	if named {
		kept = "in a folder named above"
	}
	return mountErr(fmt.Errorf("%s is unmounted, but %w\nWhat was not stored by then is lost. "+
		"What `close` or `fsync` accepted before is stored, or kept %s", u.mount.dir, errKilled,
		kept))
}

// sayLeft names what is left in the scratch folder of files that are not arrays. It reports whether
// there are any.
func (u *unmounting) sayLeft() (named bool) {
	for _, left := range transient.LeftIn("") {
		if left.Mount == u.mount.dir {
			fmt.Fprintf(stderr, "zarrfs: %s\n", leftText(left))
			named = true
		}
	}
	return named
}

// detach takes the mount out of the tree, also while programs use it. If none does, and the mount
// has no copy, the program that served it ends.
func (u *unmounting) detach() error {
	if u.unmountOnce(false) == nil {
		if err := awaitEnd(u.pid, min(u.wait, releasePatience)); err == nil ||
			copiesText(u.mount) != "" {
			return nil
		}
		return awaitEnd(u.pid, u.wait)
	}
	if err := u.unmountOnce(true); err != nil {
		return mountErr(fmt.Errorf("cannot unmount %s: %w", u.mount.dir, err))
	}
	return nil
}

const (
	// unmountPatience is how long a plain unmount is tried: a program that closed a file just now
	// may not be done yet.
	unmountPatience = 2 * time.Second
	// unseenPatience is how much longer it is tried where no user of the mount is found: a program
	// that only looked at it usually finishes soon.
	unseenPatience = 8 * time.Second
)

// unmountPatiently unmounts as soon as no program uses the mount. Just before that it names the
// files that are not arrays, when programs can no longer make arrays of them. It returns them.
func (u *unmounting) unmountPatiently() (others *transient.Kept, err error) {
	var said *transient.Kept
	dir := u.mount.dir
	for deadline := time.Now().Add(unmountPatience); ; time.Sleep(50 * time.Millisecond) {
		last := time.Now().After(deadline)
		state, health := u.askPatiently(dir)
		if health == silent && !u.force {
			return nil, mountErr(silentError(u.mount, u.pid))
		}
		if others = state.OtherFiles; others != nil && usersText(dir) != "" {
			if last {
				return nil, withCode(exitBusy, busyError(dir))
			}
			continue
		}
		if others != nil && (said == nil || !slices.Equal(said.Files, others.Files)) {
			sayOthers(others)
			said = others
		}
		switch err := u.unmountOnce(false); {
		case err == nil:
			return others, nil
		case !isBusy(err):
			return nil, mountErr(fmt.Errorf("cannot unmount %s: %w", dir, err))
		case time.Now().After(deadline.Add(unseenPatience)), last && usersText(dir) != "":
			return nil, withCode(exitBusy, busyError(dir))
		}
	}
}

func busyError(dir string) error {
	by := usersText(dir)
	if by == "" {
		by = "a program that you may not look into, or that is stuck"
	}
	return fmt.Errorf("%s is in use by %s; end that, or use `zarrfs umount --lazy %[1]s`", dir, by)
}

// unmountOnce takes the mount out of the tree. If another program has done so meanwhile, it says
// that and succeeds, because the rest of the work is the same.
func (u *unmounting) unmountOnce(lazy bool) error {
	err := unmountOnce(u.mount.dir, lazy)
	if err == nil || !u.isTakenOut() {
		return err
	}
	fmt.Fprintf(stderr, "zarrfs: %s was unmounted by another program meanwhile\n", u.mount.dir)
	return nil
}

// isTakenOut reports whether the mount is not in the tree any more.
func (u *unmounting) isTakenOut() bool {
	return !slices.ContainsFunc(allMounts(), func(m mountEntry) bool {
		return m.dir == u.mount.dir && m.dev == u.mount.dev
	})
}

func unmountOnce(dir string, lazy bool) error {
	flags, args := 0, []string{"-u", dir}
	if lazy {
		flags, args = unix.MNT_DETACH, []string{"-u", "-z", dir}
	}
	if err := unix.Unmount(dir, flags|unix.UMOUNT_NOFOLLOW); err == nil ||
		!errors.Is(err, syscall.EPERM) {
		return err
	}
	return attach.Fusermount(args...)
}

func isBusy(err error) bool {
	return errors.Is(err, syscall.EBUSY) || strings.Contains(err.Error(), "busy")
}

// silentMost is how many times in a row the program that serves a mount may not answer. One that is
// stopped is asked once.
const silentMost = 3

// askPatiently is stateOf. A busy machine takes seconds to start the process that asks, so it asks
// again, unless the program is stopped or need not answer.
func (u *unmounting) askPatiently(dir string) (s statusfile.Status, h health) {
	for range silentMost {
		s, h = stateOf(dir)
		if h != silent || u.force || u.lazy || program.IsStopped(cmp.Or(u.pid, u.mount.server())) {
			break
		}
	}
	return s, h
}

var errStoreHangs = errors.New("what was written is not stored in time")

// awaitStored is storeApart, but fails where the program that serves the mount does not answer
// other requests either. Where storing may be given up, it fails with errStoreHangs after some
// time.
func (u *unmounting) awaitStored() (unstored, err error) {
	patience := time.Duration(math.MaxInt64) // a flush takes as long as the store does
	if u.force {
		patience = u.wait
	}
	done := make(chan error, 1)
	go func() { done <- storeApart(u.at) }()
	over := time.After(patience)
	for silence, said := 0, false; ; {
		select {
		case unstored = <-done:
			return unstored, nil
		case <-over:
			return nil, errStoreHangs
		case <-time.After(answerPatience):
		}
		if state, health := stateOf(u.at); health == answers {
			if silence = 0; !said {
				said = true
				fmt.Fprintf(stderr, "zarrfs: storing what was written, of which %s are left …\n",
					bytesText(state.Core.Write.Dirty))
			}
		} else if silence++; silence == silentMost || program.IsStopped(u.pid) {
			return nil, fmt.Errorf("while it was to store what was written, %w",
				silentError(u.mount, u.pid))
		}
	}
}

// endByForce takes the mount out of the tree. A third signal makes the mount's program end without
// storing what was written. The program keeps the unstored bytes in the scratch folder.
func (u *unmounting) endByForce() error {
	dir, pid := u.mount.dir, u.named
	// The process is opened before it is looked at, because another one may get its number later.
	fd, noProcess := unix.PidfdOpen(pid, 0)
	if noProcess == nil {
		defer unix.Close(fd)
	}
	serves := noProcess == nil && u.mount.isServedBy(pid)
	if !u.onlyCopies {
		if err := u.unmountOnce(true); err != nil {
			return mountErr(fmt.Errorf("cannot unmount %s: %w", dir, err))
		}
	}
	switch {
	case noProcess != nil:
		return mountErr(fmt.Errorf("%s is unmounted; the process that serves it is not known, "+
			"and may still be storing", dir))
	case !serves:
		return mountErr(fmt.Errorf("%s is unmounted. Its status names process %d, but that "+
			"process does not serve this mount, so it was sent no signal", dir, pid))
	}
	for range 3 {
		unix.PidfdSendSignal(fd, unix.SIGTERM, nil, 0)
		time.Sleep(unmountPause)
	}
	if err := awaitEnd(pid, max(u.wait, rescueMost+time.Second)); err != nil {
		return err
	}
	return u.howEnded(errStoreHangs)
}
