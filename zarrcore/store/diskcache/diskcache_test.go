package diskcache_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/diskcache"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// usual are the options of most tests.
func usual(dir string) diskcache.Options {
	return diskcache.Options{Dir: dir, Size: 64 << 20, Identity: "test"}
}

// open returns d with a cache.
func open(t *testing.T, o diskcache.Options, d store.Driver) *diskcache.Driver {
	t.Helper()
	c, err := diskcache.Open(t.Context(), o, func(context.Context) (store.Driver, error) {
		return d, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestConformance: a cache changes nothing of what a store is, with all abilities below and with
// none.
func TestConformance(t *testing.T) {
	for name, o := range map[string]storetest.LinkOptions{"Able": {}, "Plain": {Plain: true}} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T, objects map[string][]byte) store.Driver {
				near := memstore.New()
				storetest.Fill(t, near, objects)
				_, d := storetest.Behind(near, o)
				c := open(t, usual(t.TempDir()), d)
				t.Cleanup(func() { c.Close() })
				return c
			})
		})
	}
}

// noise returns n bytes.
func noise(seed uint64, n int) []byte {
	p := make([]byte, n)
	r := rand.NewChaCha8([32]byte{byte(seed)})
	r.Read(p)
	return p
}

const delay = 50 * time.Millisecond

// A session is one mount of a store that has a cache.
type session struct {
	*testing.T
	st    *store.Store
	cache *diskcache.Driver
	link  *storetest.Link
	near  *memstore.Driver
}

// sessions returns what begins mounts, one after the other, of a store with some objects.
func sessions(
	t *testing.T, objects map[string][]byte,
) func(o diskcache.Options, run func(s *session)) {
	near := memstore.New()
	storetest.Fill(t, near, objects)
	dir := t.TempDir()
	return func(o diskcache.Options, run func(s *session)) {
		t.Helper()
		link, d := storetest.Behind(near, storetest.LinkOptions{Delay: delay})
		if o.Dir == "" {
			o.Dir = dir
		}
		c := open(t, o, d)
		link.Take()
		run(&session{t, store.New(c, "test"), c, link, near})
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// reads opens an object for some bytes, reads them and closes it.
func (s *session) reads(key string, w store.Want, want []byte) {
	s.Helper()
	o, err := s.st.OpenFor(s.Context(), key, w)
	if err != nil {
		s.Errorf("%s: %v", key, err)
		return
	}
	defer o.Close()
	lo, hi := w.Range(o.Size())
	p := make([]byte, hi-lo)
	if n, err := o.ReadAt(p, lo); n < len(p) || !bytes.Equal(p, want[lo:hi]) {
		s.Errorf("%s, %+v: %d bytes, %v, or wrong ones", key, w, n, err)
	}
}

// took fails unless so many requests, and bytes, were sent since the last call.
func (s *session) took(what string, requests int, bytes int64) {
	s.Helper()
	if c := s.link.Take(); c.Requests != requests || c.Bytes != bytes {
		s.Errorf("%s: %d requests, %d bytes; want %d, %d", what, c.Requests, c.Bytes, requests,
			bytes)
	}
}

var (
	opens = diskcache.Options{Size: 64 << 20, Identity: "test"}
	ttl   = diskcache.Options{Size: 64 << 20, Identity: "test",
		Fresh: store.Freshness{When: store.FreshTTL}}
	never = diskcache.Options{Size: 64 << 20, Identity: "test",
		Fresh: store.Freshness{When: store.FreshNever}}
)

// TestRequests: what was read once comes from the disk, after one request without data. None is
// sent where nothing is asked for again, or was a moment ago. Of what was read in part only the
// rest is fetched.
func TestRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		large, small := noise(1, 1_000_000), noise(2, 1000)
		mount := sessions(t, map[string][]byte{"a/large": large, "a/small": small})
		all, part := store.Want{N: store.All}, store.Want{Off: 300_000, N: 50_000}
		mount(opens, func(s *session) {
			s.reads("a/large", part, large)
			s.took("part, first", 1, 50_000)
			s.reads("a/small", all, small)
			s.took("small, first", 1, 1000)
			synctest.Wait()
			s.reads("a/large", store.Want{Off: 310_000, N: 1000}, large)
			s.took("less of the part, at once", 0, 0)
			s.reads("a/large", store.Want{Off: 340_000, N: 20_000}, large)
			s.took("more than the part", 1, 10_000)
		})
		for name, o := range map[string]diskcache.Options{"open": opens, "ttl": ttl} {
			mount(o, func(s *session) {
				for _, key := range []string{"a/large", "a/small"} {
					w := map[string]store.Want{"a/large": part, "a/small": all}[key]
					want := map[string][]byte{"a/large": large, "a/small": small}[key]
					s.reads(key, w, want)
					s.took(name+": "+key, 1, 0)
					s.reads(key, w, want)
					s.took(name+": "+key+" again", 0, 0)
					time.Sleep(2 * store.DefaultTTL)
					s.reads(key, w, want)
					s.took(name+": "+key+" later", 1, 0)
					s.cache.ForgetAhead("a")
					s.reads(key, w, want)
					s.took(name+": "+key+" in a new epoch", 1, 0)
				}
				data, _, err := s.st.GetIf(s.Context(), "a/small", "", 1000)
				if err != nil || !bytes.Equal(data, small) {
					s.Errorf("GetIf: %d bytes, %v", len(data), err)
				}
				s.took(name+": document", 1, 0)
			})
		}
		mount(never, func(s *session) {
			s.reads("a/large", part, large)
			s.reads("a/small", all, small)
			if _, err := s.st.Stat(s.Context(), "a/large"); err != nil {
				s.Error(err)
			}
			s.took("never", 0, 0)
			s.reads("a/large", all, large)
			s.took("never, the rest", 1, 1_000_000)
		})
		mount(never, func(s *session) {
			s.reads("a/large", all, large)
			s.took("never, all", 0, 0)
		})
	})
}

