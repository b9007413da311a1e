package integration

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// hostileName is a name by which the author of a store may mislead its readers. It has colours, a
// forged line, a part shown backwards, controls of one byte and of two, and bytes that are not
// text.
const hostileName = "x\x1b[31m\nFORGED line\r\t\x7f\u0085\u009b\u202eypn\u2066\u2069\xff\xfe"

// safe fails the test where text could change what a terminal shows of other text, or begins a line
// that is not ours.
func safe(t *testing.T, what, text string) {
	t.Helper()
	for at, r := range text {
		if r == utf8.RuneError && !strings.HasPrefix(text[at:], "\ufffd") ||
			r != '\n' && unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			t.Errorf("%s has %q in it:\n%q", what, r, text)
			return
		}
	}
	if strings.Contains(text, "\nFORGED") {
		t.Errorf("%s has a forged line:\n%q", what, text)
	}
}

// TestHostileTextIsQuoted: whatever a store holds, and wherever it is, no verb and no log prints
// controls, marks of direction or forged lines.
func TestHostileTextIsQuoted(t *testing.T) {
	for _, format := range []string{"2", "3"} {
		store, mnt := hostileStore(t, format), t.TempDir()
		log := filepath.Join(t.TempDir(), "log")
		say := func(args ...string) {
			out, _ := command(zarrfs(t), args...)
			safe(t, "zarrfs "+args[0], string(out))
		}
		say("mount", "--log", log, "--log-level", "debug", store, mnt)
		entries, err := os.ReadDir(mnt)
		if err != nil || len(entries) < 3 {
			t.Fatalf("the mount has %v (%v)", entries, err)
		}
		for _, e := range entries {
			safe(t, "a name", e.Name())
			path := filepath.Join(mnt, e.Name())
			os.ReadFile(path)
			os.WriteFile(path, []byte("{"+hostileName), 0o644)
			why := make([]byte, 4096)
			n, _ := unix.Getxattr(path, "user.zarrfs.error", why)
			safe(t, "user.zarrfs.error", string(why[:max(n, 0)]))
		}
		os.Mkdir(filepath.Join(mnt, hostileName+".npy"), 0o755)
		name := "notes" + strings.ReplaceAll(hostileName, "/", "")
		os.WriteFile(filepath.Join(mnt, name), nil, 0o644)
		for _, args := range [][]string{
			{"info", store}, {"info", store, hostileName}, {"info", store, "plain"},
			{"info", store, "broken"}, {"info", "--json", store, "plain"},
			{"tree", store}, {"tree", "--json", store}, {"cat", store, "nothing" + hostileName},
			{"info", store + hostileName},
			{"status"}, {"status", "--json"}, {"status", mnt}, {"errors", mnt},
			{"errors", "--json", mnt}, {"migrate", "--dry-run", store},
			{"create", store, "b" + hostileName, "--shape", "x" + hostileName, "--dtype",
				hostileName}, {"mount", store, mnt}, {hostileName},
			{"umount", mnt},
		} {
			say(args...)
		}
		text, err := os.ReadFile(log)
		if err != nil || len(text) == 0 {
			t.Errorf("the log: %v", err)
		}
		safe(t, "the log", string(text))
	}
}

// TestHostileMembersAreQuoted: the name of a member that must be understood does not begin a line.
func TestHostileMembersAreQuoted(t *testing.T) {
	store := filepath.Join(t.TempDir(), "store")
	run(t, zarrfs(t), "create", store, "strange", "--shape", "2", "--dtype", "u1")
	path := filepath.Join(store, "strange", "zarr.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	member := `{"x\nFORGED line\t": {"must_understand": true},`
	text = append([]byte(member), bytes.TrimPrefix(text, []byte("{"))...)
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"migrate", "cat", "info"} {
		out, _ := command(zarrfs(t), verb, store, "strange")
		if !strings.Contains(string(out), "FORGED") {
			t.Errorf("%s does not name the member: %q", verb, out)
		}
		safe(t, verb, string(out))
	}
}

