package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"

	"github.com/zarrfs/zarrfs/zarrcore/parallel"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// mostPage bounds a page of a listing, in bytes.
const mostPage = 64 << 20

// cannotList is store.ErrCannotList as the error of a call that is not tried again.
var cannotList = &Error{Text: "no listing", Kind: Refused, class: store.ErrCannotList}

// readPage reads one page of a listing, by at most so many tries; 0: as many as there is patience
// for.
func (d *Driver) readPage(ctx context.Context, l Listing, tries int) (now Page, err error) {
	if _, err := d.dialect.Listing(ctx, l); err != nil {
		return Page{}, err
	}
	err = d.do(ctx, &call{
		tries: tries,
		build: func(ctx context.Context) (*http.Request, error) {
			r, err := d.dialect.Listing(ctx, l)
			return withDefaults(r), err
		},
		accept: func(a *Answer, _ Verdict, b *body) (err error) {
			if a.Body, err = decode(a, b, mostPage); err != nil {
				return err
			}
			if b.isOpen && !isWhole(a.Body) {
				return errCut
			}
			if now, err = d.dialect.Page(l.Dir, a); errors.Is(err, store.ErrCannotList) {
				return cannotList
			}
			return err
		},
	})
	if errors.Is(err, store.ErrCannotList) {
		return Page{}, store.ErrCannotList
	}
	return now, err
}

// pages calls visit for each entry of a listing, from its first page on.
func (d *Driver) pages(ctx context.Context, l Listing, visit func(Listed) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !d.canList {
		return store.ErrCannotList
	}
	seen := 0
	for {
		now, err := d.readPage(ctx, l, 0)
		if errors.Is(err, store.ErrCannotList) {
			return &Error{
				Where: d.where, Kind: Refused, Text: "the server makes no index of this directory",
				Advice: "name what is in it, or let the server make one",
			}
		}
		if err != nil {
			return d.missing(ctx, l.Dir, err)
		}
		seen += len(now.Entries)
		if seen == 0 && now.Next == "" && !now.IsDir && l.Dir != "" {
			return fs.ErrNotExist
		}
		for _, e := range now.Entries {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := visit(e); err != nil {
				return err
			}
		}
		if l.Page = now.Next; l.Page == "" {
			return nil
		}
	}
}

// List calls yield for each child of dir; see store.Driver.
func (d *Driver) List(ctx context.Context, dir string, yield func(store.Entry) error) error {
	return d.pages(ctx, Listing{Dir: dir}, func(e Listed) error { return yield(e.Entry) })
}

// isWhole reports whether a page ends as HTML and JSON do. Where its end is that of the connection,
// nothing else tells a page that was cut.
func isWhole(page []byte) bool {
	end := bytes.ToLower(bytes.TrimSpace(page))
	return bytes.HasSuffix(end, []byte("</html>")) || bytes.HasSuffix(end, []byte("]"))
}

// How many objects a survey asks for at once, and how many names it gathers before that.
const (
	surveyed = 32
	gathers  = 1024
)

// Survey calls yield for each child of dir with what is known of it; see store.Surveyor. It asks
// for each object of which the listing has nothing but the name.
func (d *Driver) Survey(
	ctx context.Context, dir string, yield func(store.Entry, store.Info) error,
) error {
	var some []Listed
	flush := func() error {
		err := d.complete(ctx, dir, some)
		for i := 0; err == nil && i < len(some); i++ {
			if err = ctx.Err(); err == nil && some[i].Name != "" {
				err = yield(some[i].Entry, some[i].Info)
			}
		}
		some = some[:0]
		return err
	}
	err := d.pages(ctx, Listing{Dir: dir}, func(e Listed) error {
		if some = append(some, e); len(some) < gathers {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	return err
}

// complete adds to entries of dir what Stat says of them. One that has vanished loses its name.
func (d *Driver) complete(ctx context.Context, dir string, some []Listed) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	parallel.Each(surveyed, len(some), func(i int) {
		e := &some[i]
		switch {
		case e.Dir:
			e.Info = store.Info{Name: e.Name, Dir: true}
			return
		case e.Info.Version != "" || ctx.Err() != nil:
			return
		}
		info, err := d.Stat(ctx, store.Join(dir, e.Name))
		switch e.Info, e.Dir = info, info.Dir; {
		case errors.Is(err, fs.ErrNotExist):
			e.Name = ""
		case err != nil:
			stop(fmt.Errorf("%s: %w", e.Name, err))
		}
	})
	return context.Cause(ctx)
}
