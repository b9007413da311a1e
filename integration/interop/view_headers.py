"""Reads files with random headers by the programs that people use: N.nrrd and so on in a folder.

N.json says of each array what it is, and N.raw has its values. It exits with 1 if any is different.
"""

import json
import os
import sys
import warnings

import numpy as np

import view_axes
import view_readers
from view_readers import Found, isclose


class Array(np.ndarray):
    """Values with the attributes that an array of zarr has."""

    attrs = type("Attributes", (dict,), {"asdict": dict})()


def rasterio(path, array, said):
    """Returns what rasterio finds in an image of lines, columns and bands."""
    import rasterio

    place = said.get("place")
    if array.dtype.str[1:] == "f2" or path.endswith(".tif") and not place and array.ndim > 2:
        return None  # the planes are images of their own
    if os.path.getsize(path) == 1:
        return None  # it takes no file of one byte for an image
    warnings.simplefilter("ignore")  # of images without a place
    with rasterio.open(path) as f:
        values = f.read().reshape(array.shape)
        if not place:
            return Found(values)
        x, y = place["x"], place["y"]
        if path.endswith(".raw") and (x[2] or y[1]):  # ENVI has no such places
            if not f.transform.is_identity:
                raise ValueError(f"the transform is {f.transform[:6]}, expected none")
            return Found(values)
        # The transform leads to the corner of an element.
        corner = [c[0] - c[1] / 2 - c[2] / 2 for c in (x, y)]
        wanted = x[1], x[2], corner[0], y[1], y[2], corner[1]
        if not np.allclose(f.transform[:6], wanted, rtol=1e-12):
            raise ValueError(f"the transform is {f.transform[:6]}, expected {wanted}")
        code = (f.crs.to_epsg() if f.crs else 0) or 0
        if code != place["epsg"]:
            raise ValueError(f"the reference system is {code}, expected {place['epsg']}")
    return Found(values)


def nrrd_differs(found, said):
    """All that is said is in the file. A start is there together with a step."""
    starts = [a if b is not None else None for a, b in zip(said["starts"], said["steps"])]
    kinds = [k for k, step in zip(said["kinds"], said["steps"]) if k != "channel" or step]
    space = [i for i, k in enumerate(said["kinds"]) if k == "space"]
    has_directions = space and all(
        k == "channel" or k == "space" and said["steps"][i] is not None
        for i, k in enumerate(said["kinds"])
    )
    if has_directions and any(said["starts"][i] is None for i in space):
        for i in space:
            starts[i] = None  # an origin has all axes of space
    return axes_differ(found, said, steps=said["steps"], starts=starts) if kinds else ""


def mha_differs(found, said):
    """What is not known is 1 and 0 there."""
    return axes_differ(
        found,
        said,
        steps=[1 if s is None else s for s in said["steps"]],
        starts=[0 if s is None else s for s in said["starts"]],
    )


def fits_differs(found, said):
    names = [name if can_say_in_fits(name) else "" for name in said["names"]]
    if list(found.names)[: len(names)] != names:
        return f"names are {found.names}, expected {names}"
    starts = [a if b is not None else None for a, b in zip(said["starts"], said["steps"])]
    return axes_differ(found, said, steps=said["steps"], starts=starts)


def can_say_in_fits(name):
    """Whether all characters are ASCII, and it is not taken for that of a projection."""
    return name.isascii() and name.isprintable() and name[4:5] != "-"


def vtkhdf_differs(found, said):
    """Only axes of space have a place there, if they have one unit."""
    kinds, units = said["kinds"], said["units"]
    of_space = {u for u, k in zip(units, kinds) if k == "space"}
    has_place = [k == "space" and len(of_space) == 1 for k in kinds]
    steps = [s if is_ and s is not None else 1 for s, is_ in zip(said["steps"], has_place)]
    starts = [s if is_ and s is not None else 0 for s, is_ in zip(said["starts"], has_place)]
    return axes_differ(found, said, steps=steps, starts=starts)


def axes_differ(found, said, **expected):
    """Compares the axes that are those of the array; a reader may find more."""
    for what, wanted in expected.items():
        got = getattr(found, what)[: len(wanted)]
        if not all(isclose(a, b) for a, b in zip(got, wanted, strict=True)):
            return f"{what} are {got}, expected {wanted}"
    return ""


# What reads at least one of a hundred arrays.
USUAL = [
    (view, program)
    for view, programs in {
        "nrrd": "pynrrd simpleitk",
        "nhdr": "pynrrd simpleitk",
        "mha": "simpleitk",
        "mhd": "simpleitk vtk",
        "nii": "nibabel simpleitk nibabel's-scaling nibabel's-axes",
        "mrc": "mrcfile mrcfile's-axes",
        "fits": "astropy astropy's-scaling",
        "tif": "tifffile rasterio tifffile's-axes",
        "ome.tif": "tifffile tifffile's-axes",
        "raw.hdr": "rasterio",
        "vtkhdf": "vtk",
    }.items()
    for program in programs.split()
]

DIFFERS = {
    ("nrrd", "pynrrd"): nrrd_differs,
    ("nhdr", "pynrrd"): nrrd_differs,
    ("mha", "simpleitk"): mha_differs,
    ("mhd", "simpleitk"): mha_differs,
    ("fits", "astropy"): fits_differs,
    ("vtkhdf", "vtk"): vtkhdf_differs,
}