// hostileStore makes a store whose path, names, attributes, axes and faults are hostile.
func hostileStore(t *testing.T, format string) string {
	t.Helper()
	store := filepath.Join(t.TempDir(), hostileName)
	run(t, zarrfs(t), "create", store, "--group", "--format", format)
	for _, name := range []string{"plain", "broken"} {
		run(t, zarrfs(t), "create", store, name, "--shape", "2", "--dtype", "u1", "--codecs",
			"none", "--format", format)
	}
	asText := strings.ToValidUTF8(hostileName, "")
	change := func(name string, change func(doc map[string]any)) {
		path := filepath.Join(store, name)
		doc := map[string]any{}
		text, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(text, &doc)
		} else if os.IsNotExist(err) {
			err = nil
		}
		change(doc)
		if err == nil {
			text, err = json.Marshal(doc)
		}
		if err == nil {
			err = os.WriteFile(path, text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	attributes := map[string]any{asText: asText, "list": []string{asText}}
	if format == "2" {
		attributes["_ARRAY_DIMENSIONS"] = []string{asText}
		change("plain/.zattrs", func(doc map[string]any) {
			for name, value := range attributes {
				doc[name] = value
			}
		})
		change("broken/.zarray",
			func(doc map[string]any) { doc["filters"] = []any{map[string]any{"id": asText}} })
	} else {
		change("plain/zarr.json", func(doc map[string]any) {
			doc["attributes"], doc["dimension_names"] = attributes, []string{asText}
		})
		change("broken/zarr.json",
			func(doc map[string]any) { doc["codecs"] = []any{map[string]any{"name": asText}} })
	}
	err := os.CopyFS(filepath.Join(store, hostileName), os.DirFS(filepath.Join(store, "plain")))
	if err != nil {
		t.Fatal(fmt.Errorf("copy: %w", err))
	}
	return store
}

// TestHostileTextOfWhatIsNotStored: umount and restore name an array that cannot be stored. umount
// also names a program that uses the mount. Neither prints control characters or forged lines.
func TestHostileTextOfWhatIsNotStored(t *testing.T) {
	needRoot(t)
	store, mnt, scratch := filepath.Join(tmpfs(t, "1m"), "s.zarr"), t.TempDir(), t.TempDir()
	run(t, zarrfs(t), "create", store, "--group")
	run(t, zarrfs(t), "create", store, "plain", "--shape", "4194304", "--dtype", "u1")
	name := strings.ToValidUTF8(hostileName, "")
	if err := os.Rename(filepath.Join(store, "plain"), filepath.Join(store, name)); err != nil {
		t.Fatal(err)
	}
	run(t, zarrfs(t), "mount", "--scratch-dir", scratch, store, mnt)
	arrays, err := filepath.Glob(mnt + "/x*.raw")
	if err != nil || len(arrays) != 1 {
		t.Fatalf("found %q (%v)", arrays, err)
	}
	program := filepath.Join(t.TempDir(), "x\x1b\nFORGED")
	run(t, "cp", "/bin/sleep", program)
	say := func(want string, args ...string) {
		out, err := command(zarrfs(t), args...)
		safe(t, "zarrfs "+args[0], string(out))
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("zarrfs %s: expected %q, %v\n%s", args[0], want, err, out)
		}
	}
	user := limited(t, program, "600")
	user.Dir = mnt
	if err := user.Start(); err != nil {
		t.Fatal(err)
	}
	say("in use by", "umount", mnt)
	user.Process.Kill()
	user.Wait()

	f, err := os.OpenFile(arrays[0], os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	noise := make([]byte, 4<<20) // which cannot be compressed
	rand.Read(noise)
	_, err = f.Write(noise)
	if err = errors.Join(err, f.Close()); !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("on a full disk: %v", err)
	}
	say("stays mounted", "umount", mnt)
	say("zarrfs restore", "umount", "--force", mnt)
	kept, err := filepath.Glob(scratch + "/*.unsaved")
	if err != nil || len(kept) != 1 {
		t.Fatalf("kept: %q (%v)", kept, err)
	}
	say("no space left", "restore", kept[0])
}
