package zarrcore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	iofs "io/fs"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/memstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/storetest"
)

// This file counts the requests, and the round trips, that a remote store is asked for. Time is
// that of a bubble, so that the numbers are exact, however busy the machine is.

// trip is the delay of a request.
const trip = 50 * time.Millisecond

// A far is a hierarchy in a store behind a network.
type far struct {
	*testing.T
	h     *zarrcore.Hierarchy
	link  *storetest.Link
	began time.Time
}

// afar opens what is in d behind a network, in a bubble.
func afar(t *testing.T, d store.Driver, o storetest.LinkOptions, opt zarrcore.Options,
	f func(*far)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o.Delay = trip
		link, behind := storetest.Behind(d, o)
		now := &far{T: t, link: link, began: time.Now()}
		opt.ScratchDir = t.TempDir()
		h, err := zarrcore.Open(context.Background(), store.New(behind, "far"), &opt)
		if err != nil {
			t.Fatal(err)
		}
		now.h = h
		f(now)
		h.Close()
	})
}

// wants holds that what was done since the last call took so many requests and round trips.
func (f *far) wants(what string, requests, trips int) storetest.Counts {
	f.Helper()
	asked := strings.Join(f.link.Asked(), ", ")
	got, took := f.link.Take(), time.Since(f.began)
	if got.Requests != requests || took.Round(trip/10) != time.Duration(trips)*trip {
		f.Errorf("%s: %d requests in %.1f round trips, want %d in %d: %s", what, got.Requests,
			float64(took)/float64(trip), requests, trips, asked[:min(len(asked), 1000)])
	}
	f.began = time.Now()
	return got
}

// arrays writes a group of n arrays of one chunk each, of a format.
func arrays(t *testing.T, n, format int) *memstore.Driver {
	d := memstore.New()
	put(t, d, map[int]string{2: ".zgroup", 3: "zarr.json"}[format],
		fmt.Appendf(nil, `{"zarr_format": %d%s}`, format,
			map[int]string{3: `, "node_type": "group"`}[format]))
	for i := range n {
		f := &fixture{path: fmt.Sprintf("a%04d", i), format: format, shape: []int64{10},
			chunk: []int64{10}, separator: "."}
		f.write(t, d, rand.New(rand.NewPCG(1, uint64(i))))
	}
	return d
}

