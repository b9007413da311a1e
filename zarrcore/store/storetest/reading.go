package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// reading tests that objects are read and described.
type reading struct{ *suite }

// missing: a missing key is fs.ErrNotExist, and so is a directory taken for an object, or an object
// taken for a directory. The driver leaves the key out of its errors.
func (s reading) missing() {
	d := s.with(map[string][]byte{"obj": []byte("x"), "dir/obj": []byte("y")})
	for _, key := range []string{"none", "dir/none", "none/none", "obj/none", "ob", "obj2", "di",
		"dir/ob", "dir/obj/x/y"} {
		s.wantMissing(d, key)
	}
	if o, err := d.Open(s.Context(), "dir"); !errors.Is(err, fs.ErrNotExist) {
		s.Errorf("Open of a directory: got %v, %v; want fs.ErrNotExist", o, err)
	}
	s.wantMissing(d, strings.Repeat("n", 300))
	_, err := d.Open(s.Context(), "no-such-key")
	if err == nil || strings.Contains(err.Error(), "no-such-key") {
		s.Errorf("Open of a missing key: %q names the key; Store does that", err)
	}
}

// empty: an object of no bytes is there.
func (s reading) empty() {
	d := s.with(map[string][]byte{"empty": nil})
	o := s.must(d, "empty")
	if o.Size() != 0 || o.Info().Size != 0 {
		s.Errorf("Size = %d, Info().Size = %d, want 0", o.Size(), o.Info().Size)
	}
	if n, err := o.ReadAt(make([]byte, 1), 0); n != 0 || err != io.EOF {
		s.Errorf("ReadAt = %d, %v; want 0, io.EOF", n, err)
	}
	if n, err := o.ReadAt(nil, 0); n != 0 || err != nil && err != io.EOF {
		s.Errorf("ReadAt of no bytes = %d, %v", n, err)
	}
}

// readAt: full or error, io.EOF bare, as io.ReaderAt says.
func (s reading) readAt() {
	data := pattern(1, 1000)
	o := s.must(s.with(map[string][]byte{"a": data}), "a")
	tests := []struct {
		off     int64
		n, want int
	}{
		// inside
		{0, 1000, 1000}, {0, 1, 1}, {999, 1, 1}, {500, 500, 500}, {3, 700, 700}, {0, 0, 0},
		{500, 0, 0},
		// past the end
		{0, 1001, 1000}, {999, 2, 1}, {1000, 1, 0}, {1001, 1, 0}, {5000, 10, 0}, {1 << 40, 10, 0},
		{1<<63 - 20, 10, 0},
	}
	for _, test := range tests {
		p := bytes.Repeat([]byte{0xEE}, test.n)
		n, err := o.ReadAt(p, test.off)
		if n != test.want {
			s.Errorf("ReadAt(%d bytes, %d): got %d bytes, %v; want %d", test.n, test.off, n, err,
				test.want)
			continue
		}
		if n < test.n && err != io.EOF || n == test.n && err != nil &&
			(err != io.EOF || test.off+int64(n) < 1000) {
			s.Errorf("ReadAt(%d bytes, %d): %d bytes and error %v", test.n, test.off, n, err)
		}
		if n > 0 && !bytes.Equal(p[:n], data[test.off:test.off+int64(n)]) {
			s.Errorf("ReadAt(%d bytes, %d): other bytes than were stored", test.n, test.off)
		}
	}
	if n, err := o.ReadAt(make([]byte, 1), -1); n != 0 || err == nil || err == io.EOF {
		s.Errorf("ReadAt(1 byte, -1) = %d, %v; want an error", n, err)
	}
}

// peek: an object's beginning, or all of it; the errors are those of Open.
func (s reading) peek() {
	data := pattern(2, 1000)
	st := store.New(s.with(map[string][]byte{"dir/a": data, "empty": nil}), "test")
	for _, size := range []int{1, 999, 1000, 1001, 5000} {
		p := make([]byte, size)
		n, err := st.Peek(s.Context(), "dir/a", p)
		if want := data[:min(size, len(data))]; err != nil || !bytes.Equal(p[:n], want) {
			s.Errorf("Peek of %d bytes: %d, %v; want the first %d", size, n, err, len(want))
		}
	}
	if n, err := st.Peek(s.Context(), "empty", make([]byte, 10)); n != 0 || err != nil {
		s.Errorf("Peek of an object without bytes: %d, %v", n, err)
	}
	for _, key := range []string{"dir", "none", "dir/none", "dir/a/none",
		strings.Repeat("n", 300)} {
		if n, err := st.Peek(s.Context(), key, make([]byte, 10)); n != 0 ||
			!errors.Is(err, fs.ErrNotExist) {
			s.Errorf("Peek(%q) = %d, %v; want fs.ErrNotExist", key, n, err)
		}
	}
	if n, err := st.Peek(s.Context(), "../x", make([]byte, 10)); n != 0 ||
		!errors.Is(err, store.ErrInvalidKey) {
		s.Errorf("Peek of an invalid key: %d, %v", n, err)
	}
}

