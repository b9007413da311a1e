package diskcache

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// This file keeps listings, for those that ask the store no more. Otherwise each listing is asked
// for: it has no version.

// listed is an entry of a listing, or an object of a walk.
type listed struct {
	Entry store.Entry
	Info  store.Info
}

// mostListed is how many entries of a listing are kept at most.
const mostListed = 1 << 16

// List calls yield for each child of dir; see store.Driver.
func (d *Driver) List(ctx context.Context, dir string, yield func(store.Entry) error) error {
	return d.listed(ctx, "list", dir, func(b store.Driver, yield func(listed) error) error {
		return b.List(ctx, dir, func(e store.Entry) error { return yield(listed{Entry: e}) })
	}, func(l listed) error { return yield(l.Entry) })
}

// Survey calls yield for each child of dir with what Stat says; see store.Surveyor.
func (d *Driver) Survey(
	ctx context.Context, dir string, yield func(store.Entry, store.Info) error,
) error {
	return d.listed(ctx, "survey", dir, func(b store.Driver, yield func(listed) error) error {
		return store.Survey(ctx, b, dir, func(e store.Entry, info store.Info) error {
			return yield(listed{e, info})
		})
	}, func(l listed) error { return yield(l.Entry, l.Info) })
}

// Walk calls yield for each object below dir; see store.Walker.
func (d *Driver) Walk(
	ctx context.Context, dir string, yield func(key string, info store.Info) error,
) error {
	return d.listed(ctx, "walk", dir, func(b store.Driver, yield func(listed) error) error {
		return store.Walk(ctx, b, dir, func(key string, info store.Info) error {
			return yield(listed{store.Entry{Name: key}, info})
		})
	}, func(l listed) error { return yield(l.Entry.Name, l.Info) })
}

// listed calls yield with a listing that is kept, or that ask asks for.
func (d *Driver) listed(
	ctx context.Context, what, dir string,
	ask func(b store.Driver, yield func(listed) error) error, yield func(listed) error,
) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	key := what + " " + dir
	var kept []listed
	if d.isOffline() && d.readBlob(key, &kept) {
		d.hit(0)
		for _, l := range kept {
			if err := errors.Join(ctx.Err(), yield(l)); err != nil {
				return err
			}
		}
		return nil
	}
	b, err := d.base.get(ctx)
	if err != nil {
		return err
	}
	count := 0
	err = ask(b, func(l listed) error {
		if count++; count <= mostListed {
			kept = append(kept, l)
		}
		return yield(l)
	})
	if err == nil && count <= mostListed {
		d.keepBlob(key, kept)
	}
	return err
}

// Prefetch is the driver's below, where it fetches ahead.
func (d *Driver) Prefetch(hints []store.Hint) (taken int) {
	if p, ok := d.base.opened().(store.Prefetcher); ok {
		return p.Prefetch(hints)
	}
	return 0
}

// ForgetAhead makes objects below dir be asked for again; see store.Prefetcher.
func (d *Driver) ForgetAhead(dir string) {
	d.forget(dir)
	if p, ok := d.base.opened().(store.Prefetcher); ok {
		p.ForgetAhead(dir)
	}
}

// Refresh is the driver's below, where it has one.
func (d *Driver) Refresh(dir string) {
	if r, ok := d.base.opened().(store.Refresher); ok {
		r.Refresh(dir)
	}
}

// counters are what store.DiskTraffic is made of.
type counters struct{ hits, misses, bytes atomic.Int64 }

// hit counts what was answered from the disk.
func (c *counters) hit(n int64) {
	c.hits.Add(1)
	c.bytes.Add(n)
}

// Traffic is the driver's below, where it counts, with that of the cache.
func (d *Driver) Traffic() *store.Traffic {
	all := new(store.Traffic)
	if m, ok := d.base.opened().(store.Meter); ok {
		if t := m.Traffic(); t != nil {
			all = t
		}
	}
	all.Disk = &store.DiskTraffic{
		Hits: d.hits.Load(), Misses: d.misses.Load(), Bytes: d.bytes.Load(), Limit: d.folder.limit,
	}
	all.Disk.Skipped, all.Disk.Refused = d.keeper.state()
	return all
}
