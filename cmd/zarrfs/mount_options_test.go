package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/spf13/pflag"
)

func TestApplyOptions(t *testing.T) {
	for _, tc := range []struct {
		options []string
		flag    string
		want    string
	}{
		{[]string{"rw,nosuid,nodev,noauto,_netdev,x-systemd.automount,user=bob"}, "io", "auto"},
		{[]string{"allow_other"}, "allow-other", "true"},
		{[]string{"ro", "cache-size=128MiB,io=direct"}, "io", "direct"},
		{[]string{"cache_size=128MiB"}, "cache-size", "128MiB"},
		{[]string{"views=npy:json"}, "views", "npy:json"},
		{[]string{"foreground,"}, "foreground", "true"},
		{[]string{"uid=1000,gid=root,umask=027"}, "uid", "1000"},
		{[]string{"uid=1000,gid=root,umask=027"}, "gid", "0"},
		{[]string{"uid=1000,gid=root,umask=027,max_read=131072"}, "umask", "027"},
		{[]string{"allow_root"}, "allow-root", "true"},
	} {
		flags := pflag.NewFlagSet("mount", pflag.ContinueOnError)
		setupMount(flags)
		if err := applyOptions(flags, tc.options); err != nil {
			t.Errorf("%q: %v", tc.options, err)
		} else if got := flags.Lookup(tc.flag).Value.String(); got != tc.want {
			t.Errorf("%q: --%s is %q, want %q", tc.options, tc.flag, got, tc.want)
		}
	}
	for _, bad := range []string{"nonsense", "cache-size", "cache-size=much", "option=ro",
		"allow_other=perhaps", "uid=nobody at all", "umask=99", "umask=1777"} {
		flags := pflag.NewFlagSet("mount", pflag.ContinueOnError)
		setupMount(flags)
		if err := applyOptions(flags, []string{bad}); err == nil || codeOf(err) != exitUsage {
			t.Errorf("-o %s: %v, want a usage error", bad, err)
		}
	}
}

// TestOwnersAndModes: files have the owner and the permissions that the options of the mount
// choose, and these count for other users.
func TestOwnersAndModes(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: owners and modes of a mount for other users: only root can try them")
	}
	store := writableStore(t)
	for _, tc := range []struct {
		flags           []string
		uid, file, dir  uint32
		reads, modifies bool // a user 65534 in the group 65534
	}{
		{[]string{"-o", "allow_other"}, 0, 0o644, 0o755, true, false},
		{[]string{"-o", "allow_other,uid=65534,gid=65534"}, 65534, 0o644, 0o755, true, true},
		{[]string{"--allow-other", "--umask", "000"}, 0, 0o666, 0o777, true, true},
		{[]string{"--allow-other", "--umask", "027"}, 0, 0o640, 0o750, false, false},
		{[]string{"--allow-root"}, 0, 0o600, 0o700, false, false},
		{[]string{"--allow-other", "--read-only", "--umask", "0"}, 0, 0o444, 0o555, true, false},
	} {
		dir := mounted(t, store, tc.flags...)
		// and in the test's own folder
		noError(t, "let others in", os.Chmod(filepath.Dir(dir), 0o755))
		var file, folder syscall.Stat_t
		noError(t, "stat", syscall.Stat(filepath.Join(dir, "rows.raw"), &file))
		noError(t, "stat", syscall.Stat(dir, &folder))
		if file.Uid != tc.uid || folder.Uid != tc.uid || file.Mode&0o777 != tc.file ||
			folder.Mode&0o777 != tc.dir {
			t.Errorf("%v: the file is of %d with %o, the folder of %d with %o", tc.flags, file.Uid,
				file.Mode&0o777, folder.Uid, folder.Mode&0o777)
		}
		as := func(script string) bool {
			cmd := exec.Command("sh", "-c", script)
			cmd.Dir = "/"
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534,
				Gid: 65534}}
			return cmd.Run() == nil
		}
		path := filepath.Join(dir, "rows.raw")
		if got := as("cat " + path + " > /dev/null"); got != tc.reads {
			t.Errorf("%v: another user reads: %t, want %t", tc.flags, got, tc.reads)
		}
		if got := as("printf xx | dd of=" + path + " conv=notrunc 2> " +
			"/dev/null"); got != tc.modifies {
			t.Errorf("%v: another user writes: %t, want %t", tc.flags, got, tc.modifies)
		}
	}
}