// big: objects of many MiB, read whole and in pieces that cross any buffer's size.
func (s reading) big() {
	data := pattern(2, 24<<20+12345)
	d := s.with(map[string][]byte{"big": data})
	s.wantContent(d, "big", data)
	o := s.must(d, "big")
	for _, off := range []int{1, 1<<20 - 1, 7<<20 + 77, len(data) - 3<<20} {
		p := make([]byte, 3<<20)
		if n, err := o.ReadAt(p, int64(off)); n != len(p) || !bytes.Equal(p, data[off:off+n]) {
			s.Errorf("ReadAt(3 MiB, %d): %d bytes, %v, or wrong ones", off, n, err)
		}
	}
}

// closed: ReadAt after Close is fs.ErrClosed.
func (s reading) closed() {
	o := s.must(s.with(map[string][]byte{"a": []byte("abc")}), "a")
	if err := o.Close(); err != nil {
		s.Errorf("Close: %v", err)
	}
	if n, err := o.ReadAt(make([]byte, 1), 0); n != 0 || !errors.Is(err, fs.ErrClosed) {
		s.Errorf("ReadAt after Close = %d, %v; want fs.ErrClosed", n, err)
	}
	o.Close() // may fail, must not do harm
}

// stat: tells objects, directories and the root apart, and agrees with Object.Info.
func (s reading) stat() {
	d := s.with(map[string][]byte{"a": pattern(3, 5000), "dir/sub/b": []byte("bb")})
	for _, want := range []store.Info{
		{Name: "a", Size: 5000}, {Name: "b", Size: 2}, {Name: "dir", Dir: true},
		{Name: "sub", Dir: true}, {Dir: true},
	} {
		if want.Dir && store.TraitsOf(d).List == store.ListNever {
			continue // it does not know directories
		}
		key := map[string]string{"b": "dir/sub/b", "sub": "dir/sub"}[want.Name]
		if key == "" {
			key = want.Name
		}
		got, err := d.Stat(s.Context(), key)
		if err != nil || got.Name != want.Name || got.Dir != want.Dir || !want.Dir &&
			got.Size != want.Size {
			s.Errorf("Stat(%q) = %+v, %v; want %+v", key, got, err, want)
		}
	}
	s.statAgrees(d, "a")
}

func (s reading) statAgrees(d store.Driver, key string) {
	info, err := d.Stat(s.Context(), key)
	if err != nil {
		s.Fatal(err)
	}
	o := s.must(d, key)
	if got := o.Info(); got != info &&
		!(got.ModTime.Equal(info.ModTime) && got.Version == info.Version && got.Size == info.Size) {
		s.Errorf("Info of the object %+v differs from Stat %+v", got, info)
	}
	if o.Size() != info.Size {
		s.Errorf("Size() = %d, Stat says %d", o.Size(), info.Size)
	}
	if age := time.Since(info.ModTime); !info.ModTime.IsZero() &&
		(age < -time.Minute || age > time.Hour) {
		s.Errorf("ModTime %v is %v ago, the object was just stored", info.ModTime, age)
	}
	if info.Stored < 0 {
		s.Errorf("Stored = %d", info.Stored)
	}
}

// oddNames: every name is just bytes, at any depth.
func (s reading) oddNames() {
	objects := map[string][]byte{}
	for i, name := range s.nameable() {
		objects[name] = fmt.Appendf(nil, "top %d", i)
		objects["dir/"+name+"~d/"+name] = fmt.Appendf(nil, "deep %d", i)
	}
	// "~d" makes directory names that differ from the objects'; long ones are shortened
	for key := range objects {
		if strings.Contains(key, strings.Repeat("n", 254)) ||
			strings.Contains(key, strings.Repeat("ü", 127)) {
			if strings.HasPrefix(key, "dir/") {
				delete(objects, key)
			}
		}
	}
	d := s.with(objects)
	lists := store.TraitsOf(d).List != store.ListNever
	var top []string
	for key, data := range objects {
		s.wantContent(d, key, data)
		if info, err := d.Stat(s.Context(), key); err != nil || info.Name != store.Base(key) {
			s.Errorf("Stat(%q) = %+v, %v", key, info, err)
		}
		if !strings.Contains(key, "/") {
			top = append(top, key)
		}
	}
	if lists {
		s.wantList(d, "", append(top, "dir/")...)
	}
	if _, ok := objects["dir/%2F~d/%2F"]; ok && lists {
		s.wantList(d, "dir/%2F~d", "%2F")
	}
}

