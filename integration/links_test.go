package integration

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// linkedStore makes a store of that format, in which a group run42 holds an array a, an array w of
// strings and a group sub. links are made beside them: text by name.
func linkedStore(t *testing.T, format string, links map[string]string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "s.zarr")
	for _, args := range [][]string{
		{"create", dir, "--group", "--format", format},
		{"create", dir, "run42/a", "--shape", "10,4", "--dtype", "<i2", "--chunks", "3,3"},
		{"create", dir, "run42/w", "--shape", "2", "--dtype", "string"},
		{"create", dir, "run42/sub", "--group"},
		{"create", dir, "run43/a", "--shape", "5", "--dtype", "<i4"},
	} {
		if out, err := command(zarrfs(t), args...); err != nil {
			t.Fatalf("zarrfs %q: %v\n%s", args, err, out)
		}
	}
	mnt := t.TempDir()
	if out, err := command(zarrfs(t), "mount", dir, mnt); err != nil {
		t.Fatalf("zarrfs mount %s: %v\n%s", dir, err, out)
	}
	fill(t, filepath.Join(mnt, "run42/a.raw"))
	fill(t, filepath.Join(mnt, "run43/a.raw"))
	err := os.WriteFile(filepath.Join(mnt, "run42/w.jsonl"), []byte("\"grün\"\n\"x\"\n"), 0)
	if err != nil {
		t.Error(err)
	}
	unmount(t, mnt)
	for name, text := range links {
		err := os.Symlink(strings.ReplaceAll(text, "STORE", dir), filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// formats runs a test with a store of each format.
func formats(t *testing.T, test func(t *testing.T, format string)) {
	for _, format := range []string{"2", "3"} {
		t.Run("format "+format, func(t *testing.T) { test(t, format) })
	}
}

// linksBelow returns the links below dir, "name -> text", and fails if one of them is not a link to
// lstat and to readdir alike.
func linksBelow(t *testing.T, dir string) (links []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Lstat(path)
		if err != nil || info.Mode().Type() != e.Type() {
			return fmt.Errorf("%s: listed as %v, lstat says %v, %v", path, e.Type(), info, err)
		}
		if e.Type() != fs.ModeSymlink {
			return nil
		}
		text, err := os.Readlink(path)
		if err == nil && int64(len(text)) != info.Size() {
			err = fmt.Errorf("%s: the text %q, and the size %d", path, text, info.Size())
		}
		name, _ := filepath.Rel(dir, path)
		links = append(links, name+" -> "+text)
		return err
	})
	if err != nil {
		t.Error(err)
	}
	slices.Sort(links)
	return links
}

