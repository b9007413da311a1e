package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// sh runs a command in a folder, and returns what it says and whether it failed.
func sh(dir, command string) (string, error) {
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// longHeader returns a .npy file whose header is 64 bytes longer than NumPy's.
func longHeader(file []byte) []byte {
	head := bytes.Clone(file[:127])
	binary.LittleEndian.PutUint16(head[8:], binary.LittleEndian.Uint16(head[8:])+64)
	head = append(head, strings.Repeat(" ", 64)+"\n"...)
	return append(head, file[128:]...)
}

// TestBeginningOfNpy writes only the beginning of a .npy by ordinary programs. Each is told so when
// it closes the file, and a program that appends the rest completes it.
func TestBeginningOfNpy(t *testing.T) {
	store := writableStore(t)
	dir := mounted(t, store)
	whole := npyFile(chunk(7, 4000), 1, "(250, 16)")
	for name, file := range map[string][]byte{"big.npy": whole, "long.npy": longHeader(whole)} {
		noError(t, name, os.WriteFile(filepath.Join(filepath.Dir(store), name), file, 0o600))
	}
	t.Setenv("SRC", filepath.Dir(store))
	for _, tc := range []struct{ what, begin, rest string }{
		{"head", "head -c 1000 $SRC/big.npy > t.npy",
			"tail -c +1001 $SRC/big.npy >> t.npy"},
		{"dd", "dd if=$SRC/big.npy of=t.npy bs=500 count=3 status=none",
			"tail -c +1501 $SRC/big.npy >> t.npy"},
		{"in pieces of a row", "dd if=$SRC/big.npy of=t.npy bs=33 count=9 status=none",
			"tail -c +298 $SRC/big.npy | dd bs=77 of=t.npy oflag=append conv=notrunc status=none"},
		{"over another array", "cp rows.npy t.npy; head -c 1000 $SRC/big.npy > t.npy",
			"tail -c +1001 $SRC/big.npy >> t.npy"},
		{"appended to a new file", "head -c 1000 $SRC/big.npy >> t.npy",
			"tail -c +1001 $SRC/big.npy >> t.npy"},
		{"renamed since", "head -c 1000 $SRC/big.npy > u.npy",
			"mv u.npy t.npy; tail -c +1001 $SRC/big.npy >> t.npy"},
		{"a longer header", "head -c 1064 $SRC/long.npy > t.npy",
			"tail -c +1065 $SRC/long.npy >> t.npy"},
		{"by another handle", "exec 3> t.npy; head -c 1000 $SRC/big.npy >&3",
			"tail -c +1001 $SRC/big.npy >> t.npy"},
		{"twice", `head -c 1000 $SRC/big.npy > t.npy
			tail -c +1001 $SRC/big.npy | head -c 1000 >> t.npy`,
			"tail -c +2001 $SRC/big.npy >> t.npy"},
		{"two programs", `{ head -c 1000 $SRC/big.npy; true
			tail -c +1001 $SRC/big.npy | head -c 1000; } > t.npy`,
			"tail -c +2001 $SRC/big.npy >> t.npy"},
	} {
		out, err := sh(dir, tc.begin)
		if err == nil || !strings.Contains(out, "Invalid argument") {
			t.Errorf("%s: exit 0, or another error: %v\n%s", tc.what, err, out)
		}
		if tc.what != "renamed since" {
			saysWhy(t, filepath.Join(dir, "t.npy"), " bytes, as the header says, found ")
		}
		if out, err := sh(dir, tc.rest); err != nil {
			t.Errorf("%s: the rest: %v\n%s", tc.what, err, out)
		}
		check(t, tc.what, bytesOf(t, filepath.Join(dir, "t.npy")), whole)
		check(t, tc.what+": in the store", stored(t, store, "t.npy"), whole)
		if out, err := sh(dir, "rm t.*"); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
}

// TestWholeNpyInSteps writes whole .npy files, with closes on the way, or with the bytes in another
// order. No program is told that something is missing.
func TestWholeNpyInSteps(t *testing.T) {
	store := writableStore(t)
	dir := mounted(t, store)
	whole := npyFile(chunk(7, 1<<20), 1, "(65536, 16)") // more than one WRITE has
	noError(t, "source", os.WriteFile(filepath.Join(filepath.Dir(store), "big.npy"), whole, 0o600))
	t.Setenv("SRC", filepath.Dir(store))
	for _, command := range []string{
		"cat $SRC/big.npy > t.npy",
		"cat $SRC/big.npy >> t.npy",
		"dd if=$SRC/big.npy of=t.npy bs=64k oflag=append conv=notrunc status=none",
		"{ head -c 128 $SRC/big.npy; tail -c +129 $SRC/big.npy; } > t.npy",
		"{ head -c 128 $SRC/big.npy; tail -c +129 $SRC/big.npy; } >> t.npy",
		"exec 3> t.npy; /bin/true >&3; cat $SRC/big.npy >&3 && /bin/true >&3",
		`{ head -c 5000 $SRC/big.npy 2> /dev/null; /bin/echo -n >&1
			tail -c +5001 $SRC/big.npy; } > t.npy`,
		`head -c 128 $SRC/big.npy > t.npy && dd if=$SRC/big.npy of=t.npy bs=128 skip=1 seek=1 \
			conv=notrunc status=none`,
		"rsync -a $SRC/big.npy t.npy",
		"rsync -a --inplace $SRC/big.npy t.npy",
		"tar -C $SRC -cf - big.npy | tar -xf - --transform s/big/t/",
	} {
		if out, err := sh(dir, command); err != nil {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
		check(t, command, bytesOf(t, filepath.Join(dir, "t.npy")), whole)
		if out, err := sh(dir, "rm t.*"); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
}

// TestPartsOfNpyThatAreMeant writes parts of .npy files as programs do that want the rest to be the
// fill value. Their closes succeed, and a program that appends to such a file adds rows.
func TestPartsOfNpyThatAreMeant(t *testing.T) {
	dir := mounted(t, writableStore(t))
	whole := npyFile(chunk(7, 64), 1, "(4, 16)")
	row := []byte(chunk(3, 16))
	for name, write := range map[string]func(f *os.File) error{
		"sized": func(f *os.File) error {
			_, err := f.Write(whole[:200])
			return errors.Join(err, f.Truncate(256))
		},
		"allocated": func(f *os.File) error {
			_, err := f.Write(whole[:200])
			return errors.Join(err, syscall.Fallocate(int(f.Fd()), 0, 0, 256))
		},
		"behind": func(f *os.File) error {
			_, err := f.Write(whole[:128])
			_, err2 := f.WriteAt(whole[160:200], 160)
			return errors.Join(err, err2)
		},
		"again": func(f *os.File) error {
			_, err := f.Write(whole[:200])
			_, err2 := f.WriteAt(whole[:128], 0)
			return errors.Join(err, err2)
		},
		"by another view": func(f *os.File) error {
			_, err := f.Write(whole[:200])
			raw, err2 := os.OpenFile(strings.TrimSuffix(f.Name(), "npy")+"raw", os.O_WRONLY, 0)
			noError(t, "raw", errors.Join(err, err2))
			_, err = raw.WriteAt(row[:2], 80)
			return errors.Join(err, raw.Close())
		},
		"mapped": func(f *os.File) error {
			_, err := f.Write(whole[:200])
			m := mapped(t, f, syscall.PROT_READ|syscall.PROT_WRITE)
			m[190] = 1
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, name+".npy")
			f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
			noError(t, "open", err)
			noError(t, "write", write(f))
			noError(t, "close", f.Close())
			noError(t, "append", appendTo(path, row))
			if b := bytesOf(t, path); len(b) != len(whole)+32 || !bytes.Equal(b[len(whole):], row) {
				t.Errorf("%d bytes after a row was appended to %d", len(b), len(whole))
			}
		})
	}
}

// TestRestOfNpyThatChanged appends to a .npy of which only the beginning had come. Its array was
// changed since by other means, so what is appended are further rows.
func TestRestOfNpyThatChanged(t *testing.T) {
	store := writableStore(t)
	dir := mounted(t, store)
	whole := npyFile(chunk(7, 64), 1, "(4, 16)")
	row := []byte(chunk(3, 16))
	for name, change := range map[string]string{
		"raw":      "dd if=/dev/zero of=t.raw bs=1 seek=100 count=1 conv=notrunc status=none",
		"document": `sed -i -z 's/\("shape": \[[^0-9]*\)4/\15/' t.json`,
		"size":     "truncate -s 160 t.raw",
	} {
		err := os.WriteFile(filepath.Join(dir, "t.npy"), whole[:200], 0o666)
		if !errors.Is(err, syscall.EINVAL) {
			t.Errorf("a part of a file: %v", err)
		}
		if out, err := sh(dir, change); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		before := bytesOf(t, filepath.Join(dir, "t.raw"))
		noError(t, "append", appendTo(filepath.Join(dir, "t.npy"), row))
		check(t, name, bytesOf(t, filepath.Join(dir, "t.raw")), append(before, row...))
		_, err = sh(dir, "rm t.*")
		noError(t, "rm", err)
	}
}

// TestSecondHeaderInPieces writes two .npy files into one, whose second header is split anywhere
// over several WRITEs. The second one is refused, and nothing of it stays.
func TestSecondHeaderInPieces(t *testing.T) {
	store := writableStore(t)
	dir := mounted(t, store)
	first := npyFile(chunk(7, 20), 1, "(20,)")
	bytewise := bytes.Replace(npyFile(chunk(7, 20), 1, "(40,)"), []byte("<u2"), []byte("|u1"), 1)
	for name, file := range map[string][]byte{"first.npy": first, "bytewise.npy": bytewise} {
		noError(t, name, os.WriteFile(filepath.Join(filepath.Dir(store), name), file, 0o600))
	}
	t.Setenv("SRC", filepath.Dir(store))
	for _, name := range []string{"first", "bytewise"} {
		for _, size := range []int{1, 2, 3, 5, len(first) + 1, len(first) + 3, len(first) + 5} {
			command := fmt.Sprintf("cat $SRC/%s.npy $SRC/first.npy | "+
				"dd of=%[1]s.npy bs=%d iflag=fullblock status=none", name, size)
			for _, twice := range []string{command, command + " oflag=append"} {
				if out, err := sh(dir, twice); err == nil ||
					!strings.Contains(out, "Invalid argument") {
					t.Errorf("%s: %v\n%s", twice, err, out)
				}
				saysWhy(t, filepath.Join(dir, name+".npy"), "the header of a second one")
				want := bytesOf(t, filepath.Join(filepath.Dir(store), name+".npy"))
				check(t, twice, bytesOf(t, filepath.Join(dir, name+".npy")), want)
			}
		}
	}
	data := []byte("\x93NUMPx") // a header begins otherwise
	for _, b := range data {
		noError(t, "append", appendTo(filepath.Join(dir, "bytewise.npy"), []byte{b}))
	}
	if got := bytesOf(t, filepath.Join(dir, "bytewise.npy")); !bytes.HasSuffix(got, data) {
		t.Errorf("bytes like the beginning of a header: %q", got[len(got)-8:])
	}
}
