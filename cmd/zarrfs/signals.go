package main

import (
	"errors"
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
	// detachedFor is how long programs may go on with open files of a mount that a signal has detached.
	detachedFor = 30 * time.Second
)

// catchSignals keeps the signals that unmount from ending the process. It must be called before there is a mount: a process that
// dies of one right after leaves a stale mount behind, and while it still looks at its own mount, one that hangs.
func catchSignals(c *mountConfig) <-chan os.Signal {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if c.foreground { // its terminal is gone
		signal.Notify(signals, syscall.SIGHUP)
	} else {
		signal.Ignore(syscall.SIGHUP)
	}
	return signals
}

// reopenOnHangUp makes a mount in the background open its log again at SIGHUP, as programs that rotate logs ask for.
func reopenOnHangUp(c *mountConfig, log *mountLog) {
	if c.foreground || log.file == nil {
		return
	}
	hangUps := make(chan os.Signal, 1)
	signal.Notify(hangUps, syscall.SIGHUP)
	go func() {
		for range hangUps {
			if err := log.file.reopen(); err != nil {
				log.Error("the log is not opened again", "err", err)
			}
		}
	}()
}

// unmountOnSignal stores what was written and unmounts at SIGINT, SIGTERM and SIGHUP, also at one that has come already. If programs
// still use the mount it is detached: it is gone for everyone else, and they have a while to finish. A second signal tells what is not
// stored, or if that is nothing ends the process; the third ends it at any rate.
func unmountOnSignal(signals <-chan os.Signal, m *fs.Mount, h *zarrcore.Hierarchy, c *mountConfig, log *mountLog) {
	go func() {
		s := <-signals
		log.Info("unmounting", "signal", s.String(), "dir", c.dir)
		go forceOnSignal(m, h, c, signals, log)
		if err := m.Flush(); err != nil {
			log.Error("not all could be stored; it is tried again when the mount is gone", "dir", c.dir, "err", err)
		}
		endMount(m, h, c, log)
	}()
}

// endMount unmounts, or detaches a busy mount.
func endMount(m *fs.Mount, h *zarrcore.Hierarchy, c *mountConfig, log *mountLog) {
	var err error
	for range unmountTries {
		if err = m.Unmount(); err == nil {
			return
		}
		time.Sleep(unmountPause)
	}
	log.Warn("still in use: detached from the tree", "dir", c.dir, "by", usersText(c.dir), "err", err)
	if err := m.Detach(); err != nil {
		log.Error("cannot detach", "dir", c.dir, "err", err)
		return
	}
	time.Sleep(detachedFor)
	log.Warn("programs still use files of the detached mount; they now get errors", "dir", c.dir)
	if err := m.Flush(); err != nil {
		os.Exit(report(lost(m, h, c, log, err)))
	}
	os.Exit(report(m.KeepFiles()))
}

// forceOnSignal ends the process at a second signal, whatever still uses the mount. If something is not stored it says so, and
// waits for a third. That is then kept in the scratch folder, unless a fourth comes before it is, or the disk takes too long.
func forceOnSignal(m *fs.Mount, h *zarrcore.Hierarchy, c *mountConfig, signals <-chan os.Signal, log *mountLog) {
	<-signals
	if w := h.Status().Write; w.Dirty > 0 {
		log.Warn("not all is stored yet; one more signal ends this without, and keeps what is left in the scratch folder", "bytes", w.Dirty, "errors", w.Errors, "scratch", c.scratchDir)
		<-signals
	}
	log.Warn("forced to end")
	m.Detach()
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		lost(m, h, c, log, errForced)
	}()
	select {
	case <-kept:
	case <-signals:
	case <-time.After(rescueMost):
	}
	os.Exit(exitFail)
}

// errForced says that nobody waited for the store.
var errForced = errors.New("forced to end before all was stored")

// rescueMost is how long a forced end may take.
const rescueMost = 10 * time.Second
