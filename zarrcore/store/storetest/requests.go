package storetest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"slices"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// This file tests what drivers can do in one request, and what Store does for those that cannot.

// requesting tests what drivers can do in one request, and what Store does for those that cannot.
type requesting struct{ *suite }

// openFor: whatever bytes are wanted, all of the object can be read, and it is of the version that
// is asked for. The errors are those of Open.
func (s requesting) openFor() {
	data := pattern(4, 10_000)
	st := store.New(s.with(map[string][]byte{"dir/a": data, "empty": nil}), "test")
	info, err := st.Stat(s.Context(), "dir/a")
	if err != nil {
		s.Fatal(err)
	}
	for _, w := range []store.Want{
		{}, {N: 1}, {N: store.All}, {Off: 100, N: 50}, {Off: -16, N: 16}, {Off: -20_000,
			N: store.All},
		{Off: 20_000, N: 5}, {Off: 9_999, N: store.All}, {N: 100, Version: info.Version},
		{Off: math.MinInt64, N: 1},
	} {
		for key, want := range map[string][]byte{"dir/a": data, "empty": nil} {
			if key == "empty" && w.Version != "" {
				continue
			}
			s.wantAll(st, key, w, want)
		}
	}
	for _, key := range []string{"dir", "none", "dir/none"} {
		if _, err := st.OpenFor(s.Context(), key, store.Want{N: store.All}); !errors.Is(err,
			fs.ErrNotExist) {
			s.Errorf("OpenFor(%q): %v, want fs.ErrNotExist", key, err)
		}
	}
	if _, err := st.OpenFor(s.Context(), "dir/a", store.Want{N: 1,
		Version: "another"}); !errors.Is(err, store.ErrChanged) {
		s.Errorf("OpenFor of a version that is not there: %v, want store.ErrChanged", err)
	}
	s.wantAll(st, "dir/a", store.Want{Off: -16, N: 16, Unless: "another"}, data)
	for _, w := range []store.Want{{}, {N: 1}, {N: store.All}, {Off: -16, N: 16}} {
		w.Unless = info.Version
		_, err := st.OpenFor(s.Context(), "dir/a", w)
		if info.Version != "" && !errors.Is(err, store.ErrUnchanged) {
			s.Errorf("OpenFor(%+v) of the known version: %v, want store.ErrUnchanged", w, err)
		}
	}
}

func (s requesting) wantAll(st *store.Store, key string, w store.Want, want []byte) {
	s.Helper()
	o, err := st.OpenFor(s.Context(), key, w)
	if err != nil {
		s.Fatalf("OpenFor(%q, %+v): %v", key, w, err)
	}
	defer o.Close()
	if o.Size() != int64(len(want)) || o.Info().Size != o.Size() {
		s.Errorf("OpenFor(%q, %+v): Size %d, Info %+v; want %d bytes", key, w, o.Size(), o.Info(),
			len(want))
		return
	}
	got := make([]byte, len(want))
	if n, err := o.ReadAt(got, 0); n != len(want) || err != nil && err != io.EOF ||
		!bytes.Equal(got, want) {
		s.Errorf("OpenFor(%q, %+v): %d bytes, %v, or wrong ones", key, w, n, err)
	}
	if lo, hi := w.Range(o.Size()); hi > lo {
		part := make([]byte, hi-lo)
		if n, err := o.ReadAt(part, lo); n != len(part) || err != nil && err != io.EOF ||
			!bytes.Equal(part, want[lo:hi]) {
			s.Errorf("OpenFor(%q, %+v): %d bytes at %d, %v, or wrong ones", key, w, n, lo, err)
		}
	}
}

