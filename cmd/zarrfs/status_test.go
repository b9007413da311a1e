package main

import (
	"encoding/json"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// soon waits for what is to come, up to a minute: the machine may be slow.
func soon(t *testing.T, what string, has func() bool) {
	t.Helper()
	for start := time.Now(); !has(); time.Sleep(20 * time.Millisecond) {
		if time.Since(start) > time.Minute {
			t.Errorf("not so within a minute: %s", what)
			return
		}
	}
}

// TestStatusVerb lists two mounts, one of which has refused something.
func TestStatusVerb(t *testing.T) {
	store := writableStore(t)
	rw, ro := mounted(t, store), mounted(t, store, "--read-only")
	if err := os.WriteFile(filepath.Join(rw, "x.npy"), []byte("this is text"), 0o666); err == nil {
		t.Error("a text is taken")
	}
	code, out := zarrfs(t, "status", rw, ro)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != 0 || len(lines) != 3 ||
		strings.Join(strings.Fields(lines[0]), " ") != "MOUNT STORE MODE PID UNSTORED "+
			"CACHE ERRORS" {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	for i, want := range []string{rw + " " + store + " rw ", ro + " " + store + " ro "} {
		if line := strings.Join(strings.Fields(lines[i+1]), " "); !strings.HasPrefix(line, want) {
			t.Errorf("line %q, want %q", line, want)
		}
	}
	if !strings.Contains(lines[1], `("/x": not a NumPy file`) ||
		!strings.HasSuffix(lines[2], " -") {
		t.Errorf("errors are\n%s", out)
	}
	if code, out := zarrfs(t, "status"); code != 0 || !strings.Contains(out, rw+" ") ||
		!strings.Contains(out, ro+" ") {
		t.Errorf("all mounts: exit code %d:\n%s", code, out)
	}
	_, out = zarrfs(t, "status", "--json", rw)
	var all []mountState
	if err := json.Unmarshal([]byte(out), &all); err != nil || len(all) != 1 ||
		*all[0].Pid != stateFrom(rw).Pid || *all[0].Errors == 0 || all[0].Last.Path != "x" {
		t.Errorf("%+v: %v", all, err)
	}
	code, out = zarrfs(t, "status", filepath.Join(t.TempDir(), "none"))
	if code != exitMount || !strings.Contains(out, "`zarrfs status` lists the mounts") {
		t.Errorf("status of no folder: exit code %d: %s", code, out)
	}
	if code, out := zarrfs(t, "status", t.TempDir()); code != exitMount ||
		!strings.Contains(out, "is not a mount") {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// TestStatusOfStaleMount: a mount whose program was killed is listed as what it is.
func TestStatusOfStaleMount(t *testing.T) {
	dir := mounted(t, makeStore(t))
	noError(t, "kill", syscall.Kill(stateFrom(dir).Pid, syscall.SIGKILL))
	soon(t, "the mount is stale", func() bool { return string(stateHere(dir)) == goneWord })
	if code, out := zarrfs(t, "status", dir); code != 0 || !saysUnknown(out, "stale") {
		t.Errorf("status: exit code %d:\n%s", code, out)
	}
	if code, out := zarrfs(t, "errors", dir); code != exitMount ||
		!strings.Contains(out, "is a stale mount") {
		t.Errorf("errors: exit code %d:\n%s", code, out)
	}
	umountKilled(t, dir)
}

// saysUnknown reports whether status shows a mount in that mode, and nothing else of it.
func saysUnknown(out, mode string) bool {
	fields := strings.Fields(strings.Join(strings.Split(out, "\n")[1:2], ""))
	none := []string{mode, "unknown", "unknown", "unknown", "unknown"}
	return len(fields) == 7 && slices.Equal(fields[2:], none)
}

// TestStatusOfOthers: another user is told that what a mount has unstored is unknown, and not that
// it is nothing.
func TestStatusOfOthers(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: what status shows to other users: only root can run as one")
	}
	rw, ro := mounted(t, writableStore(t)), mounted(t, makeStore(t), "--read-only")
	self, err := os.Executable()
	noError(t, "this program", err)
	program := filepath.Join(t.TempDir(), "zarrfs") // where others may start it
	noError(t, "copy it", exec.Command("install", "-m", "755", self, program).Run())
	noError(t, "let others in", os.Chmod(filepath.Dir(filepath.Dir(program)), 0o755))
	status := func(args ...string) string {
		cmd := exec.Command(program, append([]string{"status"}, args...)...)
		cmd.Env, cmd.Dir = []string{asProgram + "=1"}, "/"
		nobody := &syscall.Credential{Uid: 65534, Gid: 65534}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: nobody}
		out, err := cmd.CombinedOutput()
		noError(t, "status: "+string(out), err)
		return string(out)
	}
	for dir, mode := range map[string]string{rw: "rw", ro: "ro"} {
		out := status(dir)
		if !saysUnknown(out, mode) || !strings.Contains(out, "only the user who mounted it") {
			t.Errorf("%s:\n%s", mode, out)
		}
		out = strings.Join(strings.Fields(status("--json", dir)), "")
		for _, name := range []string{"pid", "unstored_bytes", "cache_used", "cache_size",
			"errors"} {
			if !strings.Contains(out, `"`+name+`":null`) {
				t.Errorf("%s is not null:\n%s", name, out)
			}
		}
	}
}

// TestErrorsVerb prints the reason of a refusal, and where the log is.
func TestErrorsVerb(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	dir := mounted(t, writableStore(t), "--log", log)
	if code, out := zarrfs(t, "errors", dir); code != 0 ||
		!strings.Contains(out, "no errors in "+dir+"\nThe log is in "+log) {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	os.WriteFile(filepath.Join(dir, "x.npy"), []byte("this is text"), 0o666)
	want := `"/x"  EINVAL: not a NumPy file: it starts with "this is text"`
	if code, out := zarrfs(t, "errors", dir); code != 0 || !strings.Contains(out, want) {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	_, out := zarrfs(t, "errors", "--json", dir)
	var e mountErrors
	if err := json.Unmarshal([]byte(out), &e); err != nil || len(e.Errors) != 1 ||
		e.Errors[0].Errno != "EINVAL" || e.Log != log {
		t.Errorf("%+v: %v", e, err)
	}
}

// TestUmountSeveral unmounts several folders, also where one of them is not a mount.
func TestUmountSeveral(t *testing.T) {
	store, plain := makeStore(t), t.TempDir()
	a, b, c := mounted(t, store), mounted(t, store), mounted(t, store)
	if code, out := zarrfs(t, "umount", a, plain, b); code != exitMount ||
		!strings.Contains(out, plain+" is not a mount") {
		t.Errorf("exit code %d: %s", code, out)
	}
	for dir, want := range map[string]bool{a: false, b: false, c: true} {
		if _, is := mountAt(dir); is != want {
			t.Errorf("%s is mounted: %t, want %t", dir, is, want)
		}
	}
	for args, want := range map[string]string{"umount": "or --all",
		"umount --all " + c: "exclude each other"} {
		if code, out := zarrfs(t, strings.Fields(args)...); code != exitUsage ||
			!strings.Contains(out, want) {
			t.Errorf("%s: exit code %d: %s", args, code, out)
		}
	}
	// the mounts of other tests stay
	if all, err := chooseMounts(nil, true); err != nil ||
		!strings.Contains(strings.Join(all, "\n"), c) {
		t.Errorf("--all chooses %v, %v", all, err)
	}
	if code, out := zarrfs(t, "unmount", c); code != 0 {
		t.Errorf("unmount: exit code %d: %s", code, out)
	}
}

// TestStateLog: where there is no syslog the log is in the state folder, and nothing is said of it.
// SIGHUP opens a log again.
func TestStateLog(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	l, err := stateLog()
	if err != nil || l.path != filepath.Join(state, "zarrfs", "zarrfs.log") {
		t.Fatalf("the log is %+v, %v", l, err)
	}
	noError(t, "let it grow", os.WriteFile(l.path, make([]byte, logMost+1), 0o600))
	_, err = stateLog()
	noError(t, "open again", err)
	if info, err := os.Stat(l.path); err != nil || info.Size() != 0 {
		t.Errorf("a log that has grown is not put aside: %v", err)
	}
	flags := []string{"mount"}
	if _, err := newSyslog(&slog.HandlerOptions{}); err == nil {
		t.Log("SKIPPED: which log is chosen without a syslog, because there is one here")
		flags = append(flags, "--log", l.path)
	}
	needFuse(t)
	dir := t.TempDir()
	if code, out := zarrfs(t, append(flags, writableStore(t), dir)...); code != 0 || out != "" {
		t.Errorf("mount: exit code %d, says %q", code, out)
	}
	defer zarrfs(t, "umount", dir)
	soon(t, "the log says that it is mounted", func() bool {
		return strings.Contains(string(bytesOf(t, l.path)), "msg=mounted")
	})
	noError(t, "put the log aside", os.Rename(l.path, l.path+".old"))
	noError(t, "kill -HUP", syscall.Kill(stateFrom(dir).Pid, syscall.SIGHUP))
	soon(t, "the log is opened again", func() bool { _, err := os.Stat(l.path); return err == nil })
	os.WriteFile(filepath.Join(dir, "x.npy"), []byte("this is text"), 0o666)
	if b := bytesOf(t, l.path); !strings.Contains(string(b), "not a NumPy file") {
		t.Errorf("after SIGHUP the log has %q", b)
	}
}

func TestNearest(t *testing.T) {
	for written, want := range map[string]string{"mont": "mount", "muont": "mount",
		"unmout": "unmount", "tre": "tree", "inf": "info", "frob": "", "x": ""} {
		if got := nearest(written, []string{"mount", "umount", "unmount", "tree", "info",
			"cat"}); got != want {
			t.Errorf("%q: %q, want %q", written, got, want)
		}
	}
}
