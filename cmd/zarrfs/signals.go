package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/zarrfs/zarrfs/fs"
	"github.com/zarrfs/zarrfs/zarrcore"
)

const (
	// unmountTries and unmountPause: a program that was just killed may hold a file for a moment.
	unmountTries = 20
	unmountPause = 100 * time.Millisecond
)

// detachedFor is how long programs may go on with open files of a mount that a signal has detached,
// or with copies of it.
var detachedFor = 30 * time.Second

// catchSignals keeps the signals that unmount from ending the process. It must be called before
// there is a mount: a process that a signal ends just after it has mounted leaves a stale mount
// behind. While it still looks at its own mount, that one hangs.
//
// SIGHUP ends a mount in the foreground, because its terminal is gone. In the background it opens
// the log again if that is a file, and otherwise has no effect.
func catchSignals(c *mountConfig, log *mountLog) <-chan os.Signal {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	switch {
	case c.foreground:
		signal.Notify(signals, syscall.SIGHUP)
	case log.file != nil:
		log.reopenOnHangUp()
	default:
		signal.Ignore(syscall.SIGHUP)
	}
	return signals
}

// reopenOnHangUp opens the log again at SIGHUP, as programs that rotate logs ask for.
func (l *mountLog) reopenOnHangUp() {
	hangUps := make(chan os.Signal, 1)
	signal.Notify(hangUps, syscall.SIGHUP)
	go func() {
		for range hangUps {
			if err := l.file.reopen(); err != nil {
				l.Error("the log is not opened again", "err", err)
				continue // crashes go where they went
			}
			l.keepCrashes()
			l.Info("the log was opened again")
		}
	}()
}

// ending is the end of a mount, by a signal or by umount.
type ending struct {
	mount     *fs.Mount
	hierarchy *zarrcore.Hierarchy
	config    *mountConfig
	log       *mountLog
	entry     mountEntry // of the mount, while it is in the tree
	verdict   *os.File
}

// onSignal stores what was written and unmounts at SIGINT, SIGTERM and SIGHUP, also at one that
// came before. If programs still use the mount it is detached: it is gone for everyone else, and
// they have a while to finish. At a second signal it says what is not stored. If that is nothing,
// the process ends, as it does at a third signal in any case.
func (e *ending) onSignal(signals <-chan os.Signal) {
	s := <-signals
	e.log.Info("unmounting", "signal", s.String(), "dir", e.config.dir)
	go e.forceOnSignal(signals)
	if err := e.mount.Flush(); err != nil {
		e.log.Error("not all could be stored; it is tried again when the mount is gone", "dir",
			e.config.dir, "err", err)
	}
	e.end()
}

// end unmounts, or detaches a busy mount. Programs that still use it then, also by a copy of it in
// another mount namespace, have a while to finish.
func (e *ending) end() {
	if err := e.unmountRepeatedly(); err != nil {
		e.log.Warn("still in use: detached from the tree", "dir", e.config.dir, "by",
			usersText(e.config.dir), "err", err)
		if err := e.detach(); err != nil {
			e.log.Error("cannot detach", "dir", e.config.dir, "err", err)
		}
	}
	if e.isGoneWithin(detachedFor) {
		return
	}
	e.log.Warn("programs still use files of the detached mount; they now get errors", "dir",
		e.config.dir)
	if err := e.storeMapped(); err != nil {
		e.exit(e.lost(err))
	}
	e.exit(e.keepRest(errCutOff, true))
}

// mappedMost is how long the kernel has to hand over what programs have written in mappings.
const mappedMost = 3 * time.Second

// storeMapped stores all that was written, also by programs that have files mapped.
func (e *ending) storeMapped() error {
	err := e.mount.TakeMapped(mappedMost)
	return errors.Join(err, e.mount.Flush())
}

// exit ends the process. Pages of mappings may still be to come, and the process would wait for
// itself then. So the kernel is made to give them up.
func (e *ending) exit(err error) {
	code := report(err)
	select {
	case <-e.mount.Gone(): // another mount may have its number
	default:
		connectionOf(e.entry).end()
	}
	os.Exit(code)
}

// unmountRepeatedly unmounts as soon as no program uses the mount. It gives up after a while.
func (e *ending) unmountRepeatedly() (err error) {
	for range unmountTries {
		if !e.isInTree() {
			return nil
		}
		if err = e.mount.Unmount(); err == nil || e.isGoneWithin(unmountPause) {
			return nil
		}
	}
	return err
}