// ranges: all spans in any order, or an error.
func (s requesting) ranges() {
	data := pattern(5, 100_000)
	st := store.New(s.with(map[string][]byte{"a": data}), "test")
	for _, w := range []store.Want{{}, {N: 5000}, {N: store.All}} {
		o, err := st.OpenFor(s.Context(), "a", w)
		if err != nil {
			s.Fatal(err)
		}
		s.wantRanges(o, data)
		o.Close()
		if err := store.ReadRanges(s.Context(), o,
			[]store.Span{{P: make([]byte, 1)}}); !errors.Is(err, fs.ErrClosed) {
			s.Errorf("ReadRanges after Close: %v, want fs.ErrClosed", err)
		}
	}
}

func (s requesting) wantRanges(o store.Object, data []byte) {
	s.Helper()
	spans := []store.Span{
		{Off: 99_990, P: make([]byte, 10)}, {Off: 0, P: make([]byte, 1)}, {Off: 500, P: make([]byte,
			1000)},
		{Off: 700, P: make([]byte, 100)}, {Off: 1500, P: make([]byte, 1)},
		{Off: 4990, P: make([]byte, 20)},
		{Off: 50_000}, {Off: 60_000, P: make([]byte, 30_000)},
	}
	if err := store.ReadRanges(s.Context(), o, spans); err != nil {
		s.Errorf("ReadRanges: %v", err)
	}
	for _, span := range spans {
		if !bytes.Equal(span.P, data[span.Off:int(span.Off)+len(span.P)]) {
			s.Errorf("ReadRanges: %d bytes at %d are wrong", len(span.P), span.Off)
		}
	}
	past := []store.Span{{Off: 5, P: make([]byte, 5)}, {Off: 99_999, P: make([]byte, 2)}}
	if err := store.ReadRanges(s.Context(), o, past); !errors.Is(err, io.ErrUnexpectedEOF) {
		s.Errorf("ReadRanges past the end: %v, want io.ErrUnexpectedEOF", err)
	}
	ctx, cancel := context.WithCancel(s.Context())
	cancel()
	if err := store.ReadRanges(ctx, o, spans); !errors.Is(err, context.Canceled) {
		s.Errorf("ReadRanges with a cancelled context: %v, want context.Canceled", err)
	}
	if err := store.ReadRanges(s.Context(), o, nil); err != nil {
		s.Errorf("ReadRanges of nothing: %v", err)
	}
}

// getIf: the bytes of another version than the one that is known, and nothing of the same one.
func (s requesting) getIf() {
	d := s.with(map[string][]byte{"dir/a": []byte("first"), "empty": nil})
	st := store.New(d, "test")
	data, info, err := st.GetIf(s.Context(), "dir/a", "", 5)
	if err != nil || string(data) != "first" || info.Size != 5 {
		s.Fatalf("GetIf = %q, %+v, %v", data, info, err)
	}
	if data, info, err := st.GetIf(s.Context(), "empty", "", 5); err != nil || len(data) != 0 ||
		info.Size != 0 {
		s.Errorf("GetIf of an object without bytes: %q, %+v, %v", data, info, err)
	}
	if data, _, err := st.GetIf(s.Context(), "dir/a", "another", 5); err != nil ||
		string(data) != "first" {
		s.Errorf("GetIf with another version: %q, %v", data, err)
	}
	if _, _, err := st.GetIf(s.Context(), "dir/a", "", 4); !errors.Is(err, store.ErrTooLarge) {
		s.Errorf("GetIf over its limit: %v, want store.ErrTooLarge", err)
	}
	for _, key := range []string{"dir", "none", "dir/none"} {
		if _, _, err := st.GetIf(s.Context(), key, "", 5); !errors.Is(err, fs.ErrNotExist) {
			s.Errorf("GetIf(%q): %v, want fs.ErrNotExist", key, err)
		}
	}
	if info.Version == "" {
		return
	}
	if data, _, err := st.GetIf(s.Context(), "dir/a", info.Version, 5); !errors.Is(err,
		store.ErrUnchanged) {
		s.Errorf("GetIf with its version: %q, %v; want store.ErrUnchanged", data, err)
	}
	if _, ok := d.(store.Writer); !ok {
		return
	}
	s.put(st, "dir/a", []byte("again"))
	if data, _, err := st.GetIf(s.Context(), "dir/a", info.Version, 5); err != nil ||
		string(data) != "again" {
		s.Errorf("GetIf after a change: %q, %v", data, err)
	}
}