AXES = {
    "nii": ("nibabel", view_axes.nibabel),
    "mrc": ("mrcfile", view_axes.mrcfile),
    "tif": ("tifffile", view_axes.tiff),
    "ome.tif": ("tifffile", view_axes.ome),
}


def scaled_nifti(path, array, said):
    """Returns the values that nibabel scales, or None if nothing is packed."""
    import nibabel

    if said["slope"] is None or array.dtype.kind == "c":
        return None
    stored = array.view(array.dtype.str.replace("i", "u")) if said["unsigned"] else array
    wanted = stored.astype("f8") * said["slope"] + said["offset"]
    found = np.asarray(nibabel.load(path).get_fdata()).T.reshape(array.shape)
    if not np.allclose(found, wanted, rtol=1e-6, atol=abs(said["slope"]) / 2):
        raise ValueError("other scaled values")
    return found


def scaled_fits(path, array, said):
    """Returns what astropy says of the values, or None if nothing is packed."""
    from astropy.io import fits

    header = fits.getheader(path)
    is_whole = array.dtype.kind in "iu"
    blank = said.get("blank")
    if blank is not None and not np.iinfo(array.dtype).min <= blank <= np.iinfo(array.dtype).max:
        blank = None
    for key, wanted in (("BSCALE", said["slope"]), ("BZERO", said["offset"]), ("BLANK", blank)):
        if header.get(key) != wanted:
            raise ValueError(f"{key} is {header.get(key)}, expected {wanted}")
    if said["slope"] is None or array.dtype.kind == "c":
        return None
    wanted = array.astype("f8") * said["slope"] + said["offset"]
    if is_whole and blank:  # astropy 7 does not see a blank of zero
        wanted[np.asarray(array) == blank] = np.nan
    found = fits.getdata(path)
    if not np.allclose(found, wanted, rtol=1e-5, atol=abs(said["slope"]) / 1000, equal_nan=True):
        raise ValueError("other scaled values")
    return found


def readers(view):
    """Yields name and function of what opens a file of a view, as function(path, array, said)."""
    for package, open_file in view_readers.READERS[view]:
        if package in ("pynrrd", "simpleitk", "nibabel", "mrcfile", "astropy", "tifffile", "vtk"):
            # The others have rules for single arrays of the stores, or start programs.
            if (package, view) not in (("vtk", "nrrd"), ("vtk", "vtkhdf")):
                yield package, lambda path, array, said, f=open_file: f(path, array)
    if view in ("tif", "raw.hdr"):
        yield "rasterio", rasterio
    if view == "vtkhdf":
        yield "vtk", lambda path, array, said: view_readers.vtkhdf_image(path, array)
    if view == "nii":
        yield "nibabel's-scaling", scaled_nifti
    if view == "fits":
        yield "astropy's-scaling", scaled_fits
    if view in AXES:
        program, compare = AXES[view]
        yield f"{program}'s-axes", lambda path, array, said: compare(path, said) or None


def is_other(view, said):
    """Whether SimpleITK finds another array. It makes channels the last axis, and scales values. In
    a .nii it takes small steps for zero."""
    if view in ("nrrd", "nhdr"):
        return "channel" in said["kinds"]
    is_small = any(s is not None and abs(s) < 1e-6 for s in said["steps"])
    return view == "nii" and (said["slope"] is not None or is_small)


def differs(view, package, found, array, said):
    if "'s-" in package:
        return ""  # it has compared by itself
    if said["unsigned"] and view == "nii":
        array = array.view(array.dtype.str.replace("i", "u"))
    values = np.asarray(found.values).reshape(array.shape)
    compare = DIFFERS.get((view, package), lambda found, said: "")
    return view_readers.values_differ(values, array) or compare(found, said)


def main():
    folder = sys.argv[1]
    wrong, seen = 0, {}
    for name in sorted(os.listdir(folder)):
        number, view = name.split(".", 1)
        if view in ("json", "raw"):
            continue
        with open(f"{folder}/{number}.json") as f:
            said = json.load(f)
        array = (
            np.fromfile(f"{folder}/{number}.raw", said["dtype"]).reshape(said["shape"]).view(Array)
        )
        for package, open_file in readers(view):
            if package == "simpleitk" and is_other(view, said):
                continue
            path = f"{folder}/{name}"
            if package == "rasterio" and view == "raw.hdr":
                path = path[: -len(".hdr")]
            try:
                found = open_file(path, array, said)
                if found is None:
                    continue
                why = differs(view, package, found, array, said)
            except Exception as e:
                why = f"{type(e).__name__}: {e}"
            seen[view, package] = seen.get((view, package), 0) + 1
            if why:
                wrong += 1
                print(f"{package}: {name}: {why}: {json.dumps(said)}", file=sys.stderr)
    for (view, package), count in sorted(seen.items()):
        print(f"{view} {package}: {count} readings")
    print(f"{sum(seen.values())} readings, {wrong} different")
    missing = [pair for pair in USUAL if seen.get(pair, 0) == 0]
    if missing:
        print(f"no readings: {missing}", file=sys.stderr)
    sys.exit(wrong > 0 or len(missing) > 0)


if __name__ == "__main__":
    main()
