package main

import (
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestAwaitEndWithoutDescriptors: where no descriptor of a process can be had, it is waited for all
// the same, and not taken for one that has ended.
func TestAwaitEndWithoutDescriptors(t *testing.T) {
	sleep := exec.Command("sleep", "600")
	noError(t, "start", sleep.Start())
	defer sleep.Wait()
	defer sleep.Process.Kill()
	var limit unix.Rlimit
	noError(t, "the limit of descriptors", unix.Prlimit(0, unix.RLIMIT_NOFILE, nil, &limit))
	none := unix.Rlimit{Cur: 0, Max: limit.Max}
	noError(t, "lower it", unix.Prlimit(0, unix.RLIMIT_NOFILE, &none, nil))
	running := awaitEnd(sleep.Process.Pid, 50*time.Millisecond)
	sleep.Process.Kill()
	sleep.Wait()
	ended := awaitEnd(sleep.Process.Pid, time.Minute)
	noError(t, "raise it", unix.Prlimit(0, unix.RLIMIT_NOFILE, &limit, nil))
	if running == nil {
		t.Error("a process that runs counts as ended")
	}
	noError(t, "a process that has ended", ended)
}
