package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/zarrfs/zarrfs/zarrcore/store"
	"github.com/zarrfs/zarrfs/zarrcore/store/dirstore"
	"github.com/zarrfs/zarrfs/zarrcore/store/zipstore"
)

// zipSuffixes end the names of zip files. The second one is that of OME-Zarr.
var zipSuffixes = []string{".zip", ".ozx"}

// isZipName reports whether the name of a remote object is that of a zip file.
func isZipName(path string) bool {
	return hasEnding(path, zipSuffixes)
}

// inFile returns the opener of stores in local files, which zarrfs never changes. open opens the
// driver of the file at an absolute path. fixed says how a FILE is unpacked into a FOLDER, to be
// changed there; "" is the usual advice.
func inFile(open func(path string) (store.Driver, error), fixed string) opener {
	return func(path string, _ *openOptions) (*source, error) {
		abs, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		d, err := open(abs)
		if err != nil {
			return nil, fmt.Errorf("%s: %w%s", path, bare(err), permissionHint(err))
		}
		folder := strings.TrimSuffix(withoutExt(abs), ".zarr") + ".zarr"
		return &source{
			Store: store.New(d, abs), base: baseName(withoutExt(abs)),
			fixed: strings.NewReplacer("FILE", path, "FOLDER", folder).Replace(fixed),
		}, nil
	}
}

// openZip opens a store in a local zip file.
var openZip = inFile(zipAt,
	"zarrfs does not change zip files. Unpack it: unzip FILE -d FOLDER")

// zipAt opens the driver of a local zip file.
func zipAt(path string) (store.Driver, error) {
	_, err := os.Readlink(path)
	if err == nil { // it may lead out of its folder
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return nil, err
		}
	}
	folder, err := dirstore.Open(filepath.Dir(path), nil)
	if err != nil {
		return nil, err
	}
	in := store.New(folder, filepath.Dir(path))
	return zipDriver(in, filepath.Base(path), zipstore.Options{})
}

// zipDriver opens the driver of a zip file, the object key of another store, which is closed with
// it.
func zipDriver(in *store.Store, key string, o zipstore.Options) (store.Driver, error) {
	o.TopFolder = true
	d, err := zipstore.Open(context.Background(), in, key, o)
	if err != nil {
		in.Close()
		return nil, err
	}
	return d, nil
}

// openZipIn opens a store in a zip file, the object key of another store, which is closed with it.
func openZipIn(in *store.Store, key, name string, o zipstore.Options) (*source, error) {
	d, err := zipDriver(in, key, o)
	if err != nil {
		return nil, err
	}
	return &source{Store: store.New(d, name), base: baseName(withoutExt(name))}, nil
}