// TestReplaced: what the store has now is read, also where the disk has another version, and also
// of an object that is open.
func TestReplaced(t *testing.T) {
	before, after := noise(3, 700_000), noise(4, 700_000)
	for _, w := range []store.Want{{N: store.All}, {Off: 290_000, N: 1000}, {Off: -16, N: 16}, {}} {
		synctest.Test(t, func(t *testing.T) {
			mount := sessions(t, map[string][]byte{"a": before})
			mount(opens, func(s *session) { s.reads("a", store.Want{N: store.All}, before) })
			mount(opens, func(s *session) {
				o, err := s.st.OpenFor(s.Context(), "a", w)
				if err != nil {
					s.Fatal(err)
				}
				defer o.Close()
				storetest.Fill(s.T, s.near, map[string][]byte{"a": after})
				p := make([]byte, 700_000)
				if n, err := o.ReadAt(p, 0); err == nil && !bytes.Equal(p[:n], before) {
					s.Errorf("%+v: an open object changes", w)
				}
				s.cache.ForgetAhead("")
				s.reads("a", w, after)
				s.reads("a", store.Want{N: store.All}, after)
			})
			mount(opens, func(s *session) {
				s.reads("a", store.Want{N: store.All}, after)
				s.took("after", 1, 0)
				_, err := s.st.OpenFor(s.Context(), "a", store.Want{N: 1, Version: "older"})
				if !errors.Is(err, store.ErrChanged) {
					s.Errorf("an older version: %v", err)
				}
			})
		})
	}
}

// TestReplacedForNever: with --fresh never, a reader gets the old version while all bytes it reads
// are cached. Otherwise it gets the new version, after at most one error.
func TestReplacedForNever(t *testing.T) {
	before, after := noise(3, 20_000_000), noise(4, 20_000_000)
	mount := sessions(t, map[string][]byte{"a": before})
	part := store.Want{Off: 1000, N: 1000}
	mount(never, func(s *session) { s.reads("a", part, before) })
	mount(never, func(s *session) {
		storetest.Fill(s.T, s.near, map[string][]byte{"a": after})
		s.reads("a", part, before)
		o, err := s.st.OpenFor(s.Context(), "a", store.Want{N: store.All})
		if err != nil {
			s.Fatal(err)
		}
		if _, err := o.ReadAt(make([]byte, 5000), 0); !errors.Is(err, store.ErrChanged) {
			s.Errorf("what was replaced meanwhile: %v", err)
		}
		o.Close()
	})
	mount(never, func(s *session) {
		s.reads("a", part, after)
		s.reads("a", store.Want{N: store.All}, after)
	})
}

// TestDocumentChanged: when a document has changed, what lies beside it and below is asked for
// again.
func TestDocumentChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mount := sessions(t, map[string][]byte{"a/zarr.json": {1}, "a/c/0": {2}, "b/c/0": {3}})
		all := store.Want{N: store.All}
		mount(opens, func(s *session) {
			_, info, err := s.st.GetIf(s.Context(), "a/zarr.json", "", 10)
			if err != nil {
				s.Fatal(err)
			}
			s.reads("a/c/0", all, []byte{2})
			s.reads("b/c/0", all, []byte{3})
			synctest.Wait()
			storetest.Fill(s.T, s.near, map[string][]byte{"a/zarr.json": {4}, "a/c/0": {5}})
			if _, _, err := s.st.GetIf(s.Context(), "a/zarr.json", info.Version, 10); err != nil {
				s.Error(err)
			}
			s.link.Take()
			s.reads("a/c/0", all, []byte{5})
			s.took("below it", 1, 1)
			s.reads("b/c/0", all, []byte{3})
			s.took("elsewhere", 0, 0)
		})
	})
}

