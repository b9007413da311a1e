package integration

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestArrayReplacesLink: a program that replaces the .npy of a link makes an array in the place of
// the link, and what the link leads to stays. A command that fails leaves the link as it was.
func TestArrayReplacesLink(t *testing.T) {
	const python = `python3 -c '
import os; os.remove("l.npy"); open("l.npy", "wb").write(open("../x.npy", "rb").read())'`
	formats(t, func(t *testing.T, format string) {
		for _, tc := range []struct {
			command string
			fails   bool
		}{
			{`rm l.npy; cp ../x.npy l.npy`, false},
			{`cp --remove-destination ../x.npy l.npy`, false},
			{`mv ../x.npy l.npy`, false},
			{`cp ../x.npy t; mv t l.npy`, false},
			{`cp ../x.npy t.npy; mv t.npy l.npy`, false},
			{`rsync -a ../x.npy l.npy`, false},
			{`install ../x.npy l.npy`, false},
			{`tar -c -C ../ --transform s/x/l/ x.npy | tar -x`, false},
			{python, false},
			{`cp --remove-destination ../bad l.npy`, true},
			{`mv ../bad l.npy`, true},
			{`install ../bad l.npy`, true},
			{`rsync -a ../bad l.npy`, true},
			{`mv -T run42/a.npy l.npy`, true},
			{`cp --remove-destination ../x.npy l.raw`, true},
			{`cp --remove-destination ../bad l.json`, true},
			{`sed -i s/x/y/ l.json`, true},
		} {
			t.Run(tc.command, func(t *testing.T) {
				store := linkedStore(t, format, map[string]string{"l": "run42/a"})
				dir := t.TempDir()
				mnt := mount(t, store)
				shell(t, dir, "ln -s "+mnt+" m; echo bad > bad")
				inPython(t, dir, `np.save("x.npy", np.arange(3.))`)
				before := string(read(t, filepath.Join(mnt, "run42/a.npy")))
				new := string(read(t, filepath.Join(dir, "x.npy")))
				cmd := exec.Command("sh", "-c", strings.ReplaceAll(tc.command, "../", dir+"/"))
				cmd.Dir = mnt
				if out, err := cmd.CombinedOutput(); (err != nil) != tc.fails {
					t.Errorf("%v\n%s", err, out)
				}
				want := new
				if tc.fails {
					// The kernel releases a refused file some time after its close.
					for end := time.Now().Add(patience); time.Now().Before(end) &&
						len(linksBelow(t, mnt)) == 0; time.Sleep(2 * time.Millisecond) {
					}
					want = before
					wantLinks(t, mnt, viewLinks("l", "run42/a")...)
					wantLinks(t, store, "l -> run42/a")
				} else {
					wantLinks(t, mnt)
					wantLinks(t, store)
					shell(t, mnt, "test -f l.raw && test -f l.json")
				}
				if got := string(read(t, filepath.Join(mnt, "l.npy"))); got != want {
					t.Errorf("l.npy is %q, expected %q", got, want)
				}
				if got := string(read(t, filepath.Join(mnt, "run42/a.npy"))); got != before {
					t.Errorf("run42/a.npy is %q, expected %q", got, before)
				}
			})
		}
	})
}
