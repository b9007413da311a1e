package dirstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// sharedArray makes an array of 1000 bytes in one chunk, "0", and returns its path.
func sharedArray(t *testing.T) string {
	dir := t.TempDir()
	writeFiles(t, dir, map[string][]byte{
		".zarray": []byte(`{"zarr_format": 2, "shape": [1000], "chunks": [1000], "dtype": "|u1",
			"fill_value": 0, "order": "C", "compressor": null, "filters": null}`),
		"0": make([]byte, 1000),
	})
	return dir
}

// merge changes the chunk as a flush does: reads it, replaces it if nobody else did meanwhile,
// begins again if somebody did. It returns how often it began again.
func merge(
	ctx context.Context, s *store.Store, change func(data []byte),
) (conflicts int, err error) {
	unlock, err := s.Lock(ctx, "0")
	if err != nil {
		return 0, err
	}
	defer unlock()
	for ; ; conflicts++ {
		data, info, err := s.ReadAll(ctx, "0", 1000)
		if err != nil {
			return conflicts, err
		}
		change(data)
		o, err := s.Stage(ctx, "0", data)
		if err != nil {
			return conflicts, err
		}
		if _, err = o.Commit(ctx, store.If{Version: info.Version}); !errors.Is(err,
			store.ErrConflict) {
			return conflicts, err
		}
	}
}

func init() {
	children["writer"] = func(args []string) error {
		s, err := openStore(args[0], "")
		if err != nil {
			return err
		}
		defer s.Close()
		fmt.Println("ready")
		fmt.Scanln()
		for i := 1; i < 1000; i += 2 {
			if _, err := merge(context.Background(), s, func(data []byte) {
				data[i] = 1
			}); err != nil {
				return err
			}
		}
		return nil
	}
}

// commitAll stores data at each of keys, synced together.
func commitAll(ctx context.Context, s *store.Store, keys []string, data []byte) error {
	var staged []*store.Staged
	for _, key := range keys {
		o, err := s.Stage(ctx, key, data)
		if err != nil {
			return err
		}
		staged = append(staged, o)
	}
	if err := s.SyncStaged(ctx, staged); err != nil {
		return err
	}
	for _, o := range staged {
		if _, err := o.Commit(ctx, store.If{}); err != nil {
			return err
		}
	}
	return nil
}

func openStore(dir, syncDir string) (*store.Store, error) {
	d, err := Open(dir, &Options{SyncDir: syncDir})
	if err != nil {
		return nil, err
	}
	return store.New(d, dir), nil
}

// share writes the even elements while a peer writes the odd ones. It writes them again and again,
// at the peer's pace, until the peer has ended, and counts each that was lost meanwhile.
func share(t *testing.T, dir, syncDir string, pause time.Duration, cmd *exec.Cmd) {
	s, err := openStore(dir, syncDir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	peer := startPeer(t, cmd)
	done := peer.begin(t)
	want := make([]byte, 1000)
	conflicts, lost, round := 0, 0, byte(0)
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		round++
		for i := 0; i < 1000; i += 2 {
			n, err := merge(t.Context(), s, func(data []byte) {
				lost += repair(data, want)
				data[i] = round
			})
			if conflicts, want[i] = conflicts+n, round; err != nil {
				t.Fatal(err)
			}
			time.Sleep(pause)
		}
	}
	got, err := os.ReadFile(filepath.Join(dir, "0"))
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i < 1000; i += 2 {
		want[i] = 1
		if got[i] != 1 {
			t.Errorf("the peer's element %d is lost", i)
		}
	}
	lost += repair(got, want)
	if lost > 0 {
		t.Errorf("lost %d of our elements", lost)
	}
	t.Logf("%d rounds of 500 merges, %d conflicts", round, conflicts)
}

// repair counts the even elements of data that differ from want, and makes them equal.
func repair(data, want []byte) (lost int) {
	for i := 0; i < len(data); i += 2 {
		if data[i] != want[i] {
			lost++
			data[i] = want[i]
		}
	}
	return lost
}

// Two processes of ours change one chunk, one element at a time: nothing is lost.
func TestShareWithOurselves(t *testing.T) {
	dir := sharedArray(t)
	share(t, dir, "", 0, child(t, nil, "writer", dir))
	wantNames(t, dir, ".zarray", "0")
}

// tensorstore changes other elements of the same chunk: nothing is lost, since both use its locks.
func TestShareWithTensorstore(t *testing.T) {
	dir := sharedArray(t)
	share(t, dir, "", time.Millisecond, python(t, "ZARRFS_PY3", ".venv-v3", "tensorstore", dir, ""))
	wantNames(t, dir, ".zarray", "0")
}

// zarr-python 2 changes other elements of the same chunk: nothing is lost where both use the folder
// of its ProcessSynchronizer.
func TestShareWithZarr2(t *testing.T) {
	dir, locks := sharedArray(t), t.TempDir()
	share(t, dir, locks, 5*time.Millisecond, python(t, "ZARRFS_PY2", ".venv-v2", "zarr2", dir,
		locks))
	wantNames(t, dir, ".zarray", "0")
	wantNames(t, locks, ".zarray", "0")
}

// python returns the command that runs testdata/writer.py. Its Python is the one in an environment
// variable, otherwise that of venv at the top of the repository.
func python(t *testing.T, variable, venv string, args ...string) *exec.Cmd {
	t.Helper()
	path := os.Getenv(variable)
	if path == "" {
		path = filepath.Join("..", "..", "..", venv, "bin", "python")
	}
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("ZARRFS_REQUIRE_PEERS") == "1" {
			t.Fatalf("no Python: %v; make %s", err, venv)
		}
		t.Skipf("no Python: %v; make %s", err, venv)
	}
	return exec.CommandContext(t.Context(), path,
		append([]string{filepath.Join("testdata", "writer.py")}, args...)...)
}

// wantNames expects these files and folders in dir, hidden ones too, and no others.
func wantNames(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Error(err)
	}
	got := []string{}
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("in %s: %q, want %q", dir, got, want)
	}
}