// TestMissing: a missing object is looked up again, except with --fresh never.
func TestMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mount := sessions(t, map[string][]byte{"other": {1}, "dir/a": {2}})
		looks := func(s *session, requests int) {
			s.Helper()
			for range 2 {
				_, err := s.st.OpenFor(s.Context(), "none", store.Want{N: 1})
				if !errors.Is(err, fs.ErrNotExist) {
					s.Errorf("none: %v", err)
				}
			}
			s.took("missing", requests, 0)
		}
		mount(opens, func(s *session) { looks(s, 2) })
		mount(opens, func(s *session) { looks(s, 2) })
		mount(never, func(s *session) { looks(s, 0) })
		mount(opens, func(s *session) {
			storetest.Fill(s.T, s.near, map[string][]byte{"none": {7}})
			s.reads("none", store.Want{N: 1}, []byte{7})
		})
		mount(never, func(s *session) {
			s.reads("none", store.Want{N: 1}, []byte{7})
			s.took("found", 0, 0)
		})
	})
}

// TestListings: a listing is requested again, except with --fresh never.
func TestListings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mount := sessions(t, map[string][]byte{"dir/a": {1}, "dir/b/c": {2}})
		lists := func(s *session) string {
			var names []string
			for _, list := range []func() error{
				func() error {
					return s.st.List(s.Context(), "dir", func(e store.Entry) error {
						names = append(names, e.Name)
						return nil
					})
				},
				func() error {
					return s.st.Survey(s.Context(), "dir", func(e store.Entry, _ store.Info) error {
						names = append(names, e.Name)
						return nil
					})
				},
				func() error {
					return s.st.Walk(s.Context(), "dir", func(key string, i store.Info) error {
						names = append(names, fmt.Sprint(key, i.Size))
						return nil
					})
				},
			} {
				if err := list(); err != nil {
					s.Error(err)
				}
			}
			slices.Sort(names)
			return strings.Join(names, " ")
		}
		want := ""
		mount(opens, func(s *session) { want = lists(s); s.took("first", 3, 0) })
		mount(opens, func(s *session) { lists(s); s.took("again", 3, 0) })
		mount(never, func(s *session) {
			if got := lists(s); got != want {
				s.Errorf("%s, want %s", got, want)
			}
			s.took("never", 0, 0)
		})
	})
}

// TestOffline: without the server, what is kept is read where nothing is asked for again, and all
// else is an error.
func TestOffline(t *testing.T) {
	gone := errors.New("no network")
	dial := func(context.Context) (store.Driver, error) { return nil, gone }
	mount := sessions(t, map[string][]byte{"a": noise(5, 1000)})
	dir := t.TempDir()
	o := never
	o.Dir = dir
	if _, err := diskcache.Open(t.Context(), o, dial); !errors.Is(err, gone) {
		t.Errorf("an empty cache: %v", err)
	}
	in := opens
	in.Dir = dir
	mount(in, func(s *session) { s.reads("a", store.Want{N: store.All}, noise(5, 1000)) })
	c, err := diskcache.Open(t.Context(), o, dial)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if t1, t2 := c.Traits(), (&storetest.Link{}).Traits(); !t1.Remote || t1.List != t2.List {
		t.Errorf("traits: %+v", t1)
	}
	s := &session{T: t, st: store.New(c, "test")}
	s.reads("a", store.Want{N: store.All}, noise(5, 1000))
	if _, err := s.st.OpenFor(t.Context(), "b", store.Want{N: 1}); !errors.Is(err, gone) {
		t.Errorf("what is not kept: %v", err)
	}
	in.Fresh = store.Freshness{}
	if _, err := diskcache.Open(t.Context(), in, dial); !errors.Is(err, gone) {
		t.Errorf("with questions: %v", err)
	}
}