// isInTree reports whether the mount can be unmounted. After another program has unmounted it,
// another mount may have its folder, while this one goes on for those that have files of it open.
func (e *ending) isInTree() bool {
	at, ok := mountAt(e.entry.dir)
	return ok && at.dev == e.entry.dev
}

func (e *ending) detach() error {
	if !e.isInTree() {
		return nil
	}
	return e.mount.Detach()
}

// isGoneWithin reports whether the mount ends within some time: nobody uses it any more.
func (e *ending) isGoneWithin(d time.Duration) bool {
	select {
	case <-e.mount.Gone():
		return true
	case <-time.After(d):
		return false
	}
}

// forceOnSignal ends the process at a second signal, whatever still uses the mount. What programs
// have written in mappings is stored before, if the store takes it in time. If something is not
// stored it says so, and waits for a third. That is then kept in the scratch folder, unless a
// fourth comes before it is, or the disk takes too long.
func (e *ending) forceOnSignal(signals <-chan os.Signal) {
	<-signals
	taken := len(e.mount.Unstored()) == 0 && e.storeMappedWithin(2*mappedMost)
	if left := e.mount.Unstored(); len(left) > 0 {
		w := e.hierarchy.Status().Write
		e.log.Warn("not all is stored yet; one more signal ends the process before that, and "+
			"moves the rest to the scratch folder",
			"bytes", w.Dirty, "arrays", left, "errors", w.Errors, "scratch", e.config.scratchDir)
		<-signals
		taken = false
	}
	e.log.Warn("forced to end")
	e.detach()
	ended := make(chan error, 1)
	go func() { ended <- e.keepRest(errForced, taken) }()
	select {
	case err := <-ended:
		e.exit(err)
	case <-signals:
	case <-time.After(rescueMost):
	}
	e.exit(errForced)
}

// storeMappedWithin is storeMapped, which goes on after some time. It reports whether that was
// enough.
func (e *ending) storeMappedWithin(most time.Duration) bool {
	stored := make(chan error, 1)
	go func() { stored <- e.storeMapped() }()
	select {
	case err := <-stored:
		return err == nil
	case <-time.After(most):
		return false
	}
}

// keepRest is the last action of a process that does not store any more. If anything is not stored,
// keepRest keeps it and returns an error. Unless pages of mappings were taken before, they are now.
// Those that do not come in time count as not stored.
func (e *ending) keepRest(why error, taken bool) (err error) {
	if !taken {
		err = e.mount.TakeMapped(mappedMost)
	}
	if err != nil || len(e.mount.Unstored()) > 0 {
		return e.lost(errors.Join(why, err))
	}
	verdict{Stored: true}.say(e.verdict)
	if err := e.mount.KeepFiles(); err != nil {
		return err
	}
	e.log.Info("unmounted; all that was written is stored", "store", e.hierarchy.Name(), "dir",
		e.config.dir)
	return nil
}

// lost keeps what could not be stored in the scratch folder, and says so.
func (e *ending) lost(why error) error {
	kept, err := e.hierarchy.Rescue(e.config.scratchDir)
	lines, linesErr := e.mount.Rescue(e.config.scratchDir)
	kept, err = append(kept, lines...), errors.Join(err, linesErr)
	v := verdict{Why: "not all that was written is stored: " + safeLines(why), Kept: kept}
	if err != nil {
		v.Lost = safeLines(err)
		e.log.Error("not all of what could not be stored is kept", "err", err)
	}
	v.say(e.verdict)
	othersErr := e.mount.KeepFiles()
	e.log.Error("unmounted, but not all is stored", "store", e.hierarchy.Name(), "dir",
		e.config.dir, "err", why, "kept", kept)
	text := fmt.Sprintf("%s is unmounted, but %s%s", e.config.dir, v.Why, keptText(kept, v.Lost))
	return errors.Join(inLines(text), othersErr)
}

// errForced says that the mount ended without waiting for the store.
var errForced = errors.New("forced to end before all was stored")

// errCutOff says that programs had files of the mount open when it ended.
var errCutOff = errors.New("the mount ended while programs wrote")

// rescueMost is how long a forced end may take.
const rescueMost = 10 * time.Second
