"""Writes to the files of views in place, by the programs that people use, and tries what must fail.

view_writers.py STORES MOUNT prints how much was written and refused. zarr reads the store itself
afterwards. It exits with 1 if anything is different.
"""

import os
import sys

import numpy as np
import zarr

STORES, MOUNT = sys.argv[1:]


def array(view):
    """Returns the path of an array that has such a file."""
    return "s3.zarr/sky/flux" if view == "fits" else "s3.zarr/ranks/cube_f4"


def stored(view):
    """Returns what the store has."""
    return zarr.open_array(f"{STORES}/{array(view)}", mode="r")[...]


def file(view):
    return f"{MOUNT}/{array(view)}.{view}"


def mapped(offset):
    """Returns what writes through a mapping of a file with a header of that length."""

    def write(path, values):
        m = np.memmap(path, "<f4", "r+", offset, values.shape)
        m[...] = values
        m.flush()

    return write


def by_mrcfile(path, values):
    import mrcfile

    with mrcfile.mmap(path, "r+") as f:
        f.data[...] = values


def by_astropy(path, values):
    from astropy.io import fits

    with fits.open(path, mode="update", memmap=True) as f:
        f[0].data[...] = values


def by_astropy_in_memory(path, values):
    from astropy.io import fits

    with fits.open(path, mode="update", memmap=False) as f:
        f[0].data[...] = values


def by_tifffile(path, values):
    import tifffile

    m = tifffile.memmap(path, mode="r+")
    m[...] = values
    m.flush()


def vtkhdf(path, values):
    """h5py says where the values are. It cannot write them: it would mark the file as open."""
    import h5py

    with h5py.File(path) as f:
        at = f["VTKHDF/PointData/values"].id.get_offset()
    mapped(at)(path, values)


def large():
    """Writes the end of files longer than 4 GiB, and returns how many were wrong."""
    import tifffile

    wrong = 0
    for kind in "u2", "f8":
        path, row = f"s3.zarr/large/{kind}", np.arange(30000).astype(kind)
        for view in "tif", "ome.tif":
            row += 1
            if kind == "f8" and view == "tif":
                assert tifffile.TiffFile(f"{MOUNT}/{path}.{view}").is_bigtiff
            m = tifffile.memmap(f"{MOUNT}/{path}.{view}", mode="r+")
            m[2, 29999] = row
            m.flush()
            array = zarr.open_array(f"{STORES}/{path}", mode="r")
            if (
                m.shape != array.shape
                or not np.array_equal(array[2, 29999], row)
                or array[2, 29998].any()
            ):
                print(f"{path}.{view}: shape {m.shape}, or other values", file=sys.stderr)
                wrong += 1
    return wrong


WRITERS = [("tif", by_tifffile), ("ome.tif", by_tifffile)]
WRITERS += [
    ("nrrd", mapped(4096)),
    ("nii", mapped(352)),
    ("mha", mapped(4096)),
    ("mrc", by_mrcfile),
    ("vtkhdf", vtkhdf),
    ("fits", by_astropy),
    ("fits", by_astropy_in_memory),
]


def save_nifti(path, values):
    import nibabel

    nibabel.save(nibabel.Nifti1Image(values.T, np.eye(4)), path)


def save_nrrd(path, values):
    import nrrd

    nrrd.write(path, values, index_order="C")


def save_simpleitk(path, values):
    import SimpleITK as sitk

    sitk.WriteImage(sitk.GetImageFromArray(values), path)


def save_tifffile(path, values):
    import tifffile

    tifffile.imwrite(path, values)


def save_mrc(path, values):
    import mrcfile

    with mrcfile.new(path, values, overwrite=True):
        pass


def save_fits(path, values):
    from astropy.io import fits

    fits.writeto(path, values, overwrite=True)


def add_fits_keyword(path, values):
    from astropy.io import fits

    if not os.path.exists(path):
        return save_fits(path, values)
    with fits.open(path, mode="update") as f:
        f[0].header["OBJECT"] = "M 31"


def append_fits_image(path, values):
    from astropy.io import fits

    fits.append(path, values)


SAVERS = [
    ("nii", save_nifti),
    ("nrrd", save_nrrd),
    ("nrrd", save_simpleitk),
    ("mha", save_simpleitk),
]
SAVERS += [("tif", save_tifffile), ("ome.tif", save_tifffile), ("tif", save_simpleitk)]
SAVERS += [("mrc", save_mrc), ("mhd", save_simpleitk), ("nhdr", save_nrrd)]
SAVERS += [("fits", save_fits), ("fits", add_fits_keyword), ("fits", append_fits_image)]


def main():
    wrong = 0
    for i, (view, write) in enumerate(WRITERS):
        values = np.random.default_rng(i).normal(size=stored(view).shape).astype("f4")
        write(file(view), values)
        os.sync()
        if not np.array_equal(stored(view), values):
            print(f"{view}: the store has other values than were written", file=sys.stderr)
            wrong += 1
    wrong += large()
    for view, save in SAVERS:
        before = stored(view)
        try:
            save(file(view), np.zeros_like(before))
            print(f"{view}: {save.__name__} was not refused", file=sys.stderr)
            wrong += 1
        except Exception:
            pass
        if not np.array_equal(stored(view), before):
            print(f"{view}: {save.__name__} has changed the array", file=sys.stderr)
            wrong += 1
        save(f"{MOUNT}/s3.zarr/ranks/new.{view}", np.zeros_like(before))
        os.remove(f"{MOUNT}/s3.zarr/ranks/new.{view}")
    print(f"{len(WRITERS)} written in place, {len(SAVERS)} other files refused")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