// TestUnreachable: while the server cannot be reached, all that is not kept is refused at once, and
// not after one try each. A reader that gives up does not wait.
func TestUnreachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mount, dir := sessions(t, nil), t.TempDir()
		in, o := opens, never
		in.Dir, o.Dir = dir, dir
		mount(in, func(*session) {})
		gone, tries := errors.New("no answer"), 0
		c, err := diskcache.Open(t.Context(), o, func(ctx context.Context) (store.Driver, error) {
			tries++
			select {
			case <-time.After(30 * time.Second):
				return nil, gone
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		began := time.Now()
		var readers sync.WaitGroup
		for i := range 20 {
			readers.Go(func() {
				_, err := c.OpenFor(t.Context(), fmt.Sprint(i), store.Want{N: 1})
				if !errors.Is(err, gone) {
					t.Errorf("%d: %v", i, err)
				}
			})
		}
		readers.Go(func() {
			ctx, stop := context.WithTimeout(t.Context(), time.Second)
			defer stop()
			if _, err := c.OpenFor(ctx, "x", store.Want{N: 1}); err == nil {
				t.Error("it is opened")
			}
			if took := time.Since(began); took > time.Second {
				t.Errorf("a reader that gives up waits %v", took)
			}
		})
		readers.Wait()
		if took := time.Since(began); took > 31*time.Second || tries > 2 {
			t.Errorf("%d tries, %v", tries, took)
		}
	})
}

// TestLargeObject: an object that is larger than what waits to be written is kept as a whole.
func TestLargeObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // time stands still while the disk is at work
		data := noise(1, 60_000_000)
		mount := sessions(t, map[string][]byte{"a": data})
		o := opens
		o.Size = 100 << 20
		for i, sent := range []int64{60_000_000, 0} {
			mount(o, func(s *session) {
				s.reads("a", store.Want{N: store.All}, data)
				if c := s.link.Take(); c.Bytes != sent {
					s.Errorf("mount %d: %+v, want %d bytes", i, c, sent)
				}
				if skipped := s.cache.Traffic().Disk.Skipped; skipped > 0 {
					s.Errorf("mount %d: %d cells were skipped", i, skipped)
				}
			})
		}
	})
}

// TestIdentity: what was kept for another identity is not read.
func TestIdentity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		data := noise(6, 5000)
		mount := sessions(t, map[string][]byte{"a": data})
		all := store.Want{N: store.All}
		mount(opens, func(s *session) { s.reads("a", all, data) })
		other := never
		other.Identity = "another"
		mount(other, func(s *session) { s.reads("a", all, data); s.took("another", 1, 5000) })
		mount(never, func(s *session) { s.reads("a", all, data); s.took("the same", 0, 0) })
	})
}

// named is a store whose objects have versions of another kind.
type named struct {
	store.Driver
	version func(string) string
}

func (n named) Traits() store.Traits { return store.TraitsOf(n.Driver) }

func (n named) Stat(ctx context.Context, key string) (store.Info, error) {
	info, err := n.Driver.Stat(ctx, key)
	info.Version = n.version(info.Version)
	return info, err
}

func (n named) Open(ctx context.Context, key string) (store.Object, error) {
	o, err := n.Driver.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	info := o.Info()
	info.Version = n.version(info.Version)
	return namedObject{o, info}, nil
}

type namedObject struct {
	store.Object
	info store.Info
}

func (o namedObject) Info() store.Info { return o.info }

// TestVersions: where versions do not tell objects apart, nothing is taken from the disk, unless
// nothing is asked for again. Then it is all of an object or nothing.
func TestVersions(t *testing.T) {
	for name, version := range map[string]func(string) string{
		"none": func(string) string { return "" },
		"weak": func(string) string { return `W/"1"` },
	} {
		t.Run(name, func(t *testing.T) {
			near, dir := memstore.New(), t.TempDir()
			d := named{near, version}
			_, far := storetest.Behind(d, storetest.LinkOptions{Plain: true})
			before, after := noise(8, 600_000), noise(9, 600_000)
			storetest.Fill(t, near, map[string][]byte{"a": before, "b": before})
			mount := func(o diskcache.Options, run func(s *session)) {
				o.Dir = dir
				c := open(t, o, far)
				run(&session{T: t, st: store.New(c, "test")})
				c.Close()
			}
			all, part := store.Want{N: store.All}, store.Want{Off: 300_000, N: 100}
			mount(opens, func(s *session) { s.reads("a", all, before) })
			mount(never, func(s *session) { s.reads("b", part, before) })
			storetest.Fill(t, near, map[string][]byte{"a": after, "b": after})
			mount(opens, func(s *session) { s.reads("a", all, after) })
			mount(never, func(s *session) { s.reads("a", all, after); s.reads("b", all, after) })
			storetest.Fill(t, near, map[string][]byte{"a": before, "b": before})
			mount(never, func(s *session) { s.reads("a", part, after); s.reads("b", all, after) })
			mount(opens, func(s *session) { s.reads("a", part, before); s.reads("b", all, before) })
		})
	}
}