// consolidate puts copies of all documents into the root's.
func consolidate(t *testing.T, d *memstore.Driver, format int) {
	st := store.New(d, "")
	copies := map[string]json.RawMessage{}
	err := st.Walk(t.Context(), "", func(key string, _ store.Info) error {
		doc, _, err := st.ReadAll(t.Context(), key, 1<<20)
		if base := store.Base(key); base == "zarr.json" && format == 3 && key != base {
			copies[store.Parent(key)] = doc
		} else if strings.HasPrefix(base, ".z") && format == 2 {
			copies[key] = doc
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	all, _ := json.Marshal(copies)
	if format == 2 {
		put(t, d, ".zmetadata", fmt.Appendf(nil, `{"zarr_consolidated_format": 1, "metadata": %s}`,
			all))
		return
	}
	put(t, d, "zarr.json", fmt.Appendf(nil, `{"zarr_format": 3, "node_type": "group",
		"consolidated_metadata": {"kind": "inline", "must_understand": false,
			"metadata": %s}}`, all))
}

// TestRequestsToOpen: a hierarchy is opened in one round trip, and so is an array. To open it again
// asks whether its documents have changed, and nothing else.
func TestRequestsToOpen(t *testing.T) {
	for _, tt := range []struct{ format, first int }{{2, 4}, {3, 1}} {
		for _, copied := range []bool{false, true} {
			t.Run(fmt.Sprintf("v%d consolidated %v", tt.format, copied), func(t *testing.T) {
				d, first := arrays(t, 3, tt.format), tt.first
				if copied {
					consolidate(t, d, tt.format)
					first = 1
				}
				afar(t, d, storetest.LinkOptions{}, zarrcore.Options{}, func(f *far) {
					f.wants("open the hierarchy", 6, 1)
					openArray(f.T, f.h, "a0001")
					f.wants("open an array", first, 1)
					openArray(f.T, f.h, "a0001")
					if c := f.wants("open it again", 1, 1); c.Unchanged != 1 || c.Bytes != 0 {
						f.Errorf("open it again: %+v, want only answers that nothing has changed",
							c)
					}
				})
			})
		}
	}
}

// atOnce is how many documents a listing asks for at once.
const atOnce = 128

// TestPagesAhead: while documents of the children on one page of a listing are asked for, the next
// page is. So the pages alone cost time where there are many, and the documents where they are.
func TestPagesAhead(t *testing.T) {
	const n, page, pages = 1000, 100, 11 // there is a document beside the arrays
	afar(t, arrays(t, n, 3), storetest.LinkOptions{Page: page}, zarrcore.Options{}, func(f *far) {
		f.link.Take()
		f.began = time.Now()
		if names, err := children(f.h, ""); err != nil || len(names) != n {
			f.Fatalf("%d children, %v", len(names), err)
		}
		f.wants("list", pages+n, pages+2)
	})
}

// TestListingEndsEarly: when a reader of a listing has enough, nothing more is asked for.
func TestListingEndsEarly(t *testing.T) {
	const n, page = 1000, 100
	afar(t, arrays(t, n, 3), storetest.LinkOptions{Page: page}, zarrcore.Options{}, func(f *far) {
		f.link.Take()
		enough := errors.New("enough")
		err := f.h.Children(context.Background(), "", func(zarrcore.Child) error { return enough })
		if !errors.Is(err, enough) {
			f.Errorf("%v, want that of the reader", err)
		}
		if c := f.link.Take(); c.Requests > n/2 {
			f.Errorf("%+v, want less than half of all", c)
		}
		time.Sleep(time.Second)
		if c := f.link.Take(); c.Requests > 0 {
			f.Errorf("%+v after the end", c)
		}
	})
}

// TestListingCancelled: a listing whose caller gives up is an error, and shows no array as anything
// else.
func TestListingCancelled(t *testing.T) {
	for trips := range 12 {
		o := storetest.LinkOptions{Page: 100}
		afar(t, arrays(t, 1000, 3), o, zarrcore.Options{}, func(f *far) {
			patience := time.Duration(trips)*trip + trip/2
			ctx, end := context.WithTimeout(context.Background(), patience)
			defer end()
			err := f.h.Children(ctx, "", func(c zarrcore.Child) error {
				if c.Kind != zarrcore.ArrayNode {
					f.Errorf("after %v %s is of kind %v", patience, c.Name, c.Kind)
				}
				return nil
			})
			if !errors.Is(err, context.DeadlineExceeded) {
				f.Errorf("after %v: %v", patience, err)
			}
		})
	}
}

// TestRequestsToList: a group of 1,000 arrays is listed by its consolidated metadata without any
// request. Otherwise it takes one for each page and one for each document, many at once. What was
// listed is described without any other.
func TestRequestsToList(t *testing.T) {
	const n, pages = 1000, 2 // a page has 1,000 entries, and there is a document beside the arrays
	for _, format := range []int{2, 3} {
		for _, copied := range []bool{false, true} {
			t.Run(fmt.Sprintf("v%d consolidated %v", format, copied), func(t *testing.T) {
				d := arrays(t, n, format)
				if copied {
					consolidate(t, d, format)
				}
				afar(t, d, storetest.LinkOptions{}, zarrcore.Options{}, func(f *far) {
					f.link.Take()
					f.began = time.Now()
					names, err := children(f.h, "")
					if err != nil || len(names) != n {
						f.Fatalf("%d children, %v", len(names), err)
					}
					documents := n * map[int]int{2: 2, 3: 1}[format]
					switch {
					case copied:
						f.wants("list", 0, 0)
					default:
						took := time.Since(f.began)
						c := f.link.Take()
						trips := pages + (documents+atOnce-1)/atOnce
						if c.Requests != pages+documents || took > time.Duration(trips)*trip ||
							c.Flying < atOnce {
							f.Errorf("list: %+v in %.1f round trips, want %d requests, %d at "+
								"once, in %d", c, float64(took)/float64(trip),
								pages+documents, atOnce, trips)
						}
						f.began = time.Now()
					}
					for _, name := range names {
						path, _, _ := strings.Cut(name, " ")
						if node, err := f.h.Node(context.Background(), path); err != nil ||
							node.Kind != zarrcore.ArrayNode {
							f.Fatalf("%s: %+v, %v", path, node, err)
						}
					}
					f.wants("describe each", 0, 0)
					children(f.h, "")
					f.wants("list again", 0, 0)
				})
			})
		}
	}
}

// TestRequestsForMissing: that nothing has a name is asked for at once, and known for some seconds.
func TestRequestsForMissing(t *testing.T) {
	for _, tt := range []struct {
		o               storetest.LinkOptions
		requests, trips int
	}{{storetest.LinkOptions{}, 6, 3}, {storetest.LinkOptions{NoList: true}, 5, 2}} {
		afar(t, arrays(t, 3, 3), tt.o, zarrcore.Options{}, func(f *far) {
			f.link.Take()
			f.began = time.Now()
			look := func() {
				f.Helper()
				if _, err := f.h.Node(context.Background(), "none"); !errors.Is(err,
					iofs.ErrNotExist) {
					f.Errorf("a node that is not there: %v", err)
				}
			}
			look()
			f.wants("a missing name", tt.requests, tt.trips)
			look()
			f.wants("a missing name again", 0, 0)
			f.link.Take()
			time.Sleep(6 * time.Second)
			f.began = time.Now()
			look()
			if f.link.Take().Requests == 0 {
				f.Error("a missing name is not asked for again after six seconds")
			}
		})
	}
}

// TestFreshness: how often a document is asked for again, by each kind of freshness.
func TestFreshness(t *testing.T) {
	for _, tt := range []struct {
		fresh       store.Freshness
		open, later int // requests to open again at once, and after two minutes
	}{
		{store.Freshness{}, 1, 1},
		{store.Freshness{When: store.FreshTTL}, 0, 1},
		{store.Freshness{When: store.FreshTTL, TTL: time.Hour}, 0, 0},
		{store.Freshness{When: store.FreshTTL, TTL: -1}, 1, 1},
		{store.Freshness{When: store.FreshNever}, 0, 0},
	} {
		d := arrays(t, 3, 3)
		afar(t, d, storetest.LinkOptions{}, zarrcore.Options{Fresh: tt.fresh}, func(f *far) {
			openArray(f.T, f.h, "a0001")
			f.link.Take()
			f.began = time.Now()
			openArray(f.T, f.h, "a0001")
			f.wants(fmt.Sprintf("%+v: open again", tt.fresh), tt.open, tt.open)
			time.Sleep(2 * time.Minute)
			f.began = time.Now()
			openArray(f.T, f.h, "a0001")
			f.wants(fmt.Sprintf("%+v: open later", tt.fresh), tt.later, tt.later)
			if _, err := f.h.Node(context.Background(), "a0002"); err != nil {
				f.Fatal(err)
			}
			if took := time.Since(f.began); took > 2*trip && tt.fresh.TTL >= 0 {
				f.Errorf("%+v: a look later takes %v, want at most 2 round trips", tt.fresh, took)
			}
			grown := &fixture{path: "a0001", format: 3, shape: []int64{20}, chunk: []int64{10},
				separator: "."}
			grown.write(f.T, d, rand.New(rand.NewPCG(1, 1)))
			a := openArray(f.T, f.h, "a0001")
			if isNew := a.Meta().Shape[0] == 20; isNew != (tt.open > 0) {
				f.Errorf("%+v: an array that has grown has shape %v", tt.fresh, a.Meta().Shape)
			}
		})
	}
}
