package view

import (
	"context"
	"errors"

	"github.com/zarrfs/zarrfs/fs/netcdf"
	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
)

// hdf5View shows a group and all below it, or an array, as one HDF5 file. Where axes have names it
// is a netCDF-4 file too.
type hdf5View struct {
	name    string
	flavour netcdf.Flavour
}

func (v hdf5View) Name() string { return v.name }

func (hdf5View) Has(Subject) bool { return true }

func (hdf5View) HasBy() Criterion { return ByNothing }

func (hdf5View) IsListed(Subject) bool { return true }

func (hdf5View) IsDescription(*meta.Array) bool { return false }

func (hdf5View) IsWritable() bool { return true }

func (hdf5View) IsKeeper() bool { return false }

// HasGroup implements GroupView.
func (hdf5View) HasGroup(*zarrcore.Node) bool { return true }

// Size implements View. The metadata of one node do not say how large the file is.
func (hdf5View) Size(n *zarrcore.Node) (int64, error) {
	return 0, errors.Join(n.Err, errUncounted)
}

// Open implements View.
func (v hdf5View) Open(ctx context.Context, h *zarrcore.Hierarchy, path string) (Content, error) {
	return v.OpenMany(ctx, h, path, netcdf.Contiguous)
}

// OpenMany implements CompositeView.
func (v hdf5View) OpenMany(
	ctx context.Context,
	h *zarrcore.Hierarchy,
	path string,
	l netcdf.Layout,
) (*Composite, error) {
	of, err := netcdf.Describe(ctx, h, path, v.flavour, l)
	if err != nil {
		return nil, tooLarge(err)
	}
	return newComposite(h, of, v.flavour)
}

// Mark implements CompositeView.
func (hdf5View) Mark(
	ctx context.Context,
	h *zarrcore.Hierarchy,
	path string,
) (string, error) {
	return netcdf.Mark(ctx, h, path)
}