// nameable returns the odd names that the backend can hold.
func (s reading) nameable() []string {
	names := oddNames()
	if valid := store.TraitsOf(s.with(nil)).ValidName; valid != nil {
		names = slices.DeleteFunc(names, func(name string) bool { return !valid(name) })
	}
	return names
}

// cancelled: ctx bounds the opening and all reads.
func (s reading) cancelled() {
	d := s.with(map[string][]byte{"a": []byte("abc"), "dir/b": nil})
	ctx, cancel := context.WithCancel(s.Context())
	o, err := d.Open(ctx, "a")
	if err != nil {
		s.Fatal(err)
	}
	defer o.Close()
	cancel()
	_, readErr := o.ReadAt(make([]byte, 3), 0)
	_, openErr := d.Open(ctx, "a")
	_, statErr := d.Stat(ctx, "a")
	listErr := d.List(ctx, "", func(store.Entry) error { return nil })
	if errors.Is(listErr, store.ErrCannotList) {
		listErr = context.Canceled // it is that always
	}
	for i, err := range []error{readErr, openErr, statErr, listErr} {
		if !errors.Is(err, context.Canceled) {
			s.Errorf("%s with a cancelled context: %v, want context.Canceled",
				[]string{"ReadAt", "Open", "Stat", "List"}[i], err)
		}
	}
	if w, ok := d.(store.Writer); ok {
		s.cancelledWrites(ctx, w)
		s.wantContent(d, "a", []byte("abc"))
	}
}

func (s reading) cancelledWrites(ctx context.Context, w store.Writer) {
	st := store.New(w, "test")
	_, stage := st.Stage(ctx, "a", []byte("new"))
	_, commit := s.stage(st, "a", []byte("new")).Commit(ctx, store.If{})
	errs := map[string]error{
		"Stage": stage, "Commit": commit, "SyncStaged": st.SyncStaged(ctx, nil),
		"SyncDirs": st.SyncDirs(ctx, []string{"a"}),
		"Delete":   st.Delete(ctx, "a", store.If{}), "RemoveAll": st.Dirs().RemoveAll(ctx, "a"),
		"Rename": st.Dirs().Rename(ctx, "a", "b"),
	}
	for name, err := range errs {
		if !errors.Is(err, context.Canceled) {
			s.Errorf("%s with a cancelled context: %v, want context.Canceled", name, err)
		}
	}
}

// concurrent: a driver and an object are safe for concurrent use; -race looks on. Close may come
// while reads run: they give the right bytes or fs.ErrClosed.
func (s reading) concurrent() {
	objects := map[string][]byte{}
	for i := range 50 {
		objects[fmt.Sprintf("d%d/k%d", i%5, i)] = pattern(uint64(i), 2000)
	}
	d := s.with(objects)
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := range 50 {
				i = (i + worker*7) % 50
				key := fmt.Sprintf("d%d/k%d", i%5, i)
				s.wantContent(d, key, objects[key])
				d.List(s.Context(), fmt.Sprintf("d%d", i%5), func(store.Entry) error { return nil })
				d.Open(s.Context(), key+"-none")
			}
		})
	}
	wg.Wait()
	for range 20 {
		s.closeWhileReading(d, "d1/k1", objects["d1/k1"])
	}
}

func (s reading) closeWhileReading(d store.Driver, key string, want []byte) {
	o := s.must(d, key)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 100 {
				p := make([]byte, len(want))
				n, err := o.ReadAt(p, 0)
				if err != nil && errors.Is(err, fs.ErrClosed) {
					return
				}
				if n != len(want) || !bytes.Equal(p, want) {
					s.Errorf("ReadAt while others read and close: %d bytes, %v, or wrong ones", n,
						err)
					return
				}
			}
		})
	}
	o.Close()
	wg.Wait()
}

// portable: the driver below a store.Store, as everybody uses it.
func (s reading) portable() {
	d := s.with(map[string][]byte{"g/zarr.json": []byte("{}")})
	st := store.New(d, "test")
	data, info, err := st.ReadAll(s.Context(), "g/zarr.json", 2)
	if err != nil || string(data) != "{}" || info.Size != 2 {
		s.Errorf("ReadAll = %q, %+v, %v", data, info, err)
	}
	if _, _, err := st.ReadAll(s.Context(), "g/zarr.json", 1); !errors.Is(err, store.ErrTooLarge) {
		s.Errorf("ReadAll over its limit: %v, want store.ErrTooLarge", err)
	}
	_, err = st.Open(s.Context(), "g/none")
	if !errors.Is(err, fs.ErrNotExist) || strings.Count(fmt.Sprint(err), "g/none") != 1 {
		s.Errorf("Open of a missing key: %v; want fs.ErrNotExist with the key, once", err)
	}
	if _, err := st.Open(s.Context(), "g/../g/zarr.json"); !errors.Is(err, store.ErrInvalidKey) {
		s.Errorf("Open of an invalid key: %v; want store.ErrInvalidKey", err)
	}
}
