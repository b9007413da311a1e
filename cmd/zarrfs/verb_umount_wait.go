package main

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/fs/program"
)

// releasePatience is how long the process that served a mount may take to end. Then a message says
// what it waits for.
const releasePatience = time.Second

// awaitRelease waits, after the mount was taken out of the tree, for the end of the mount's
// process. It names the copies of the mount that keep the process alive. With force it ends these
// copies. All writes have been stored before, and the process stores again when it ends.
func (u *unmounting) awaitRelease() error {
	if u.pid > 0 && awaitEnd(u.pid, min(u.wait, releasePatience)) == nil {
		return nil
	}
	by, serving, wait := copiesText(u.mount), u.mount.isServedBy(u.pid), u.wait
	switch {
	case by == "" && u.pid <= 0:
		return nil
	case u.force && u.kernel.end() == nil:
		sayCutOff(by)
	case u.force && by != "" && serving:
		u.signalTwice()
		wait = max(wait, detachedFor+rescueMost)
		sayCutOff(by)
	case by != "":
		fmt.Fprintf(stderr, "zarrfs: %s is unmounted here, but copies of the mount go on, as "+
			"containers have them: %s; waiting for their end …\n", u.mount.dir, by)
	default:
		sayUnseen(u.mount, u.pid)
	}
	err := awaitEnd(u.pid, wait)
	if err == nil && u.pid > 0 {
		return nil
	}
	if by = copiesText(u.mount); by == "" {
		return u.endHeld(err)
	}
	return withCode(exitBusy, stillCopied(u.mount, u.pid, serving, by))
}

// endHeld ends the process that serves the mount with force, after it has not ended in time though
// no program uses a copy. A process that is still storing says so at the second signal, and goes
// on.
func (u *unmounting) endHeld(err error) error {
	if err == nil || !u.mount.isServedBy(u.pid) || program.IsStopped(u.pid) {
		return err
	}
	if !u.force {
		return withCode(exitBusy, stillHeld(u.mount, u.pid, err))
	}
	u.signalTwice()
	return awaitEnd(u.pid, detachedFor+rescueMost)
}

func sayCutOff(by string) {
	if by != "" {
		fmt.Fprintln(stderr, "zarrfs: copies of the mount in other mount namespaces are cut off:",
			by)
	}
}

// signalTwice makes the process that serves the mount end. After the second signal it does not wait
// for programs that use a copy, unless they have written meanwhile.
func (u *unmounting) signalTwice() {
	// The process is opened before it is looked at, because another one may get its number later.
	fd, err := unix.PidfdOpen(u.pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if !u.mount.isServedBy(u.pid) {
		return
	}
	for range 2 {
		unix.PidfdSendSignal(fd, unix.SIGTERM, nil, 0)
		time.Sleep(unmountPause)
	}
}

func stillCopied(m mountEntry, pid int, serving bool, by string) error {
	cure := "End these programs"
	if serving {
		cure = fmt.Sprintf("End these programs, or run `kill %d`: that process serves the copies, "+
			"and then ends within %s", pid, detachedFor)
	}
	return fmt.Errorf("%s is unmounted here, but copies of the mount in other mount namespaces, "+
		"as containers have them, go on: %s\n%s; umount with --force cuts them off at once", m.dir,
		by, cure)
}
