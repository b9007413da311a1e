package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zarrfs/zarrfs/fs/terminal"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/dirstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/zipstore"
)

// openers are the backends by the scheme of the URL that names a store. A path without a scheme is
// a file URL.
var openers = map[string]func(location string, o *openOptions) (*source, error){
	"file":  openLocal,
	"zip":   openZip,
	"http":  openWeb("http"),
	"https": openWeb("https"),
	"s3":    orZip("s3", openS3),
	"gs":    orZip("gs", openGCS),
	"az":    orZip("az", openAzure("az")),
	"abfs":  orZip("abfs", openAzure("abfs")),
	"abfss": orZip("abfss", openAzure("abfss")),

	"zip+http":  openWebZip("http"),
	"zip+https": openWebZip("https"),
	"zip+s3":    zipInBucket("s3", openS3),
	"zip+gs":    zipInBucket("gs", openGCS),
	"zip+az":    zipInBucket("az", openAzure("az")),
	"zip+abfs":  zipInBucket("abfs", openAzure("abfs")),
	"zip+abfss": zipInBucket("abfss", openAzure("abfss")),
}

// A source is an opened store.
type source struct {
	*store.Store
	// what the store is called, for a root that is an array: without folder and ".zarr"
	base   string
	folder string // the local folder that holds it, "" if none
	fixed  string // why zarrfs never changes the store, and what to do; otherwise ""
}

// mayWrite returns why nothing can be changed in a store that the user calls name, if it is of a
// kind that zarrfs never writes.
func (s *source) mayWrite(name string) error {
	if s.fixed == "" {
		return nil
	}
	return storeErr(fmt.Errorf("%s: %s", name, s.fixed))
}

// openSource opens the store that a path or URL names; o may be nil.
func openSource(name string, o *openOptions) (*source, error) {
	scheme, location := splitScheme(name)
	open := openers[scheme]
	if open == nil {
		return nil,
			usageError{fmt.Errorf("%s: zarrfs mounts folders, zip files, web servers and buckets "+
				"(s3, gs, az, abfs), no %s stores. Mount it first (rclone mount), then the folder",
				name, scheme)}
	}
	s, err := open(location, o)
	return s, storeErr(err)
}

// splitScheme splits a URL; a plain path has the scheme file. "zip:" says of a path that a zip file
// is there, whatever its name.
func splitScheme(name string) (scheme, location string) {
	if path, ok := strings.CutPrefix(name, "zip:"); ok {
		return "zip", strings.TrimPrefix(path, "//")
	}
	i := strings.Index(name, "://")
	if i <= 0 || strings.ContainsAny(name[:i], "/.") {
		return "file", name
	}
	scheme, location = strings.ToLower(name[:i]), name[i+3:]
	if scheme != "file" {
		return scheme, location
	}
	if path, err := url.PathUnescape(location); err == nil {
		location = path
	}
	return scheme, strings.TrimPrefix(location, "localhost")
}

// openLocal opens a store in a local folder, or in a zip file whose name says so.
func openLocal(path string, o *openOptions) (*source, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(abs)
	switch {
	case errors.Is(err, iofs.ErrNotExist):
		return nil, fmt.Errorf("%s: no such folder%s", path,
			cmp.Or(similar(abs),
				fmt.Sprintf(" (looked in %s). To make a new store: zarrfs create %s --group",
					filepath.Dir(abs), path)))
	case err != nil:
		return nil, fmt.Errorf("%s: %w%s", path, bare(err), permissionHint(err))
	case !info.IsDir() && isZipName(path):
		return openZip(path, nil)
	case !info.IsDir():
		return nil, errors.Join(fmt.Errorf("%s is a file; a store is a folder, or a zip file "+
			"(for one of another name: zip:%[1]s)", path), parentHint(abs))
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

// zipSuffixes end the names of zip files. The second one is that of OME-Zarr.
var zipSuffixes = []string{".zip", ".ozx"}

func isZipName(path string) bool {
	return slices.Contains(zipSuffixes, strings.ToLower(filepath.Ext(path)))
}

// openZip opens a store in a local zip file. It is never written, so that nothing of o counts.
func openZip(path string, _ *openOptions) (*source, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	at := abs
	if _, err := os.Readlink(abs); err == nil { // it may lead out of its folder
		if at, err = filepath.EvalSymlinks(abs); err != nil {
			return nil, fmt.Errorf("%s: %w", path, bare(err))
		}
	}
	folder, err := dirstore.Open(filepath.Dir(at), nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w%s", path, bare(err), permissionHint(err))
	}
	s, err := openZipIn(store.New(folder, filepath.Dir(at)), filepath.Base(at), abs,
		zipstore.Options{})
	if err != nil {
		return nil, fmt.Errorf("%s: %w%s", path, bare(err), permissionHint(err))
	}
	s.fixed = fmt.Sprintf("zarrfs does not change zip files. Unpack it: unzip %s -d %s",
		path, strings.TrimSuffix(withoutExt(abs), ".zarr")+".zarr")
	return s, nil
}

// withoutExt cuts the ending off a name.
func withoutExt(name string) string { return strings.TrimSuffix(name, filepath.Ext(name)) }

// openZipIn opens a store in a zip file, the object key of another store, which is closed with it.
func openZipIn(in *store.Store, key, name string, o zipstore.Options) (*source, error) {
	o.TopFolder = true
	d, err := zipstore.Open(context.Background(), in, key, o)
	if err != nil {
		in.Close()
		return nil, err
	}
	return &source{Store: store.New(d, name), base: baseName(withoutExt(name))}, nil
}

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
				storeErr(fmt.Errorf("%s is a folder of stores, and no store itself; name one of "+
					"them: `zarrfs tree %[1]s` shows what there is", name))
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

// checkRoot refuses a store whose root has a document that cannot be understood: what is in the
// store is not known then.
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
