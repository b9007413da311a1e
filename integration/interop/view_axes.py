"""Compares what programs say of the axes of random files with what each format can say of them.

Each function gets the path of a file and what its array is: see view_headers.py. It returns how
many things it has compared. What is different is a ValueError.
"""

import math

import numpy as np

# Units by the names that the random arrays have.
IN_METRES = {"nanometer": 1e-9, "micrometer": 1e-6, "millimeter": 1e-3, "m": 1.0}
OME_SIGNS = {
    "space": {"nanometer": "nm", "micrometer": "µm", "millimeter": "mm", "m": "m"},
    "time": {"second": "s", "millisecond": "ms", "minute": "min"},
}
NIFTI_NAMES = {"micrometer": "micron", "millimeter": "mm", "m": "meter"}
NIFTI_TIMES = {"second": "sec", "millisecond": "msec"}


def require(what, found, expected):
    """Compares two numbers or texts, and returns that it has compared one thing."""
    same = found == expected
    if isinstance(expected, float) and found is not None:
        same = math.isclose(float(found), expected, rel_tol=2e-6)
    if not same:
        raise ValueError(f"{what} is {found!r}, expected {expected!r}")
    return 1


def axes_of(said):
    """Returns the axes of an array, the slowest first."""
    keys = "kinds", "names", "units", "steps", "starts", "shape", "labels"
    return [dict(zip(keys, values)) for values in zip(*(said[k] for k in keys))]


def nibabel(path, said):
    """The first three axes are those of space: the fastest ones of the array."""
    import nibabel

    image = nibabel.load(path)
    axes = axes_of(said)[::-1]
    shape = list(image.shape)
    behind = next((i for i, a in enumerate(axes) if a["kinds"] != "space"), len(axes))
    added = len(shape) - len(axes)  # axes of length one, between those of space and the others
    if added:
        axes[behind:behind] = [None] * added
    zooms, seen = image.header.get_zooms(), 0
    seen += require("shape", shape, [a["shape"] if a else 1 for a in axes])
    for i, a in enumerate(axes):
        step = a["steps"] if a else None
        seen += require(f"zoom {i}", zooms[i], 1.0 if step is None else abs(step))
    time = axes[3] if len(axes) > 3 else None
    is_time = time and time["kinds"] == "time" and time["steps"] is not None
    unit = NIFTI_TIMES.get(time["units"], "unknown") if is_time else "unknown"
    seen += require("unit of time", image.header.get_xyzt_units()[1], unit)
    first = [a for a in axes[:3] if a and not (a["kinds"] != "space" and a["shape"] == 1)]
    is_placed = bool(first) and all(
        a["kinds"] == "space" and a["steps"] is not None for a in first
    )
    seen += require("is placed", int(image.header["sform_code"]) > 0, is_placed)
    if not is_placed:
        return seen
    units = {a["units"] for a in first}
    unit = NIFTI_NAMES.get(units.pop(), "unknown") if len(units) == 1 else "unknown"
    seen += require("unit", image.header.get_xyzt_units()[0], unit)
    for i, a in enumerate(axes[:3]):
        if a and a["kinds"] == "space":
            seen += require(f"step {i}", image.affine[i, i], a["steps"])
            seen += require(f"start {i}", image.affine[i, 3], float(a["starts"] or 0))
    return seen


def mrcfile(path, said):
    """The last three axes have lengths in ångströms, if they are of space."""
    import mrcfile

    with mrcfile.open(path) as f:
        size, origin = f.voxel_size, f.header.origin
    seen = 0
    for letter, a in zip("xyz", axes_of(said)[::-1]):
        metres = IN_METRES.get(a["units"])
        is_known = a["kinds"] == "space" and a["steps"] is not None and a["units"] in (
            "nanometer", "micrometer")
        factor = metres * 1e10 if is_known else 0.0
        step, start = abs(a["steps"] or 0) * factor, (a["starts"] or 0) * factor
        seen += require(f"size {letter}", getattr(size, letter), float(step))
        seen += require(f"origin {letter}", getattr(origin, letter), float(start))
    return seen