// wantLinks compares the links below dir with a list.
func wantLinks(t *testing.T, dir string, want ...string) {
	t.Helper()
	want = slices.Sorted(slices.Values(want))
	if got := linksBelow(t, dir); !slices.Equal(got, want) {
		t.Errorf("links below %s:\n%s\nwant:\n%s",
			dir, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// viewLinks are the links by which an array of fixed-size elements is linked.
func viewLinks(name, target string) []string {
	var links []string
	for _, view := range []string{"json", "npy", "raw"} {
		links = append(links, fmt.Sprintf("%s.%[3]s -> %[2]s.%[3]s", name, target, view))
	}
	return links
}

// TestLinksAreShown: a link of the store is one in the mount, by its text, with names as they are
// shown.
func TestLinksAreShown(t *testing.T) {
	formats(t, func(t *testing.T, format string) {
		store := linkedStore(t, format, map[string]string{
			"latest": "run42", "al": "run42/a", "wl": "run42/w", "abs": "STORE/run42/sub",
			"run42/sub/up": "../..", "run42/sub/al": "STORE/run42/a",
			"self": ".", "chain": "latest/a", "dots": "./run42//sub/", "x.npy": "run42",
			"to.x": "x.npy", "odd\nname": "run42",
			"to-odd": "odd\nname",
		})
		mnt := mount(t, store)
		want := append(viewLinks("al", "run42/a"), viewLinks("chain", "latest/a")...)
		want = append(want, viewLinks("run42/sub/al", "../a")...)
		want = append(want, "latest -> run42", "abs -> run42/sub", "run42/sub/up -> ../..",
			"self -> .", "dots -> ./run42//sub/", "x.npy -> run42",
			"to.x -> x.npy", "odd%0Aname -> run42", "to-odd -> odd%0Aname",
			"wl.json -> run42/w.json", "wl.npy -> run42/w.npy", "wl.jsonl -> run42/w.jsonl")
		wantLinks(t, mnt, want...)
		array := read(t, filepath.Join(mnt, "run42/a.npy"))
		for _, name := range []string{
			"al.npy", "chain.npy", "latest/a.npy", "self/self/al.npy", "run42/sub/al.npy",
			"run42/sub/up/al.npy", "x.npy/a.npy", "to.x/a.npy", "to-odd/a.npy",
		} {
			if got := read(t, filepath.Join(mnt, name)); !bytes.Equal(got, array) {
				t.Errorf("%s has %d bytes, expected those of the array", name, len(got))
			}
		}
		if got := read(t, filepath.Join(mnt, "wl.jsonl")); string(got) != "\"grün\"\n\"x\"\n" {
			t.Errorf("wl.jsonl is %q", got)
		}
	})
}

// TestBadLinks: links that leave the store lead nowhere, and their text is not shown; the log says
// why. Others are shown as they are.
func TestBadLinks(t *testing.T) {
	formats(t, func(t *testing.T, format string) {
		outside := t.TempDir()
		os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o666)
		log := filepath.Join(t.TempDir(), "log")
		store := linkedStore(t, format, map[string]string{
			"out": outside, "run42/out": "../../other.zarr", "outfile.npy": outside + "/secret",
			"passwd": "/etc/passwd",
			"none":   "run44", "loop": "loop", "within": "run42/a/c", "self.npy": "self.npy",
			"run42/zarr.json.bak": "nothing",
		})
		os.MkdirAll(filepath.Join(store, "run42/a/c"), 0o777)
		mnt := mount(t, store, "--log", log)
		wantLinks(t, mnt, "out -> .zarrfs/outside", "run42/out -> ../.zarrfs/outside",
			"outfile.npy -> .zarrfs/outside", "passwd -> .zarrfs/outside",
			"none -> run44", "loop -> loop", "within -> run42/a/c", "self.npy -> self.npy",
			"run42/zarr.json.bak -> nothing")
		for name, want := range map[string]error{
			"out": fs.ErrNotExist, "out/secret": fs.ErrNotExist, "run42/out": fs.ErrNotExist,
			"outfile.npy": fs.ErrNotExist, "none": fs.ErrNotExist,
			"loop": syscall.ELOOP, "within": fs.ErrNotExist,
		} {
			if _, err := os.Stat(filepath.Join(mnt, name)); !errors.Is(err, want) {
				t.Errorf("stat %s: %v, want %v", name, err, want)
			}
		}
		if text := string(read(t, log)); strings.Count(text, "leads outside the store") != 4 ||
			strings.Contains(text, outside) || strings.Contains(text, "other.zarr") {
			t.Errorf("the log, which should name the four links, says:\n%s", text)
		}
		shell(t, mnt, "mkdir in; ! cp -a run42 in/ 2>/dev/null; rm -r in")
		const why = "path=in/run42/out errno=EPERM err=\"a copy of a link that leads outside"
		if text := string(read(t, log)); !strings.Contains(text, why) {
			t.Errorf("the log does not say %q:\n%s", why, text)
		}
		shell(t, mnt, "rm -r out outfile.npy none loop self.npy; rm passwd within; rm -r run42")
		wantLinks(t, mnt)
		if got := read(t, filepath.Join(outside, "secret")); string(got) != "secret" {
			t.Errorf("what was linked to is %q", got)
		}
	})
}

// TestLinksAreRemoved: rm, with -r or without, removes a link and never what it leads to.
func TestLinksAreRemoved(t *testing.T) {
	formats(t, func(t *testing.T, format string) {
		for _, script := range []string{
			"rm latest; rm al.*; rm run42/sub/up; rm wl.json*; rm -f wl.npy",
			"rm -r latest al.npy al.raw al.json run42/sub/up wl.json wl.jsonl wl.npy",
			"find . -type l -delete", "find . -type l | xargs -n 1 rm",
			"rm -r al.json run42/sub/up latest wl.*; rm -f al.*",
		} {
			store := linkedStore(t, format, map[string]string{"latest": "run42", "al": "run42/a",
				"wl": "run42/w", "run42/sub/up": "../.."})
			mnt := mount(t, store)
			before := tree(t, filepath.Join(mnt, "run42"))
			if err := unix.Rmdir(filepath.Join(mnt, "latest")); err != unix.ENOTDIR {
				t.Errorf("rmdir of a link: %v, want ENOTDIR", err)
			}
			if err := unix.Rmdir(filepath.Join(mnt, "al.npy")); err != unix.ENOTDIR {
				t.Errorf("rmdir of a link to a file: %v, want ENOTDIR", err)
			}
			shell(t, mnt, script)
			wantLinks(t, mnt)
			wantLinks(t, store)
			sameTree(t, tree(t, filepath.Join(mnt, "run42")), before)
			shell(t, mnt, "rm -r run42; [ ! -e run42 ]")
		}
	})
}

// TestGroupsWithLinksAreRemoved: rm -r of a group that holds links removes them with it, wherever
// they lead, and nothing else.
func TestGroupsWithLinksAreRemoved(t *testing.T) {
	formats(t, func(t *testing.T, format string) {
		for _, script := range []string{
			"rm -r run42", "find run42 -delete",
			"python3 -c 'import shutil; shutil.rmtree(\"run42\")'", "rm -r run42 al.* latest",
		} {
			store := linkedStore(t, format, map[string]string{
				"latest": "run42", "al": "run42/a", "run42/b": "a", "run42/other": "../run43",
				"run42/self": ".", "run42/aa": "../run43/a", "run42/out": "/etc",
			})
			mnt := mount(t, store)
			before := tree(t, filepath.Join(mnt, "run43"))
			shell(t, mnt, script)
			sameTree(t, tree(t, filepath.Join(mnt, "run43")), before)
			if _, err := os.Lstat(filepath.Join(store, "run42")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: run42 is there still: %v", script, err)
			}
			if strings.Contains(script, "latest") {
				wantLinks(t, mnt)
			} else { // as in any file system
				wantLinks(t, mnt, "latest -> run42", "al -> run42/a")
			}
		}
	})
}

// TestWalksEnd: no program that walks a tree goes round in circles by a link, nor does zarrfs.
func TestWalksEnd(t *testing.T) {
	formats(t, func(t *testing.T, format string) {
		store := linkedStore(t, format, map[string]string{"self": ".", "run42/up": "..",
			"run42/sub/top": "../..", "al": "run42/a"})
		mnt, out := mount(t, store), t.TempDir()
		for _, script := range []string{
			"find . | wc -l", "du -s .", "cp -r . " + out + "/cp", "cp -a . " + out + "/cpa",
			"rsync -a ./ " + out + "/rsync", "tar cf " + out + "/tar .", "ls -lR . | wc -l",
			"diff -r --no-dereference . " + out + "/cpa", "grep -r nothing . || true",
		} {
			if _, err := exec.LookPath(strings.Fields(script)[0]); err != nil {
				t.Logf("SKIPPED: %s: %v", script, err)
				continue
			}
			cmd := limited(t, "sh", "-ec", script)
			cmd.Dir = mnt
			text, err := cmd.CombinedOutput()
			if err != nil || strings.Contains(string(text), "loop") ||
				strings.Contains(string(text), "levels") {
				t.Errorf("%s: %v\n%s", script, err, text)
			}
		}
		if got, err := command("find", mnt, "-type", "d"); err != nil ||
			strings.Count(string(got), "\n") != 4 {
			t.Errorf("the mount has these folders, %v:\n%s", err, got)
		}
		if got, err := command(zarrfs(t), "tree", store); err != nil ||
			strings.Count(string(got), "run42") != 2 ||
			!strings.Contains(string(got), "self -> .") {
			t.Errorf("zarrfs tree: %v\n%s", err, got)
		}
		if got, err := command(zarrfs(t), "info", store, "run42/sub/top/self/run42"); err != nil ||
			!strings.Contains(string(got), "/run42\n") {
			t.Errorf("zarrfs info: %v\n%s", err, got)
		}
	})
}

// TestLinksAreCopied: programs that copy trees keep links, out of a mount, into one, and from one
// to another. Those that are told to follow them copy what they lead to.
func TestLinksAreCopied(t *testing.T) {
	formats(t, func(t *testing.T, format string) {
		store := linkedStore(t, format, map[string]string{"latest": "run42", "al": "run42/a",
			"run42/b": "a", "run42/aa": "../run43/a", "none": "run44/x", "wl": "run42/w"})
		mnt := mount(t, store)
		links, files := linksBelow(t, mnt), arraysBelow(t, mnt)
		for _, script := range []string{
			"cp -a SRC/. DST/", "rsync -a SRC/ DST/", "rsync -rl SRC/ DST/",
			"(cd SRC && tar cf - .) | (cd DST && tar xf -)", "cp -dR SRC/. DST/",
			"cd SRC && find . | cpio -pdmu --quiet DST",
			"cp -a SRC/al.* DST/ && cp -an SRC/. DST/",
			"mkdir -p OUT/mid && cp -a SRC/. OUT/mid/ && mv OUT/mid/* DST/",
		} {
			if name := strings.Fields(script)[0]; name != "cd" && !strings.HasPrefix(name, "(") {
				if _, err := exec.LookPath(name); err != nil {
					t.Logf("SKIPPED: %s: %v", script, err)
					continue
				}
			}
			if _, err := exec.LookPath("cpio"); err != nil && strings.Contains(script, "cpio") {
				t.Logf("SKIPPED: %s: %v", script, err)
				continue
			}
			out := t.TempDir()
			copyLinks(t, script, mnt, out)
			wantLinks(t, out, links...)
			sameTree(t, arraysBelow(t, out), files)

			other := emptyStore(t, format)
			into := mount(t, other)
			copyLinks(t, script, mnt, into)
			wantLinks(t, into, links...)
			sameTree(t, arraysBelow(t, into), files)
			// again, over the copy
			if strings.HasPrefix(script, "rsync") || strings.HasPrefix(script, "cp -a SRC/. ") {
				copyLinks(t, script, out, into)
				wantLinks(t, into, links...)
				sameTree(t, arraysBelow(t, into), files)
			}
			wantLinks(t, other, linksBelow(t, store)...)
		}
		for _, script := range []string{
			"cp -rL SRC/latest DST/", "rsync -aL SRC/latest DST/",
			"(cd SRC && tar chf - latest) | (cd DST && tar xf -)",
		} {
			if _, err := exec.LookPath("rsync"); err != nil && strings.HasPrefix(script, "rsync") {
				t.Logf("SKIPPED: %s: %v", script, err)
				continue
			}
			out := t.TempDir()
			copyLinks(t, script, mnt, out)
			wantLinks(t, out)
			want := tree(t, filepath.Join(mnt, "run42"))
			for _, view := range []string{"json", "npy", "raw"} {
				want["b."+view] = string(read(t, filepath.Join(mnt, "run42/a."+view)))
				want["aa."+view] = string(read(t, filepath.Join(mnt, "run43/a."+view)))
			}
			sameTree(t, tree(t, filepath.Join(out, "latest")), want)
		}
	})
}

// arraysBelow is tree without the documents of groups, which in a mount name its store.
func arraysBelow(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := tree(t, dir)
	maps.DeleteFunc(files, func(name, _ string) bool { return filepath.Base(name) == "zarr.json" })
	return files
}

func copyLinks(t *testing.T, script, src, dst string) {
	t.Helper()
	shell(t, dst, strings.NewReplacer("SRC", src, "DST", dst, "OUT", t.TempDir()).Replace(script))
}

// emptyStore makes a store of a format that holds nothing.
func emptyStore(t *testing.T, format string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "s.zarr")
	run(t, zarrfs(t), "create", dir, "--group", "--format", format)
	return dir
}

// TestLinksAreMade: ln -s makes a link in the store, which leads where the one in the mount does,
// and refuses what would leave it.
func TestLinksAreMade(t *testing.T) {
	formats(t, func(t *testing.T, format string) {
		store := linkedStore(t, format, nil)
		log := filepath.Join(t.TempDir(), "log")
		mnt := mount(t, store, "--log", log)
		shell(t, mnt, `
			ln -s run42 latest
			ln -s run42/a.npy al.npy
			ln -s ../../run43/a.npy run42/sub/far.npy
			ln -s not/yet.npy later.npy
			ln -s "$PWD/run43" abs
			ln -s run43 run42.old
			cd run42 && ln -s a.json b.json`)
		wantLinks(t, store, "latest -> run42", "al -> run42/a", "run42/sub/far -> ../../run43/a",
			"later -> not/yet", "abs -> run43", "run42.old -> run43", "run42/b -> a")
		want := append(viewLinks("al", "run42/a"), viewLinks("run42/sub/far", "../../run43/a")...)
		want = append(append(want, viewLinks("run42/b", "a")...), "latest -> run42",
			"later -> not/yet", "abs -> run43", "run42.old -> run43")
		wantLinks(t, mnt, want...)
		if text, err := os.Readlink(filepath.Join(mnt, "later.npy")); text != "not/yet.npy" ||
			err != nil {
			t.Errorf("later.npy, which is not listed, is %q, %v", text, err)
		}
		for name, test := range map[string]struct {
			text string
			want syscall.Errno
		}{
			"out": {"../other", syscall.EPERM}, "run42/out": {"../../other.npy", syscall.EPERM},
			"etc": {"/etc", syscall.EPERM}, "in": {store + "/run42", syscall.EPERM},
			"x.raw": {"run42/a.npy", syscall.EINVAL}, "x": {"run42/a", syscall.EINVAL},
			"latest": {"run43", syscall.EEXIST}, "al.npy": {"run42/a.npy", syscall.EEXIST},
			"al.raw":  {"run42/a.raw", syscall.EEXIST},
			"al.json": {"run43/a.json", syscall.EEXIST}, "run42": {"run43", syscall.EEXIST},
			"run42/a.npy": {"run43/a.npy", syscall.EEXIST},
			"own":         {".zarrfs/status.json", syscall.EPERM},
			".zarrfs":     {"run42", syscall.EEXIST},
			"doc.json":    {"run42/zarr.json", syscall.EPERM},
		} {
			if err := syscall.Symlink(test.text, filepath.Join(mnt, name)); err != test.want {
				t.Errorf("symlink %s -> %s: %v, want %v", name, test.text, err, test.want)
			}
		}
		for _, reason := range []string{
			"would leave the store", "name the link", "one of its files", "own files",
			"a group's document",
		} {
			if !strings.Contains(string(read(t, log)), reason) {
				t.Errorf("the log does not say %q:\n%s", reason, read(t, log))
			}
		}
		wantLinks(t, mnt, want...)
		sealed := mount(t, store, "--read-only")
		wantLinks(t, sealed, want...)
		if err := syscall.Symlink("run42", filepath.Join(sealed, "x")); err != syscall.EROFS {
			t.Errorf("ln -s in a read-only mount: %v, want EROFS", err)
		}
		if err := os.Remove(filepath.Join(sealed, "latest")); !errors.Is(err, syscall.EROFS) {
			t.Errorf("rm in a read-only mount: %v, want EROFS", err)
		}
	})
}

// TestLinksAreReplaced: ln -sf and a rename put a link in the place of another link only. No array
// takes the place of a link to itself.
func TestLinksAreReplaced(t *testing.T) {
	formats(t, func(t *testing.T, format string) {
		store := linkedStore(t, format,
			map[string]string{"latest": "run42", "al": "run42/a", "run42/b": "a"})
		mnt := mount(t, store)
		shell(t, mnt, `
			ln -sfn run43 latest
			ln -sf run43/a.npy al.npy
			mv latest newest
			mv run42 run1
			mv run1/b.npy run1/c.npy
			ln -s run1 tmp
			mv -T tmp newest`)
		want := append(viewLinks("al", "run43/a"), viewLinks("run1/c", "a")...)
		wantLinks(t, mnt, append(want, "newest -> run1")...)
		wantLinks(t, store, "al -> run43/a", "run1/c -> a", "newest -> run1")
		for _, pair := range [][2]string{
			{"newest", "run43"}, {"al.npy", "run43/a.npy"}, {"run43/a.npy", "al.npy"},
			{"run1/sub", "newest"}, {"al.npy", "al.raw"}, {"al.npy", "notes.txt"},
		} {
			err := os.Rename(filepath.Join(mnt, pair[0]), filepath.Join(mnt, pair[1]))
			if err == nil {
				t.Errorf("rename %s to %s: no error", pair[0], pair[1])
			}
		}
		wantLinks(t, mnt, append(want, "newest -> run1")...)
		if got := read(t, filepath.Join(mnt, "run43/a.npy")); len(got) == 0 {
			t.Error("run43/a.npy is empty")
		}
	})
}

// TestOtherLinksAreKept: links that the store cannot have are treated as other files. They lead to
// such a file, or their own name is not a view's. The mount says so, and keeps them when it ends.
func TestOtherLinksAreKept(t *testing.T) {
	formats(t, func(t *testing.T, format string) {
		state := t.TempDir()
		t.Setenv("XDG_STATE_HOME", state)
		store := linkedStore(t, format, nil)
		before := storeTree(t, store)
		d := started(t, store)
		shell(t, d.dir, `
			cd run42; ln -s a.npy y; ln -s a.npy note.txt; cmp y a.npy
			echo text > o.txt; ln -s o.txt p.txt; cmp p.txt o.txt
			ln -s o.txt gone; rm gone; mv y z; ln -s run42/o.txt ../far.txt
			ln -sf a.npy z; ls -l | grep -q 'z -> a.npy'`)
		said := run(t, d.bin, "umount", d.dir)
		if err := d.wait(); err != nil {
			t.Fatal(err)
		}
		d.process = nil
		sameTree(t, storeTree(t, store), before)
		wantLinks(t, store)
		folders, err := filepath.Glob(filepath.Join(state, "zarrfs/other-files/*"))
		if err != nil || len(folders) != 1 {
			t.Fatalf("files are kept in %q, %v", folders, err)
		}
		links := []string{"run42/z -> a.npy", "run42/note.txt -> a.npy", "run42/p.txt -> o.txt",
			"far.txt -> run42/o.txt"}
		wantLinks(t, folders[0], links...)
		if got := read(t, filepath.Join(folders[0], "run42/p.txt")); string(got) != "text\n" {
			t.Errorf("p.txt is kept as %q", got)
		}
		for _, link := range links {
			if name, _, _ := strings.Cut(link, " "); !strings.Contains(said, `"`+name+`"`) {
				t.Errorf("umount does not name %s:\n%s", name, said)
			} else if !strings.Contains(d.logged(), "file="+name) {
				t.Errorf("the log does not name %s:\n%s", name, d.logged())
			}
		}
	})
}

// TestLinkedArrayIsOne: an array has one path. So what is written by the name of a link is seen by
// that of the array at once. A rename of the array leaves nothing behind.
func TestLinkedArrayIsOne(t *testing.T) {
	formats(t, func(t *testing.T, format string) {
		store := linkedStore(t, format, map[string]string{"latest": "run42", "al": "run42/a"})
		mnt := mount(t, store)
		name := func(n string) string { return filepath.Join(mnt, n) }
		one, err := os.OpenFile(name("latest/a.raw"), os.O_RDWR, 0)
		two, err2 := os.OpenFile(name("al.raw"), os.O_RDWR, 0)
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		defer one.Close()
		defer two.Close()
		if err := errors.Join(one.Truncate(88), second(two.WriteAt([]byte("12345678"), 80)),
			two.Sync(), one.Sync()); err != nil {
			t.Error(err)
		}
		if got := read(t, name("run42/a.raw")); len(got) != 88 || string(got[80:]) != "12345678" {
			t.Errorf("the array has %d bytes, and at their end %q",
				len(got), got[max(0, len(got)-8):])
		}
		if err := os.Rename(name("latest/a.npy"), name("run42/z.npy")); err != nil {
			t.Error(err)
		}
		if err := errors.Join(second(one.WriteAt([]byte("ab"), 0)),
			second(two.WriteAt([]byte("cd"), 2)), two.Sync()); err != nil {
			t.Error(err)
		}
		if got := read(t, name("latest/z.raw")); string(got[:4]) != "abcd" {
			t.Errorf("the renamed array begins with %q", got[:4])
		}
		wantLinks(t, mnt, "latest -> run42", "al -> run42/a")
	})
}

func second[T any](_ T, err error) error { return err }

// TestLinksByVerbs: zarrfs cat, info and tree follow links in a path, and say where they lead.
func TestLinksByVerbs(t *testing.T) {
	formats(t, func(t *testing.T, format string) {
		store := linkedStore(t, format, map[string]string{"latest": "run42", "al": "run42/a",
			"out": "/etc", "none": "run44", "abs": "STORE/run42"})
		want := run(t, zarrfs(t), "cat", store, "run42/a")
		for _, path := range []string{"latest/a", "al", "abs/a"} {
			if got := run(t, zarrfs(t), "cat", store, path); got != want {
				t.Errorf("cat %s: %d bytes, expected those of run42/a", path, len(got))
			}
		}
		got := run(t, zarrfs(t), "info", store, "latest/a")
		if !strings.Contains(got, "/run42/a\n") {
			t.Errorf("info latest/a:\n%s", got)
		}
		if got := run(t, zarrfs(t), "info", store); !strings.Contains(got, "5 links") {
			t.Errorf("info:\n%s", got)
		}
		for path, reason := range map[string]string{
			"out":         "outside the store",
			"none":        "to nothing",
			"out/x":       "outside the store",
			"latest/none": "no array or group",
		} {
			if out, err := command(zarrfs(t), "info", store, path); err == nil ||
				!strings.Contains(string(out), reason) || strings.Contains(string(out), "/etc") {
				t.Errorf("info %s: %v\n%s", path, err, out)
			}
		}
		tree := run(t, zarrfs(t), "tree", store)
		for _, line := range []string{
			"latest -> run42\n", "al -> run42/a\n", "abs -> run42\n",
			"none -> run44 [leads nowhere]\n", "out -> [leaves the store]\n",
		} {
			if !strings.Contains(tree, line) {
				t.Errorf("zarrfs tree does not have the line %q:\n%s", line, tree)
			}
		}
	})
}

// TestLinksWhileTheStoreChanges: a group that holds nothing but a link is listed while what the
// link leads to comes and goes.
func TestLinksWhileTheStoreChanges(t *testing.T) {
	formats(t, func(t *testing.T, format string) {
		store := linkedStore(t, format, nil)
		err := errors.Join(os.Mkdir(filepath.Join(store, "only"), 0o777),
			os.Symlink("../run43/a", filepath.Join(store, "only/l")))
		if err != nil {
			t.Fatal(err)
		}
		mnt := mount(t, store)
		for _, step := range []struct {
			change string
			want   []string
		}{
			{"true", viewLinks("l", "../run43/a")},
			{"mv run43 gone", []string{"l -> ../run43/a"}},
			{"mkdir -p run43/a", []string{"l -> ../run43/a"}},
			{"rmdir run43/a run43; mv gone run43", viewLinks("l", "../run43/a")},
			{"rm only/l; ln -s ../run42 only/l", []string{"l -> ../run42"}},
			{"rm only/l; ln -s /etc only/l", []string{"l -> ../.zarrfs/outside"}},
			{"rm only/l; cp -r run43/a only/l", nil},
			{"rm -r only/l; ln -s ../run43/a only/l", viewLinks("l", "../run43/a")},
			{"rm only/l", nil},
		} {
			shell(t, store, step.change)
			time.Sleep(1100 * time.Millisecond) // the kernel believes names for a second
			wantLinks(t, filepath.Join(mnt, "only"), step.want...)
		}
	})
}
