"""Makes the stores whose views view_readers.py opens: s2.zarr and s3.zarr in a folder.

Both hold arrays of many types and layouts, an image of OME-Zarr (0.4 or 0.5), and a climate dataset
with coordinate variables by the CF conventions.
"""

import sys

import numpy as np
import zarr

KINDS = ["b1", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8", "c8", "c16"]
SHAPES = {
    "line": (11,),
    "plane": (5, 7),
    "cube": (4, 5, 7),
    "series": (3, 4, 5, 7),
    "five": (2, 3, 4, 5, 7),
}


def values(shape, dtype, seed=0):
    """Numbers that fill the range of an integer type."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(
            info.min, info.max, shape, dtype=dtype.newbyteorder("="), endpoint=True
        ).astype(dtype)
    if dtype.kind == "c":
        return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
    return rng.normal(size=shape).astype(dtype)


def create(group, name, data, attributes=None, names=None, **more):
    """Creates an array of format 2 or 3 with the same arguments."""
    fmt = group.metadata.zarr_format
    attributes = dict(attributes or {})
    if fmt == 2 and names:
        attributes["_ARRAY_DIMENSIONS"] = list(names)
    elif names:
        more["dimension_names"] = list(names)
    more.setdefault("chunks", tuple(max(1, n // 2) for n in data.shape))
    array = group.create_array(
        name, shape=data.shape, dtype=data.dtype, attributes=attributes, **more
    )
    array[...] = data
    return array


def ordered(fmt, order, kind):
    """Returns the type of an array in a byte order, and what else its creation needs."""
    if fmt == 2 or order == "|":
        return np.dtype(order + kind), {}
    endian = {"<": "little", ">": "big"}[order]
    return np.dtype(kind), {"serializer": zarr.codecs.BytesCodec(endian=endian)}


def kinds(root):
    """Arrays of all types, in both byte orders, and of several ranks."""
    fmt = root.metadata.zarr_format
    group = root.create_group("kinds")
    for kind in KINDS:
        for order in "<>" if np.dtype(kind).itemsize > 1 else "|":
            dtype, more = ordered(fmt, order, kind)
            name = {"<": "le_", ">": "be_", "|": ""}[order] + kind
            create(group, name, values((4, 5, 7), dtype), **more)
    ranks = root.create_group("ranks")
    for name, shape in SHAPES.items():
        for kind in ["u1", "i2", "f4"]:
            create(ranks, f"{name}_{kind}", values(shape, kind))
    layouts = root.create_group("layouts")
    data = values((6, 8, 10), "f4")
    if fmt == 3:
        create(layouts, "sharded", data, chunks=(2, 4, 5), shards=(4, 8, 10))
        create(layouts, "turned", data, filters=[zarr.codecs.TransposeCodec(order=(2, 1, 0))])
    else:
        create(layouts, "turned", data, order="F")
    create(layouts, "plain", data, compressors=None)
    empty = layouts.create_array(
        "unwritten", shape=(6, 8, 10), chunks=(2, 4, 5), dtype="i2", fill_value=7
    )
    assert empty.nchunks_initialized == 0


def image(root):
    """An image with two levels, as OME-Zarr 0.4 or 0.5 has it."""
    fmt = root.metadata.zarr_format
    group = root.create_group("image")
    axes = [{"name": "t", "type": "time", "unit": "second"}, {"name": "c", "type": "channel"}] + [
        {"name": n, "type": "space", "unit": "micrometer"} for n in "zyx"
    ]
    levels = []
    for level in range(2):
        scale = [0.5, 1, 2.0, 0.25 * 2**level, 0.25 * 2**level]
        offset = [0, 0, 10.0, 0.125 * (2**level - 1), 0.125 * (2**level - 1)]
        create(
            group,
            str(level),
            values((2, 3, 4, 16 >> level, 24 >> level), "u2", level),
            names="tczyx" if fmt == 3 else None,
        )
        levels.append(
            {
                "path": str(level),
                "coordinateTransformations": [
                    {"type": "scale", "scale": scale},
                    {"type": "translation", "translation": offset},
                ],
            }
        )
    scales = [{"version": "0.4", "name": "image", "axes": axes, "datasets": levels}]
    omero = {
        "channels": [
            {"label": n, "color": c}
            for n, c in [("DAPI", "0000FF"), ("GFP", "00FF00"), ("RFP", "FF0000")]
        ]
    }
    if fmt == 3:
        del scales[0]["version"]
        group.attrs["ome"] = {"version": "0.5", "multiscales": scales, "omero": omero}
    else:
        group.attrs.update({"multiscales": scales, "omero": omero})
    create(group, "stack", values((2, 3, 4, 5, 7), "u2"), names="tzcyx")  # ImageJ's order


def micro(root):
    """An image of three axes, with steps in micrometers."""
    group = root.create_group("micro")
    create(group, "cells", values((3, 5, 7), "f4"), names="zyx")
    axes = [{"name": n, "type": "space", "unit": "micrometer"} for n in "zyx"]
    level = {
        "path": "cells",
        "coordinateTransformations": [
            {"type": "scale", "scale": [2.0, 0.5, 0.25]},
            {"type": "translation", "translation": [10.0, 0.125, 0.5]},
        ],
    }
    scales = [{"version": "0.4", "name": "cells", "axes": axes, "datasets": [level]}]
    if root.metadata.zarr_format == 3:
        del scales[0]["version"]
        group.attrs["ome"] = {"version": "0.5", "multiscales": scales}
    else:
        group.attrs["multiscales"] = scales


def climate(root):
    """A dataset whose axes are said by coordinate variables, one of them not regular."""
    group = root.create_group("climate")
    create(
        group,
        "time",
        np.arange(0, 18, 6, dtype="i8"),
        {"units": "hours since 2026-01-01", "standard_name": "time"},
        ["time"],
    )
    create(group, "level", np.array([1000, 850, 500, 100], "f4"), {"units": "hPa"}, ["level"])
    create(
        group,
        "lat",
        np.linspace(60, 40, 5, dtype="f4"),
        {"units": "degrees_north", "standard_name": "latitude"},
        ["lat"],
    )
    create(
        group,
        "lon",
        np.linspace(-10, 8, 10),
        {"units": "degrees_east", "standard_name": "longitude"},
        ["lon"],
    )
    packed = {
        "long_name": "air temperature",
        "units": "K",
        "scale_factor": 0.01,
        "add_offset": 273.15,
    }
    create(
        group, "temperature", values((3, 4, 5, 10), "i2"), packed, ["time", "level", "lat", "lon"]
    )
    create(group, "height", values((5, 10), "f4"), {"units": "m"}, ["lat", "lon"])


def sky(root):
    """Big-endian images as astronomers have them, one of them packed."""
    fmt = root.metadata.zarr_format
    group = root.create_group("sky")
    create(group, "y", -1.5 + 0.25 * np.arange(6), {"units": "arcsec"}, ["y"])
    create(group, "x", 3.0 - 0.5 * np.arange(8), {"units": "arcsec"}, ["x"])
    dtype, more = ordered(fmt, ">", "f4")
    create(group, "flux", values((6, 8), dtype), {"units": "Jy/beam"}, ["y", "x"], **more)
    dtype, more = ordered(fmt, ">", "i2")
    packed = {"units": "K", "scale_factor": 0.01, "add_offset": -1 / 3, "_FillValue": -32768}
    heat = values((6, 8), dtype)
    heat[2, 3] = packed["_FillValue"]
    create(group, "heat", heat, packed, ["y", "x"], **more)


UTM = """PROJCS["WGS 84 / UTM zone 32N",GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",
6378137,298.257223563,AUTHORITY["EPSG","7030"]],AUTHORITY["EPSG","6326"]],
PRIMEM["Greenwich",0],UNIT["degree",
0.0174532925199433],AUTHORITY["EPSG","4326"]],PROJECTION["Transverse_Mercator"],
PARAMETER["latitude_of_origin",0],PARAMETER["central_meridian",9],PARAMETER["scale_factor",0.9996],
PARAMETER["false_easting",500000],PARAMETER["false_northing",0],UNIT["metre",1],
AUTHORITY["EPSG","32632"]]"""


def rasters(root):
    """Rasters whose place on Earth is said by CF, by GDAL, and by GeoZarr."""
    group = root.create_group("rasters")
    mapping = {"crs_wkt": UTM, "GeoTransform": "400000 10 0 5000000 0 -10"}
    create(group, "spatial_ref", np.array([0], "i4"), mapping)
    create(
        group, "cf", values((3, 6, 8), "u2"), {"grid_mapping": "spatial_ref"}, ["band", "y", "x"]
    )
    y, x = 4999995 - 10 * np.arange(6.0), 400005 + 10 * np.arange(8.0)
    create(group, "y", y, {"standard_name": "projection_y_coordinate", "units": "m"}, ["y"])
    create(group, "x", x, {"standard_name": "projection_x_coordinate", "units": "m"}, ["x"])
    url = {"_CRS": {"url": "http://www.opengis.net/def/crs/EPSG/0/32632"}}
    create(group, "gdal", values((6, 8), "f4"), url, ["y", "x"])
    place = {"proj:code": "EPSG:32632", "spatial:transform": [10, 0, 400000, 0, -10, 5000000]}
    create(group, "geozarr", values((6, 8), "i2"), place)
    turned = {"proj:code": "EPSG:4326", "spatial:transform": [0, 0.5, 10, 0.25, 0, 50]}
    create(group, "rotated", values((6, 8), "f8"), turned)
    levels = group.create_group("levels")
    levels.attrs["proj:code"] = "EPSG:32632"
    layout = []
    for step, shape in (10, (6, 8)), (20, (3, 4)):
        create(levels, f"r{step}m", values(shape, "u2"), names="yx")
        place = {"spatial:transform": [step, 0, 400000, 0, -step, 5000000]}
        layout.append({"asset": f"r{step}m", "spatial:shape": shape, **place})
    levels.attrs["multiscales"] = {"layout": layout}


def large(root):
    """Arrays of which nothing is stored, and whose files are longer than 4 GiB."""
    group = root.create_group("large")
    for kind in "u2", "f8":
        group.create_array(kind, shape=(3, 30000, 30000), chunks=(1, 1000, 1000), dtype=kind)


def main():
    for fmt in 2, 3:
        root = zarr.create_group(f"{sys.argv[1]}/s{fmt}.zarr", zarr_format=fmt, overwrite=True)
        kinds(root)
        image(root)
        micro(root)
        climate(root)
        sky(root)
        rasters(root)
        large(root)


if __name__ == "__main__":
    main()
