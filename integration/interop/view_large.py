"""Arrays of more than 4 GiB, of which only the end is stored, as files of images and volumes.

view_large.py make STORE         makes the arrays
view_large.py read STORE MOUNT   compares the last planes by the programs that people use
"""

import sys

import numpy as np
import zarr

import view_readers

PLANES = {"u2": 1100, "f4": 600, "f8": 300, "be": 600}
LINES, COLUMNS = 2048, 1024


def make(store):
    root = zarr.create_group(store)
    for name, planes in PLANES.items():
        more = {"serializer": zarr.codecs.BytesCodec(endian="big")} if name == "be" else {}
        dtype = "f4" if name == "be" else name
        a = root.create_array(
            name, shape=(planes, LINES, COLUMNS), chunks=(1, LINES, COLUMNS), dtype=dtype, **more
        )
        a[-1] = np.arange(LINES * COLUMNS).reshape(LINES, COLUMNS) % 1000


def tifffile(path):
    import tifffile

    with tifffile.TiffFile(path) as f:
        series = f.series[0]
        if len(f.pages) == 1 and f.is_imagej:  # the only directory of a file of ImageJ
            dtype, at = series.dtype.newbyteorder(f.byteorder), f.pages[0].dataoffsets[0]
            return series.shape, np.memmap(path, dtype, "r", at, series.shape)[-1]
        return series.shape, f.pages[-1].asarray()


def nibabel(path):
    import nibabel

    data = nibabel.load(path).dataobj
    return data.shape[::-1], np.asarray(data[..., -1]).T


def mrcfile(path):
    import mrcfile

    with mrcfile.mmap(path) as f:
        return f.data.shape, np.array(f.data[-1])


def astropy(path):
    from astropy.io import fits

    with fits.open(path, memmap=True) as f:
        return f[0].data.shape, np.array(f[0].data[-1])


def by_java(program):
    return lambda path: view_readers.java().last_plane(path, program)


READERS = {
    "u2.tif": ["tifffile", "imagej", "bioformats"],
    "f4.tif": ["tifffile", "imagej", "bioformats"],
    "f8.tif": ["tifffile", "bioformats"],
    "u2.ome.tif": ["tifffile", "bioformats"],
    "f8.ome.tif": ["tifffile", "bioformats"],
    "be.tif": ["tifffile", "imagej", "bioformats"],
    "u2.nii": ["nibabel"],
    "f8.nii": ["nibabel"],
    "f4.mrc": ["mrcfile"],
    "be.fits": ["astropy"],
}


def read(store, mount):
    tally = view_readers.Tally()
    functions = {f.__name__: f for f in (tifffile, nibabel, mrcfile, astropy)}
    programs = ["imagej", "bioformats"] if view_readers.has_java() else []
    functions.update({program: by_java(program) for program in programs})
    root = zarr.open_group(store, mode="r")
    for file, names in READERS.items():
        array = root[file.split(".")[0]]
        for name in names:
            if name in functions:
                tally.note(
                    f"{name}: {file}", lambda: differs(*functions[name](f"{mount}/{file}"), array)
                )
    tally.end("readings")


def differs(shape, values, array):
    """Returns what is different about the lengths and the last plane that a program has found."""
    shape = [n for n in shape if n != 1]
    why = "" if shape == list(array.shape) else f"shape {shape}"
    return why or view_readers.values_differ(values, array[-1])


if __name__ == "__main__":
    make(sys.argv[2]) if sys.argv[1] == "make" else read(*sys.argv[2:])
