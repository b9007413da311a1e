package integration

import (
	"os"
	"testing"
	"time"
)

// TestPartOfNpyIsShownAtItsEnd writes a .npy in pieces, and looks how long the array's files are
// after each.
func TestPartOfNpyIsShownAtItsEnd(t *testing.T) {
	const rows, head = 1000, 128
	const whole = 8 * rows
	formats(t, func(t *testing.T, format string) {
		mnt := mount(t, replacedStore(t, format))
		expect := func(when string, data int64) {
			t.Helper()
			for name, want := range map[string]int64{"new.npy": head + data, "new.raw": data} {
				st, err := os.Stat(mnt + "/" + name)
				if err != nil || st.Size() != want {
					t.Errorf("%s, %s: expected %d bytes, found %v, %v", when, name, want, st, err)
				}
				if p := read(t, mnt+"/"+name); int64(len(p)) != want {
					t.Errorf("%s, %s: expected %d bytes, read %d", when, name, want, len(p))
				}
			}
		}
		for end, tc := range map[string]struct {
			act  func(*os.File) error
			data int64
		}{
			"nothing else": {func(*os.File) error { return nil }, 100},
			"the rest": {func(f *os.File) error {
				_, err := f.Write(make([]byte, whole-100))
				return err
			}, whole},
			"its length": {func(f *os.File) error { return f.Truncate(head + whole) }, whole},
			"a later byte": {func(f *os.File) error {
				_, err := f.WriteAt([]byte{1}, head+500)
				return err
			}, whole},
		} {
			f, err := os.Create(mnt + "/new.npy")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.Write(headerOf("'<u8'", rows)); err != nil {
				t.Fatal(err)
			}
			expect("the header", 0)
			if _, err := f.Write(make([]byte, 100)); err != nil {
				t.Fatal(err)
			}
			expect("100 bytes", 100)
			if err := tc.act(f); err != nil {
				t.Errorf("%s: %v", end, err)
			}
			expect(end, tc.data)
			if err := f.Close(); (err != nil) != (tc.data < whole) {
				t.Errorf("%s: close: %v", end, err)
			}
			for range 60_000 { // the mount sees the close later
				if len(read(t, mnt+"/new.npy")) == head+whole {
					break
				}
				time.Sleep(time.Millisecond)
			}
			expect(end+", and closed", whole)
		}
	})
}