def ome(path, said):
    """The text says the order of axes, their steps in units of the schema, and the channels."""
    import tifffile
    import xml.etree.ElementTree as xml

    with tifffile.TiffFile(path) as f:
        image = xml.fromstring(f.ome_metadata).find("{*}Image")
    pixels, axes = image.find("{*}Pixels"), axes_of(said)
    seen = require("name", image.get("Name") or "", in_xml(said["name"]))
    y, x = axes[-2:]
    letters = dict(zip(pixels.get("DimensionOrder")[2:], axes[-3::-1]))
    for letter, a in [*letters.items(), ("X", x), ("Y", y)]:
        seen += require(f"Size{letter}", int(pixels.get(f"Size{letter}")), a["shape"])
    for kind, letter in (("space", "Z"), ("channel", "C"), ("time", "T")):
        if any(a["kinds"] == kind for a in axes[:-2]):
            seen += require(f"kind of {letter}", letters[letter]["kinds"], kind)
    steps = [("PhysicalSizeX", x, "space"), ("PhysicalSizeY", y, "space")]
    steps += [("PhysicalSizeZ", letters["Z"], "space")] if "Z" in letters else []
    steps += [("TimeIncrement", letters["T"], "time")] if "T" in letters else []
    for name, a, kind in steps:
        sign = OME_SIGNS[kind].get(a["units"])
        is_known = a["kinds"] == kind and sign and a["steps"] is not None and a["steps"] > 0
        seen += require(name, pixels.get(name), a["steps"] if is_known else None)
        seen += require(f"{name}Unit", pixels.get(f"{name}Unit"), sign if is_known else None)
    channels = [c.get("Name") or "" for c in pixels.findall("{*}Channel")]
    wanted = letters["C"]["labels"] if "C" in letters else None
    wanted = wanted or [""] * (letters["C"]["shape"] if "C" in letters else 1)
    return seen + require("channels", channels, [in_xml(w) for w in wanted])


def in_xml(text):
    """Returns a text as XML has it, which has no zero character."""
    return text.replace("\0", "\ufffd")


def tiff(path, said):
    """ImageJ's text says lengths and steps of its axes; the tags say those of the plane."""
    import tifffile

    with tifffile.TiffFile(path) as f:
        tags, text = f.pages[0].tags, f.imagej_metadata
        if f.pages[0].geotiff_tags:
            return 0  # view_headers.rasterio compares places
        found = {n: tags[n].value for n in ("XResolution", "YResolution") if n in tags}
        unit = tags["ResolutionUnit"].value if "ResolutionUnit" in tags else None
    axes, seen = axes_of(said), 0
    y, x = axes[-2:]
    for letter, a in ("X", x), ("Y", y):
        if f"{letter}Resolution" not in found:
            continue
        numerator, denominator = found[f"{letter}Resolution"]
        per_cm = IN_METRES[a["units"]] * 100 if unit == 3 else 1
        seen += require(f"{letter}Resolution", numerator / denominator,
            1 / abs(a["steps"]) / per_cm)
    if found and (x["steps"] is None or y["steps"] is None):
        raise ValueError(f"resolutions are {found}, and the steps are not known")
    if text is None:
        return seen
    names = {"frames": "time", "slices": "space", "channels": "channel"}
    kinds = [a["kinds"] for a in axes[:-2]]
    order = [list(names.values()).index(k) if k in names.values() else -1 for k in kinds]
    is_stack = -1 not in order and all(a < b for a, b in zip(order, order[1:]))
    if not is_stack:
        planes = int(np.prod([a["shape"] for a in axes[:-2]]))
        seen += require("slices", text.get("slices"), planes)
        return seen + require("spacing", text.get("spacing"), None)
    by_kind = dict(zip(kinds, axes))
    for name, kind in names.items():
        seen += require(name, text.get(name), by_kind.get(kind, {}).get("shape"))
    time = by_kind.get("time", {})
    seconds = time["steps"] if time.get("units") == "second" else None
    seen += require("finterval", text.get("finterval"), seconds)
    return seen + require("spacing", text.get("spacing"), by_kind.get("space", {}).get("steps"))