// walk: all objects below a directory, each once, described as by Stat but without rights.
func (s requesting) walk() {
	objects := map[string][]byte{"a/zarr.json": []byte("{}"), "a/c/0/0": {1}, "a/c/1/0": nil,
		"ab/x": {2}, "b": {4}}
	d := s.listed(objects)
	st := store.New(d, "test")
	for dir, want := range map[string][]string{
		"": {"a/c/0/0", "a/c/1/0", "a/zarr.json", "ab/x", "b"}, "a": {"a/c/0/0", "a/c/1/0",
			"a/zarr.json"}, "a/c/1": {"a/c/1/0"},
	} {
		var got []string
		err := st.Walk(s.Context(), dir, func(key string, info store.Info) error {
			got = append(got, key)
			said, err := d.Stat(s.Context(), key)
			said.Rights = store.Rights{}
			if err != nil || said != info {
				s.Errorf("Walk(%q): %+v of %q, Stat reports %+v, %v", dir, info, key, said, err)
			}
			return nil
		})
		if slices.Sort(got); err != nil || !slices.Equal(got, want) {
			s.Errorf("Walk(%q): %q, %v; want %q", dir, got, err, want)
		}
	}
	stop := errors.New("stop")
	if err := st.Walk(s.Context(), "a", func(string,
		store.Info) error {
		return stop
	}); err != stop {
		s.Errorf("Walk with a yield that fails: %v, want its own error", err)
	}
	for _, dir := range []string{"none", "b", "a/none"} {
		if err := st.Walk(s.Context(), dir, nil); !errors.Is(err, fs.ErrNotExist) {
			s.Errorf("Walk(%q): %v, want fs.ErrNotExist", dir, err)
		}
	}
}

// prefetch: hints of what is there, of what is not and of too much change nothing that is read.
func (s requesting) prefetch() {
	data := pattern(6, 50_000)
	st := store.New(s.with(map[string][]byte{"a": data, "dir/b": data[:10]}), "test")
	hints := []store.Hint{
		{Key: "a", Want: store.Want{N: store.All}}, {Key: "a", Want: store.Want{Off: -10, N: 10}},
		{Key: "none", Want: store.Want{N: 5}}, {Key: "dir", Want: store.Want{N: 5}}, {Key: "dir/b"},
		{Key: "../b"},
	}
	if taken := st.Ahead().Fetch(hints); taken < 0 || taken > len(hints)-1 {
		s.Errorf("Prefetch took %d of %d hints, the last of which has no valid key", taken,
			len(hints))
	}
	s.wantAll(st, "a", store.Want{N: store.All}, data)
	s.wantAll(st, "a", store.Want{Off: -10, N: 10}, data)
	s.wantAll(st, "dir/b", store.Want{N: store.All}, data[:10])
	if _, err := st.OpenFor(s.Context(), "none", store.Want{N: 5}); !errors.Is(err,
		fs.ErrNotExist) {
		s.Errorf("OpenFor of a missing key after a hint: %v, want fs.ErrNotExist", err)
	}
}

// traits: they agree with what the driver does.
func (s requesting) traits() {
	d := s.with(map[string][]byte{"a": {1}})
	t := store.TraitsOf(d)
	info, err := d.Stat(s.Context(), "a")
	if err != nil {
		s.Fatal(err)
	}
	if t.Versions == store.VersionNone != (info.Version == "") {
		s.Errorf("Traits %+v of a store that reports a version %q", t, info.Version)
	}
	err = d.List(s.Context(), "", func(store.Entry) error { return nil })
	if t.List == store.ListNever != errors.Is(err, store.ErrCannotList) {
		s.Errorf("Traits %+v of a store whose List returns %v", t, err)
	}
}
