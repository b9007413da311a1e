package fs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// farArrays is how many arrays the group of a remote store has; a quarter of them are of strings.
const farArrays = 1000

// farMount returns a mount of a remote store with a group "g" of arrays, and its link.
func farMount(t *testing.T, copied bool) (dir string, link *storetest.Link) {
	t.Helper()
	d := memstore.New()
	near := store.New(d, "")
	put := func(key, doc string) {
		if err := near.Put(t.Context(), key, []byte(doc)); err != nil {
			t.Fatal(err)
		}
	}
	var copies []string
	array := fmt.Sprintf(arrayDoc, "10, 10", "uint8", "1, 10", `{"name": "bytes"}`)
	text := strings.NewReplacer(`"uint8"`, `"string"`, `"fill_value": 0`, `"fill_value": ""`,
		`"name": "bytes"`,
		`"name": "vlen-utf8"`).Replace(array)
	for i := range farArrays {
		path, doc := fmt.Sprintf("g/a%04d", i), array
		if i%4 == 3 {
			doc = text
		}
		put(path+"/zarr.json", doc)
		put(path+"/c/0/0", strings.Repeat("x", 10))
		copies = append(copies, fmt.Sprintf("%q: %s", path, doc))
	}
	put("g/zarr.json", groupDoc)
	root := groupDoc
	if copied {
		copies = append(copies, fmt.Sprintf("%q: %s", "g", groupDoc))
		root = strings.TrimSuffix(strings.TrimSpace(groupDoc),
			"}") + `, "consolidated_metadata": {"kind": "inline",
			"must_understand": false, "metadata": {` + strings.Join(copies, ", ") + "}}}"
	}
	put("zarr.json", root)
	link, behind := storetest.Behind(d, storetest.LinkOptions{})
	return mounted(t, store.New(behind, "far")), link
}

// TestRemoteListing: in a remote store ls of a group takes a request for each page of a listing and
// for each document. With consolidated metadata it takes none, and ls -l, du and stat never do.
func TestRemoteListing(t *testing.T) {
	for _, copied := range []bool{false, true} {
		t.Run(fmt.Sprintf("consolidated %v", copied), func(t *testing.T) {
			began := time.Now()
			dir, link := farMount(t, copied)
			g := filepath.Join(dir, "g")
			if _, err := os.Stat(g); err != nil {
				t.Fatal(err)
			}
			link.Take()
			most := 0
			if !copied {
				most = farArrays + 2
			}
			for _, command := range []string{"ls", "ls -l", "ls -lR", "du -s", "stat"} {
				args := append(strings.Fields(command), g)
				out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
				if err != nil {
					t.Fatalf("%s: %v: %s", command, err, out)
				}
				asked := strings.Join(link.Asked(), ", ")
				c := link.Take()
				if time.Since(began) > 5*time.Second { // missing documents are looked for again
					t.Logf("%s came too late: %d requests are not compared", command, c.Requests)
				} else if c.Requests > most {
					t.Errorf("%s: %d requests, want at most %d: %s", command, c.Requests, most,
						asked[:min(500, len(asked))])
				}
				most = 0
			}
			views := 0
			for i := range 8 {
				entries, err := filepath.Glob(filepath.Join(g, fmt.Sprintf("a%04d.*", i*100+3)))
				if views += len(entries); err != nil {
					t.Fatal(err)
				}
			}
			if views == 0 {
				t.Error("no views of arrays are listed")
			}
		})
	}
}

// TestRemoteOpening: a file of a remote store is found and opened with one request for its
// document, and read with one for its bytes.
func TestRemoteOpening(t *testing.T) {
	dir, link := farMount(t, true)
	link.Take()
	data, err := os.ReadFile(filepath.Join(dir, "g", "a0001.raw"))
	if err != nil || len(data) != 100 || string(data[:10]) != "xxxxxxxxxx" || data[10] != 0 {
		t.Fatalf("%q, %v", data, err)
	}
	asked := link.Asked()
	if c := link.Take(); c.Requests > 1+10 { // ten chunks, of which one is stored
		t.Errorf("%d requests: %s", c.Requests, asked)
	}
}

// TestRemoteSizes: nothing is asked for to show sizes in a remote store: blocks are those of the
// whole array, strings have the least size that they may have until they are read, and there are no
// holes.
func TestRemoteSizes(t *testing.T) {
	dir, link := farMount(t, true)
	link.Take()
	var st unix.Stat_t
	if err := unix.Stat(filepath.Join(dir, "g", "a0000.npy"), &st); err != nil {
		t.Fatal(err)
	}
	if st.Size != 228 || st.Blocks != 1 {
		t.Errorf("%d bytes in %d blocks, want 228 in 1", st.Size, st.Blocks)
	}
	strings := filepath.Join(dir, "g", "a0003.jsonl")
	if err := unix.Stat(strings, &st); err != nil || st.Size != 2*100 {
		t.Errorf("strings of %d bytes, want 200: %v", st.Size, err)
	}
	if c := link.Take(); c.Requests != 0 {
		t.Errorf("%+v, want no requests", c)
	}
	f, err := os.Open(filepath.Join(dir, "g", "a0000.raw"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if at, err := unix.Seek(int(f.Fd()), 50, unix.SEEK_DATA); at != 50 || err != nil {
		t.Errorf("data at %d, %v; want all to count as data", at, err)
	}
	if at, err := unix.Seek(int(f.Fd()), 50, unix.SEEK_HOLE); at != 100 || err != nil {
		t.Errorf("a hole at %d, %v; want none", at, err)
	}
	if c := link.Take(); c.Pages != 0 {
		t.Errorf("%+v, want no listing", c)
	}
}
