package integration

import (
	"fmt"
	"syscall"
	"testing"
)

// appendTwoRows appends rows 10 and 11 to an array of ten rows of four int16.
const appendTwoRows = `
import subprocess
def more():
    subprocess.run(["sh", "-c", "head -c 16 /dev/zero | tr '\\0' '\\1' >> a.raw"], check=True)
def check(units, rows):
    d = json.load(open("a.json"))
    assert d["attributes"]["units"] == units and d["shape"] == [rows, 4], d
    a = np.load("a.npy")
    assert len(a) == rows and (rows <= 10 or (a[10:12] == 257).all()), a
`

// TestOldDocumentKeepsAppendedRows writes an old document back, which was read before rows were
// appended. Its attributes count, and the rows stay.
func TestOldDocumentKeepsAppendedRows(t *testing.T) {
	const edit = `t = t.replace('"K"', '"m"')` + "\n"
	formats(t, func(t *testing.T, format string) {
		for name, script := range map[string]string{
			"an editor": `t = open("a.json").read(); more()
` + edit + `open("a.json", "w").write(t); check("m", 12)`,
			"an editor with its file open": `f = open("a.json", "r+"); t = f.read(); more()
` + edit + `f.seek(0); f.write(t); f.truncate(); f.close(); check("m", 12)`,
			"an editor that renames": `t = open("a.json").read(); more()
` + edit + `open("a.json.tmp", "w").write(t); os.replace("a.json.tmp", "a.json"); check("m", 12)`,
			"two programs": `os.system("sed s/K/m/ a.json > $OUT/x"); more()
os.system("cp $OUT/x a.json"); check("m", 12)`,
			"rows that are not stored yet": `t = open("a.json").read()
f = open("a.raw", "ab"); f.write(b"\1" * 16); f.flush()
` + edit + `open("a.json", "w").write(t); f.close(); check("m", 12)`,
			"an editor beside many readers": `t = open("a.json").read(); more()
for i in range(80):
    subprocess.run(["cat", "a.json"], stdout=subprocess.DEVNULL, check=True)
` + edit + `open("a.json", "w").write(t); check("m", 12)`,
			"a resize": `d = json.load(open("a.json"))
for rows in (12, 10, 8):
    d["shape"][0] = rows; json.dump(d, open("a.json", "w"))
    assert np.load("a.npy").shape == (rows, 4)`,
			"a resize of what was appended": `more(); d = json.load(open("a.json"))
d["shape"][0] = 10; json.dump(d, open("a.json", "w")); check("K", 10)`,
		} {
			t.Run(name, func(t *testing.T) {
				mnt := mount(t, replacedStore(t, format))
				inPython(t, mnt, appendTwoRows+script, "OUT="+t.TempDir())
			})
		}
	})
}

// TestOldDocumentAloneIsRefused writes an old document back, which was read before rows were
// appended, and changes nothing in it. No row is lost, whatever the program meant, and it gets an
// error. After a look at the document the same command resizes the array.
func TestOldDocumentAloneIsRefused(t *testing.T) {
	const refused = `
def refused_unseen(do): # check() would look at the document
    try:
        do()
    except OSError as e:
        assert e.errno == %d, e
    else:
        raise SystemExit("not refused")
    assert b"[12 4]" in os.getxattr("a.json", "user.zarrfs.error")
def refused(do):
    refused_unseen(do)
    check("K", 12)
def sh(command):
    if os.system("{ " + command + "; } 2> $OUT/err"):
        text = open(os.environ["OUT"] + "/err").read()
        raise OSError(22 if "Invalid argument" in text else 95, text)
`
	formats(t, func(t *testing.T, format string) {
		for name, script := range map[string]string{
			"cp": `sh("cp a.json $OUT/saved.json"); more()
refused_unseen(lambda: sh("cp $OUT/saved.json a.json"))
refused_unseen(lambda: sh("cp $OUT/saved.json a.json"))
sh("cat a.json > /dev/null"); sh("cp $OUT/saved.json a.json"); check("K", 10)`,
			"an editor": `t = open("a.json").read(); more()
def do():
    f = open("a.json", "w"); f.write(t); f.close()
refused(do)`,
			"jq and mv": `sh("sed -n p a.json > $OUT/x"); more()
refused(lambda: sh("mv $OUT/x a.json"))`,
			"jq and mv in the mount": `sh("sed -n p a.json > x.tmp"); more()
refused(lambda: sh("mv x.tmp a.json"))`,
			"another layout": `t = json.dumps(json.load(open("a.json"))); more()
def do():
    f = open("a.json", "w"); f.write(t); f.close()
refused(do)`,
			"nothing appended": `t = open("a.json").read()
open("a.json", "w").write(t); check("K", 10)`,
		} {
			t.Run(name, func(t *testing.T) {
				mnt := mount(t, replacedStore(t, format))
				errno := syscall.EINVAL
				if name == "jq and mv in the mount" {
					errno = syscall.EOPNOTSUPP // see errno.ErrContent
				}
				script := appendTwoRows + fmt.Sprintf(refused, errno) + script
				inPython(t, mnt, script, "OUT="+t.TempDir())
			})
		}
	})
}

// TestSecondArrayInOneFile writes a second array behind the first one in a .npy file. That is
// refused, and the first one is stored.
func TestSecondArrayInOneFile(t *testing.T) {
	const check = `
assert (np.load("a.npy") == x).all() and len(np.load("a.npy")) == 5
assert b"second" in os.getxattr("a.npy", "user.zarrfs.error")`
	const refused = `x, y = np.arange(5), np.arange(100)
def refused(do):
    try:
        do()
    except OSError as e:
        assert e.errno == 22, e
    else:
        raise SystemExit("two arrays were taken")
`
	formats(t, func(t *testing.T, format string) {
		for name, script := range map[string]string{
			"by np.save": `
f = open("a.npy", "wb"); np.save(f, x)
def do():
    np.save(f, y); f.close()
refused(do)`,
			"by np.save, a new array": `
os.remove("a.npy"); os.remove("a.raw"); os.remove("a.json")
f = open("a.npy", "wb"); np.save(f, x)
def do():
    np.save(f, y); f.close()
refused(do)`,
			"appended": `
np.save("a.npy", x); np.save(os.environ["OUT"] + "/y.npy", y)
assert os.system("cat $OUT/y.npy >> a.npy 2> /dev/null") != 0`,
			"by cp": `
f = open(os.environ["OUT"] + "/xy.npy", "wb"); np.save(f, x); np.save(f, y); f.close()
assert os.system("cp $OUT/xy.npy a.npy 2> /dev/null") != 0`,
		} {
			t.Run(name, func(t *testing.T) {
				mnt := mount(t, replacedStore(t, format))
				inPython(t, mnt, refused+script+check, "OUT="+t.TempDir())
			})
		}
	})
}
