package remote

import (
	"context"
	"errors"
	"io/fs"
	"net/http"

	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// mostPage bounds a page of a listing, in bytes.
const mostPage = 64 << 20

// cannotList is store.ErrCannotList as the error of a call that is not tried again.
var cannotList = &Error{Text: "no listing", Kind: Refused, class: store.ErrCannotList}

// listPage reads one page of a listing.
func (d *Driver) listPage(ctx context.Context, dir, page string) (Page, error) {
	return d.readPage(ctx, dir, func(ctx context.Context) (*http.Request, error) {
		return d.dialect.Listing(ctx, dir, page)
	})
}

// readPage reads the answer to a request for a page.
func (d *Driver) readPage(
	ctx context.Context, dir string, build func(context.Context) (*http.Request, error),
) (now Page, err error) {
	if _, err := build(ctx); err != nil {
		return Page{}, err
	}
	err = d.do(ctx, &call{
		build: func(ctx context.Context) (*http.Request, error) {
			r, err := build(ctx)
			return withDefaults(r), err
		},
		accept: func(a *Answer, _ Verdict, b *body) (err error) {
			if a.Body, err = decode(a, b, mostPage); err != nil {
				return err
			}
			if now, err = d.dialect.Page(dir, a); errors.Is(err, store.ErrCannotList) {
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

// pages calls visit for each entry of the listing of dir.
func (d *Driver) pages(ctx context.Context, dir string, visit func(Listed) error) error {
	next := func(page string) (Page, error) { return d.listPage(ctx, dir, page) }
	return d.pagesOf(ctx, dir, next, visit)
}

// pagesOf calls visit for each entry of the pages that next reads.
func (d *Driver) pagesOf(
	ctx context.Context, dir string, next func(page string) (Page, error),
	visit func(Listed) error,
) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !d.canList {
		return store.ErrCannotList
	}
	seen := 0
	for page := ""; ; {
		now, err := next(page)
		if err != nil {
			return d.missing(ctx, dir, err)
		}
		seen += len(now.Entries)
		if seen == 0 && now.Next == "" && !now.IsDir && dir != "" {
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
		if page = now.Next; page == "" {
			return nil
		}
	}
}

// List calls yield for each child of dir; see store.Driver.
func (d *Driver) List(ctx context.Context, dir string, yield func(store.Entry) error) error {
	return d.pages(ctx, dir, func(e Listed) error { return yield(e.Entry) })
}

// Survey calls yield for each child of dir with what is known of it; see store.Surveyor. It asks
// for each object of which the listing has nothing but the name.
func (d *Driver) Survey(
	ctx context.Context, dir string, yield func(store.Entry, store.Info) error,
) error {
	return d.pages(ctx, dir, func(e Listed) (err error) {
		switch {
		case e.Dir:
			e.Info = store.Info{Name: e.Name, Dir: true}
		case e.Info.Version == "":
			e.Info, err = d.Stat(ctx, store.Join(dir, e.Name))
		}
		if err != nil || e.Info.Dir != e.Dir {
			return ctx.Err()
		}
		return yield(e.Entry, e.Info)
	})
}
