"""Opens parts of arrays in a mount, such as a@{t=1}.vtkhdf, by the programs that people use.

view_parts.py STORES MOUNT compares them with what zarr reads of the stores that view_stores.py has
made, and prints how many there were. It exits with 1 if any is different.
"""

import os
import sys

import h5py
import numpy as np
import zarr

import view_readers


class Attributes(dict):
    """The attributes of an array, as zarr has them."""

    def asdict(self):
        return self


class Part(np.ndarray):
    """A part of an array, with the attributes of all of it."""


# Arrays, the expression of a part, and which part that is.
VTKHDF = [
    ("ranks/series_u1", "0=2", np.s_[2]),
    ("ranks/series_i2", "1=1", np.s_[:, 1]),
    ("ranks/series_f4", "0=1,3=2:6", np.s_[1, :, :, 2:6]),
    ("ranks/series_f4", "0=0,1=3", np.s_[0, 3]),
    ("ranks/five_f4", "0=1,2=0", np.s_[1, :, 0]),
    ("image/1", "0=1,1=2", np.s_[1, 2]),
]
FITS = [
    ("kinds/be_f4", "0=2", np.s_[2]),
    ("kinds/be_i8", "1=1:3,2=6", np.s_[:, 1:3, 6]),
    ("kinds/be_c16", "2=::2", np.s_[:, :, ::2]),
    ("ranks/five_u1", "4=1", np.s_[..., 1]),
    ("sky/flux", "y=2:5", np.s_[2:5]),
]
TIFF = [
    ("image/1", "0=1,1=2", np.s_[1, 2]),
    ("image/1", "1=1,2=1:3", np.s_[:, 1, 1:3]),
    ("climate/height", "lat=1:4", np.s_[1:4]),
    ("rasters/cf", "1=2:5,2=3:", np.s_[:, 2:5, 3:]),
    ("rasters/cf", "0=1,2=::2", np.s_[1, :, ::2]),
    ("rasters/cf", "1=2", np.s_[:, 2]),
    ("rasters/gdal", "y=::-1,x=1::3", np.s_[::-1, 1::3]),
    ("rasters/geozarr", "0=2:", np.s_[2:]),
    ("rasters/rotated", "0=1:,1=2:", np.s_[1:, 2:]),
]

# Parts for all other formats.
VOLUMES = [
    ("micro/cells", "0=1:,2=::2", np.s_[1:, :, ::2]),
    ("kinds/le_i2", "0=1:3,2=::3", np.s_[1:3, :, ::3]),
    ("kinds/be_f4", "1=::-1", np.s_[:, ::-1]),
    ("ranks/five_f4", "0=1,2=0", np.s_[1, :, 0]),
    ("image/0", "0=1,1=2", np.s_[1, 2]),
]
# Where the elements of the part of the cells lie.
CELLS = {
    "names": list("zyx"),
    "steps": [2.0, 0.5, 0.5],
    "starts": [12.0, 0.125, 0.5],
    "units": ["micrometer"] * 3,
}


def by_h5py(path):
    with h5py.File(path, "r") as f:
        return f["VTKHDF/PointData/values"][...]


def corner(name, part):
    """The transform of GDAL that a part has; None if its last two axes have no place on Earth."""
    if name not in view_readers.GEO:
        return None
    whole = view_readers.GEO[name][0]
    lines, columns = np.indices((5, 10) if name == "height" else (6, 8))
    part = part if isinstance(part, tuple) else (part,)
    rank = 3 if name == "cf" else 2
    last = (part + (slice(None),) * rank)[:rank][-2:]
    if not all(isinstance(i, slice) for i in last):
        return None
    lines, columns = lines[last], columns[last]
    steps = [lines[1, 0] - lines[0, 0], columns[0, 1] - columns[0, 0]]
    x, y = (
        whole[i] + (columns[0, 0] + 0.5) * whole[i + 1] + (lines[0, 0] + 0.5) * whole[i + 2]
        for i in (0, 3)
    )
    by_x, by_y = ([whole[i + 1] * steps[1], whole[i + 2] * steps[0]] for i in (0, 3))
    return [x - sum(by_x) / 2, *by_x, y - sum(by_y) / 2, *by_y]


def volume_differs(path, name, view, wanted):
    """Returns what is different by the readers of a view that are libraries of Python."""
    for package, open_file in view_readers.READERS[view]:
        if package in ("imagej", "bioformats", "gdal"):
            continue
        found = open_file(path, wanted)
        if found is None:
            continue
        why = view_readers.values_differ(found.values, wanted)
        if name == "micro/cells" and not path.endswith(".mrc"):
            why = why or view_readers.place_differs(found, CELLS)
        if why:
            return f"{package}: {why}"
    return ""


def tiff_differs(path, name, part, wanted):
    """Returns what is different about a .tif of a part, or about its place on Earth."""
    if why := view_readers.values_differ(view_readers.tifffile(path, wanted).values, wanted):
        return why
    found, expected = view_readers.place_by_gdal(path)[0], corner(os.path.basename(name), part)
    if (found is None) != (expected is None) or found and not np.allclose(found, expected, rtol=0):
        return f"the transform is {found}, expected {expected}"
    return ""


def differs(path, wanted):
    """Returns what is different about the file of a part."""
    if path.endswith(".fits"):
        return view_readers.values_differ(view_readers.astropy(path, wanted).values, wanted)
    for found in by_h5py(path), view_readers.vtkhdf(path, wanted).values:
        if why := view_readers.values_differ(found, wanted):
            return why
    return ""


def main():
    stores, mount = sys.argv[1:]
    tally = view_readers.Tally()
    for fmt in 2, 3:
        others = [(view, VOLUMES) for view in ("nrrd", "nii", "mha", "mrc", "ome.tif")]
        for view, parts in [("vtkhdf", VTKHDF), ("fits", FITS), ("tif", TIFF), *others]:
            for name, text, part in parts:
                at = f"s{fmt}.zarr/{name}"
                stored = zarr.open_array(f"{stores}/{at}", mode="r")
                wanted = np.ascontiguousarray(stored[...][part]).view(Part)
                wanted.attrs = Attributes(stored.attrs.asdict())
                path = f"{mount}/{at}@{{{text}}}.{view}"
                if view == "tif":
                    compare = lambda: tiff_differs(path, name, part, wanted)
                elif parts is VOLUMES:
                    compare = lambda: volume_differs(path, name, view, wanted)
                else:
                    compare = lambda: differs(path, wanted)
                tally.note(os.path.relpath(path, mount), compare)
    tally.end("parts")


if __name__ == "__main__":
    main()
