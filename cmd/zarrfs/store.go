package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zarrfs/zarrfs/fs/terminal"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/dirstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/gcsstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/s3store"
)

// An opener opens the store at what is left of a URL behind its scheme.
type opener func(location string, o *openOptions) (*source, error)

// A backend is a kind of stores.
type backend struct {
	open opener
	zip  opener // of zip files in such stores, which have the scheme zip+…; nil: there are none

	// end the names of local files that are such stores; a file of another name is NAME:PATH. nil:
	// no local file is one
	endings []string
}

// hasEnding reports whether a name ends in one of these, in letters of any case.
func hasEnding(name string, endings []string) bool {
	return slices.Contains(endings, strings.ToLower(filepath.Ext(name)))
}

// backends are the kinds of stores by the schemes of their URLs. A path without a scheme is a file
// URL.
var backends = map[string]backend{
	"file":  {open: openLocal},
	"zip":   {open: openZip, endings: zipSuffixes},
	"http":  {open: openWeb("http"), zip: openWebZip("http")},
	"https": {open: openWeb("https"), zip: openWebZip("https")},
	"s3":    inBucket("s3", s3store.Parse, s3store.Open, s3Options, "aws s3 cp --recursive"),
	"gs":    inBucket("gs", gcsstore.Parse, gcsstore.Open, gcsOptions, "gcloud storage cp -r"),
	"az":    inContainer("az"),
	"abfs":  inContainer("abfs"),
	"abfss": inContainer("abfss"),
}

// A source is an opened store.
type source struct {
	*store.Store
	// what the store is called, for a root that is an array: without folder and ".zarr"
	base   string
	folder string // the local folder that holds it, "" if none
	fixed  string // why zarrfs never changes the store, and what to do; "": the usual
}

// mayWrite returns nil if zarrfs can write stores of this kind, and otherwise the reason and the
// cure. name is what the user calls the store.
func (s *source) mayWrite(name string) error {
	if s.folder != "" || s.IsWritable() {
		return nil
	}
	const usual = "zarrfs cannot change this store. Copy it to a folder"
	return storeErr(fmt.Errorf("%s: %s", name, cmp.Or(s.fixed, usual)))
}

// openSource opens the store that a path or URL names; o may be nil.
func openSource(name string, o *openOptions) (*source, error) {
	scheme, location := splitScheme(name)
	if scheme == "file" {
		var err error
		if scheme, err = schemeOfPath(location); err != nil {
			return nil, storeErr(err)
		}
	}
	kind, isZip := strings.CutPrefix(scheme, "zip+")
	open := backends[kind].open
	if isZip {
		open = backends[kind].zip
	}
	if open == nil {
		kinds := strings.Join(slices.Sorted(maps.Keys(backends)), ", ")
		return nil, usageError{fmt.Errorf("%s: zarrfs cannot mount %s stores, only folders and "+
			"these URLs: %s. Mount it with `rclone mount`, and then give zarrfs that folder",
			name, scheme, kinds)}
	}
	s, err := open(location, o)
	return s, storeErr(err)
}

// openLocal opens a store in a local folder.
func openLocal(path string, o *openOptions) (*source, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	_, err = os.Stat(abs)
	switch {
	case errors.Is(err, iofs.ErrNotExist):
		return nil, fmt.Errorf("%s: no such folder%s", path,
			cmp.Or(similar(abs),
				fmt.Sprintf(" (looked in %s). To make a new store: zarrfs create %s --group",
					filepath.Dir(abs), path)))
	case err != nil:
		return nil, fmt.Errorf("%s: %w%s", path, bare(err), permissionHint(err))
	}
	if m, ok := mountAround(abs); ok {
		return nil, fmt.Errorf("%s is in the mount of %s at %s; name the store itself", path,
			terminal.Line(m.source), m.dir)
	}
	d, err := dirstore.Open(abs, o.inFolder())
	if err != nil {
		return nil, fmt.Errorf("%s: %w%s", path, bare(err), permissionHint(err))
	}
	return &source{Store: store.New(d, abs), base: baseName(abs), folder: abs}, nil
}

// withoutExt cuts the ending off a name.
func withoutExt(name string) string { return strings.TrimSuffix(name, filepath.Ext(name)) }

// permissionHint says what to do where a folder may not be looked into.
func permissionHint(err error) string {
	if errors.Is(err, iofs.ErrPermission) {
		return fmt.Sprintf("; its owner can let user %d in with chmod, or mount it as another user",
			os.Getuid())
	}
	return ""
}

// baseName returns a store's name without ".zarr".
func baseName(path string) string {
	base := filepath.Base(path)
	if name := strings.TrimSuffix(base, ".zarr"); name != "" {
		return name
	}
	return base
}

// bare strips the operation and path that a system call's error carries.
func bare(err error) error {
	var p *iofs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// openHierarchy opens a store and the hierarchy in it.
func openHierarchy(
	ctx context.Context, name string, o *zarrcore.Options,
) (*source, *zarrcore.Hierarchy, error) {
	s, err := openSource(name, nil)
	if err != nil {
		return nil, nil, err
	}
	h, err := openIn(ctx, s, name, o, true)
	return s, h, err
}

// openIn opens the hierarchy in a store that the user calls name. With folders it may be a folder
// without metadata that holds stores.
func openIn(
	ctx context.Context, s *source, name string, o *zarrcore.Options, folders bool,
) (*zarrcore.Hierarchy, error) {
	h, err := zarrcore.Open(ctx, s.Store, o)
	if errors.Is(err, zarrcore.ErrNotStore) && (holdsStore(s.folder) || s.holdsStore(ctx)) {
		if !folders {
			return nil,
				storeErr(fmt.Errorf("%s is a folder of stores, and not a store itself; name one "+
					"of them: `zarrfs tree %[1]s` shows what there is", name))
		}
		in := *o
		in.Folder = true
		h, err = zarrcore.Open(ctx, s.Store, &in)
	}
	if errors.Is(err, zarrcore.ErrNotStore) {
		return nil, storeErr(notStore(name, s.folder))
	}
	if err != nil {
		return nil, storeErr(fmt.Errorf("%s: %w", name, err))
	}
	return h, nil
}

// checkRoot refuses a store if the document of its root cannot be understood, because then nobody
// knows what is in the store.
func checkRoot(ctx context.Context, h *zarrcore.Hierarchy, name string) error {
	root, err := h.Node(ctx, "")
	if err == nil && errors.Is(root.Err, meta.ErrInvalid) {
		err = root.Err
	}
	if err != nil {
		return storeErr(errors.Join(
			fmt.Errorf("%s: the document of its root cannot be understood: %w", name, err),
			fmt.Errorf("  mend it; `zarrfs info %s` shows what can be read", name)))
	}
	return nil
}

// openPlain opens a hierarchy for the verbs that look at it once.
func openPlain(ctx context.Context, name string) (*source, *zarrcore.Hierarchy, error) {
	return openHierarchy(ctx, name, &zarrcore.Options{CacheSize: defaultCache(), Log: stderrLog()})
}

// cleanNode makes a node's path of what a user may write: "/a/b/", "a/b.npy" stays as it is.
func cleanNode(path string) string { return strings.Trim(path, "/") }
