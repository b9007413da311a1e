package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestCrashLeavesStacks: a mount in the background that crashes leaves its stacks in the log, also
// after the log was opened again. Where the log is not a file they are in the state folder.
func TestCrashLeavesStacks(t *testing.T) {
	for _, tc := range []struct {
		name, log string
		rotated   bool
	}{
		{"a file", "file", false},
		{"a file that was rotated", "file", true},
		{"no log", "none", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			state := t.TempDir()
			t.Setenv("XDG_STATE_HOME", state)
			log := filepath.Join(t.TempDir(), "mount.log")
			stacks, flag := log, log
			if tc.log == "none" {
				stacks, flag = filepath.Join(state, "zarrfs", crashName), "none"
			}
			dir := mounted(t, makeStore(t), "--read-only", "--log", flag)
			pid := servingPid(dir)
			if tc.rotated {
				rotate(t, log, pid)
			}
			// A crash of the runtime ends the same way.
			noError(t, "abort", syscall.Kill(pid, syscall.SIGABRT))
			soon(t, "the stacks are there", func() bool {
				text, _ := os.ReadFile(stacks)
				found := string(text)
				return strings.Contains(found, "SIGABRT") && strings.Contains(found, "goroutine ")
			})
		})
	}
}

// rotate renames the log of a mount, and waits until the mount has opened it again.
func rotate(t *testing.T, log string, pid int) {
	t.Helper()
	noError(t, "rename", os.Rename(log, log+".1"))
	noError(t, "hang up", syscall.Kill(pid, syscall.SIGHUP))
	soon(t, "the log is opened again", func() bool {
		text, _ := os.ReadFile(log)
		return strings.Contains(string(text), "opened again")
	})
}

// TestRotateAtOnce: a log may be rotated as soon as its mount is there. The mount cannot report yet
// that it has started, because the pipe for the report is full.
func TestRotateAtOnce(t *testing.T) {
	needFuse(t)
	dir, log := t.TempDir(), filepath.Join(t.TempDir(), "mount.log")
	cmd, report := unreportedMount(t, makeStore(t), dir, "--read-only", "--log", log)
	soon(t, "it is mounted", func() bool {
		_, err := os.Stat(filepath.Join(dir, "a.npy"))
		return err == nil
	})
	rotate(t, log, cmd.Process.Pid)

	_, err := io.Copy(io.Discard, report)
	noError(t, "read the report", err)
	if code, out := zarrfs(t, "umount", dir); code != 0 {
		t.Errorf("umount: exit code %d: %s", code, out)
	}
	noError(t, "wait", cmd.Wait())
}
