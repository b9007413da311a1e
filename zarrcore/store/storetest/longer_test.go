package storetest_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// longer is a backend with a fault: its objects are longer than what was stored.
type longer struct{ store.Driver }

// Open opens an object and a byte more.
func (l longer) Open(ctx context.Context, key string) (store.Object, error) {
	o, err := l.Driver.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	return longerObject{o}, nil
}

type longerObject struct{ store.Object }

// Size is one byte more.
func (o longerObject) Size() int64 { return o.Object.Size() + 1 }

// Info has one byte more.
func (o longerObject) Info() store.Info {
	info := o.Object.Info()
	info.Size++
	return info
}

// ReadAt reads zeros behind the end.
func (o longerObject) ReadAt(p []byte, off int64) (int, error) {
	return store.ReadInside(p, off, o.Size(), func(inside []byte) error {
		clear(inside)
		stored := inside[:max(0, min(int64(len(inside)), o.Object.Size()-off))]
		return store.ReadRanges(context.Background(), o.Object, []store.Span{{Off: off, P: stored}})
	})
}

// asFaulty is the variable by which the program of the tests runs the suite over longer.
const asFaulty = "ZARRFS_SUITE_OVER_LONGER"

// TestLongerObjectsFail: the suite fails for a backend whose objects are longer than expected, and
// goes on to its end: it does not panic.
func TestLongerObjectsFail(t *testing.T) {
	if os.Getenv(asFaulty) != "" {
		storetest.Run(t, func(t *testing.T, objects map[string][]byte) store.Driver {
			return longer{filled(t, objects)}
		})
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^TestLongerObjectsFail$", "-test.v")
	cmd.Env = append(os.Environ(), asFaulty+"=1")
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Error("the suite passes")
	}
	if at := bytes.Index(out, []byte("panic: ")); at >= 0 {
		t.Fatalf("the suite panics: %.2000s", out[at:])
	}
	for _, name := range []string{"OpenFor", "GetIf", "Prefetch"} {
		if want := "--- FAIL: TestLongerObjectsFail/" + name; !strings.Contains(string(out), want) {
			t.Errorf("the suite does not say %q: %s", want, out)
		}
	}
}
