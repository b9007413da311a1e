"""Stores that the libraries of several fields make, and what programs read of their .h5 and .nc.

group_files.py make NAME DIR         makes a store in both formats
group_files.py read STORE FILE...    compares each FILE with what zarr-python reads of STORE
group_files.py xarray STORE FILE     compares what xarray reads of both
group_files.py make meaning STORE    makes the store for the next
group_files.py meaning STORE FILE    compares times and texts that attributes could change
group_files.py write STORE H5 NC     writes elements through both files
group_files.py edit H5 NC            tries 200 changes of their structure
"""

import json
import os
import re
import sys
import tempfile
import warnings

import numpy as np
import zarr

warnings.simplefilter("ignore")


def climate(path, zarr_format):
    """A climate cube as ERA5 is given out: CF times, packed numbers, flags and texts."""
    import pandas as pd
    import xarray as xr

    rng = np.random.default_rng(zarr_format)
    cube, plane = ("time", "latitude", "longitude"), (8, 19, 36)
    times = pd.date_range("2020-01-01", periods=8, freq="6h")
    data = {
        "t2m": (
            cube,
            (rng.random(plane) * 30 + 260).astype("f4"),
            {"units": "K", "long_name": "2 metre temperature"},
        ),
        "tp": (cube, rng.random(plane).astype("f4"), {"units": "m"}),
        "mask": (cube[1:], rng.random(plane[1:]) > 0.5),
        "name": (("station",), np.array(["Zürich", "Basel", "x"], dtype="U6")),
        "lag": (("station",), pd.to_timedelta([1, 2, 3], unit="h")),
        "cov": (("longitude", "level"), rng.random((36, 3)).astype(">f8")),
        "crs": (
            (),
            0,
            {
                "grid_mapping_name": "latitude_longitude",
                "semi_major_axis": 6378137.0,
                "ids": [1, 2, 3],
            },
        ),
    }
    coords = {
        "time": times,
        "latitude": np.linspace(90, -90, 19),
        "longitude": np.arange(36) * 10.0,
        "number": ((), np.int64(3)),
    }
    attrs = {"Conventions": "CF-1.7", "title": "Höhe", "history": "made " * 40, "empty": ""}
    encoding = {
        "t2m": {"dtype": "i2", "scale_factor": 0.01, "add_offset": 273.15, "_FillValue": -32768},
        "time": {"units": "hours since 1900-01-01", "dtype": "i4", "calendar": "gregorian"},
        "tp": {"_FillValue": np.nan},
    }
    tree = xr.DataTree.from_dict(
        {
            "/": xr.Dataset(data, coords, attrs),
            "/forecast": xr.Dataset(
                {"wind": (("time", "level"), rng.random((8, 3)))},
                {"level": np.array([10, 50, 100])},
                {"step": 6},
            ),
        }
    )
    tree.to_zarr(
        path, mode="w", zarr_format=zarr_format, encoding={"/": encoding}, consolidated=False
    )


def pyramid(path, zarr_format):
    """An OME-Zarr image of three levels, of 0.4 or 0.5: one name of an axis has three lengths."""
    from ome_zarr.format import FormatV04, FormatV05
    from ome_zarr.writer import write_image, write_labels

    rng = np.random.default_rng(7)
    root = zarr.create_group(path, overwrite=True, zarr_format=zarr_format)
    fmt = FormatV04() if zarr_format == 2 else FormatV05()
    image, cells = rng.integers(0, 60000, (2, 64, 96), "u2"), rng.integers(-5, 5, (64, 96), "i4")
    write_image(image, root, axes="cyx", fmt=fmt, storage_options={"chunks": (1, 32, 32)})
    write_labels(cells, root, "cells", axes="yx", fmt=fmt)


def annotated(path, zarr_format):
    """A table of cells as anndata writes it: sparse matrix, categories, texts."""
    import anndata
    import pandas as pd
    import scipy.sparse

    rng = np.random.default_rng(3)
    cells = pd.DataFrame(
        {"cell_type": pd.Categorical(rng.choice(["B", "NK", "T"], 50)), "n": np.arange(50)},
        index=[f"cell-ä{i}" for i in range(50)],
    )
    table = anndata.AnnData(
        scipy.sparse.random(50, 20, 0.2, "csr", "f4", random_state=3),
        cells,
        obsm={"X_pca": rng.random((50, 5))},
        uns={"nested": {"a": np.array([1, 2]), "b": "x"}, "flag": True, "scalar": 1.5,
             "empty": np.zeros((0, 3))},
    )
    anndata.settings.zarr_write_format = zarr_format
    table.write_zarr(path)


def raster(path, zarr_format):
    """Bands of a satellite's image as rioxarray writes them, with the reference system of UTM."""
    import rioxarray
    import xarray as xr

    assert rioxarray.__version__  # it adds "rio" to arrays
    rng = np.random.default_rng(5)
    y, x = 4999995 - 10 * np.arange(40.0), 400005 + 10 * np.arange(50.0)
    places = {"band": [1, 2, 3], "y": y, "x": x}
    bands = xr.DataArray(rng.random((3, 40, 50)).astype("f4"), places, tuple(places))
    bands = bands.rio.write_crs(32632).rio.write_transform().rio.write_nodata(-1)
    bands.to_dataset(name="reflectance").to_zarr(
        path, mode="w", zarr_format=zarr_format, consolidated=False
    )


def types(path, zarr_format):
    """Each data type, both byte orders."""
    root = zarr.create_group(
        path,
        overwrite=True,
        zarr_format=zarr_format,
        attributes={
            "int": 5,
            "big": 2**63,
            "neg": -3,
            "float": 3.0,
            "nan": float("nan"),
            "text": "ä",
            "list": [1.5, 2],
            "texts": ["a", "", "ß"],
            "NAME": "kept",
            "long": "x" * 70000,
            "mixed": [1, "a"],
            "empty": [],
            "object": {"a": 1},
        },
    )
    rng = numbers(root, "i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8 c8 c16")
    make(root, "bool", rng.random((3, 4)) > 0.5)
    make(root, "bytes", np.array([b"a", b"bcd", b""]))
    make(root, "text", np.array(["a", "böd", "\U0001f600"]))
    make(root, "when", np.array(["2020-01-01", "NaT", "1969-07-20"], "M8[ns]"))
    make(root, "how_long", np.array([1, -2, 3], "m8[s]"))
    make(root, "scalar", np.array(7, "i4"))
    make(root, "none", np.zeros((0, 3), "f8"))
    make(root, "pair", np.array([(1, 2.5), (3, 4.5)], [("a", "<i2"), ("b", "<f8")]))


def plain_types(path, zarr_format):
    """The types that programs without Python know too, and texts that are empty."""
    attributes = {"n": 5, "x": 0.1, "list": [1.5, 2], "empty": "", "texts": ["a", "", "ß"]}
    root = zarr.create_group(
        path, overwrite=True, zarr_format=zarr_format, attributes={"text": "Höhe", **attributes}
    )
    rng = numbers(root, "i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8")
    for name in ("f2", "f4", "f8"):
        for a in (root["le_" + name], root["be_" + name]):
            a[...] = np.where(np.isnan(a[...]), np.nan, a[...])  # programs know one NaN
    make(root, "bool", rng.random((3, 4)) > 0.5)
    make(root, "when", np.array(["2020-01-01", "2000-02-29", "1969-07-20"], "M8[s]"))
    make(root, "word", np.array([b"a", b"bcd", b""]))
    make(root, "zcalar", np.array(7, "i4"))
    make(root, "zero", np.zeros((0, 3), "f8"))
    root["le_f4"].attrs.update(attributes)


def numbers(root, codes):
    """Adds arrays of numbers in both byte orders, and returns where random bytes come from."""
    rng = np.random.default_rng(1)
    for order in "<>":
        for code in codes.split():
            values = np.frombuffer(rng.bytes(60 * np.dtype(code).itemsize), order + code).reshape(
                3, 4, 5
            )
            make(root, ("le_" if order == "<" else "be_") + code, values)
    return rng


def make(group, name, values):
    a = group.create_array(
        name,
        shape=values.shape,
        chunks=tuple(max(1, -(-n // 2)) for n in values.shape) or "auto",
        dtype=values.dtype,
    )
    if values.size:
        a[...] = values


def named(path, zarr_format):
    """Arrays that have the name of a dimension, or what a dimension of another length may get."""
    root = zarr.create_group(path, overwrite=True, zarr_format=zarr_format)
    for name, shape, dims in (
        ("q", (7,), ["q"]),
        ("q_1", (9,), ["w"]),
        ("uses_q", (8,), ["q"]),
        ("curv", (4, 5), ["curv", "x"]),
        ("curv_1", (3,), ["x"]),
        ("dim_5", (2,), ["w"]),
        ("unnamed", (5, 9), [None, "w"] if zarr_format == 3 else ["v", "w"]),
    ):
        options = {"dimension_names": dims} if zarr_format == 3 else {}
        a = root.create_array(name, shape=shape, dtype="i4", **options)
        a[...] = np.arange(a.size).reshape(shape) + len(name)
        if zarr_format == 2:
            a.attrs["_ARRAY_DIMENSIONS"] = dims


MAKERS = {
    "climate": climate,
    "pyramid": pyramid,
    "annotated": annotated,
    "raster": raster,
    "types": types,
    "plain": plain_types,
    "named": named,
}


def as_file(values):
    """Values of zarr-python as a file is to have them."""
    if values.dtype.kind in "mM":
        return values.view(values.dtype.str.replace("M8", "i8").replace("m8", "i8").split("[")[0])
    if values.dtype.kind in "UTO":
        return np.array([str(v).encode() for v in values.ravel()], "S").reshape(values.shape)
    return values


def same(found, wanted):
    """Whether two arrays have the same elements, NaN included, in whatever byte order."""
    found = np.asarray(found)
    if found.dtype.kind == "S" and found.dtype.itemsize == 1 and found.ndim == wanted.ndim + 1:
        import netCDF4

        found = netCDF4.chartostring(found, encoding="bytes")
    if found.dtype.kind in "OUT":
        found = np.array(
            [v if isinstance(v, bytes) else str(v).encode() for v in found.ravel()], "S"
        ).reshape(found.shape)
    if wanted.dtype.kind == "b" and found.dtype == "i1":
        found = found.astype(bool)
    if wanted.dtype.kind == "c" and found.dtype.names == ("r", "i"):
        found = (
            np.ascontiguousarray(found)
            .view(wanted.dtype.newbyteorder(found.dtype["r"].byteorder))
            .reshape(found.shape)
        )
    if found.shape != wanted.shape:
        return False
    if wanted.dtype.names:  # the netCDF library pads the fields
        return found.dtype.names == wanted.dtype.names and all(
            same(found[n], wanted[n]) for n in wanted.dtype.names
        )
    if found.dtype.kind == "S" and wanted.dtype.kind == "S":
        return found.tolist() == wanted.tolist()
    if found.dtype.newbyteorder("=") != wanted.dtype.newbyteorder("="):
        return False
    return (
        found.astype(found.dtype.newbyteorder("=")).tobytes()
        == wanted.astype(found.dtype).astype(found.dtype.newbyteorder("=")).tobytes()
    )


def plain(value):
    """An attribute as JSON has it."""
    if value is None:
        return ""  # pyfive's for an empty text
    if isinstance(value, bytes):
        return value.decode()
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value.decode() if isinstance(value, bytes) else value


def attribute_differs(found, wanted):
    if wanted == [] and isinstance(found, str) and found == "":
        return False  # a list that ncgen has made
    found, wanted = plain(found), json.loads(json.dumps(wanted))
    try:
        as_text = json.loads(found) if isinstance(found, str) else None
    except ValueError:
        as_text = None
    if isinstance(wanted, list) and len(wanted) == 1 and not isinstance(found, list):
        found = [found]  # the netCDF library makes a scalar of a list of one
    if isinstance(wanted, float) and wanted != wanted:
        return found == found
    return found != wanted and as_text != wanted


class H5py:
    def __init__(self, path):
        import h5py

        self.root = h5py.File(path)

    def values(self, d):
        return d[()]

    def dims(self, d):
        if "CLASS" in d.attrs:
            return [d.name.rsplit("/")[-1]]
        return [
            scales[0].name.rsplit("/")[-1]
            for scales in (d.dims[i].values() for i in range(d.ndim))
            if scales
        ]

    def attrs(self, d):
        return dict(d.attrs)

    def item(self, g, name):
        of_netcdf = "_nc4_non_coord_" + name
        return g[of_netcdf if type(self) is H5py and of_netcdf in g else name]


class Pyfive(H5py):
    def __init__(self, path):
        import pyfive

        self.root = pyfive.File(path)

    def dims(self, d):
        return None


class NetCDF4(H5py):
    def __init__(self, path):
        import netCDF4

        self.root = netCDF4.Dataset(path)
        self.root.set_auto_maskandscale(False)
        self.root.set_always_mask(False)

    def values(self, d):
        return d[...]

    def dims(self, d):
        return list(d.dimensions)

    def attrs(self, d):
        return {k: d.getncattr(k) for k in d.ncattrs()}


class H5netcdf(H5py):
    def __init__(self, path):
        import h5netcdf

        self.root = h5netcdf.File(path, "r", phony_dims="access", decode_vlen_strings=True)

    def values(self, d):
        return d[...]

    def dims(self, d):
        return list(d.dimensions)


READERS = {"h5": [H5py, Pyfive, H5netcdf], "nc": [NetCDF4, H5netcdf, H5py]}
RESERVED = {"NAME"}


def compare(reader, g, h, different, path=""):
    count = 0
    attrs = reader.attrs(h)
    for key, value in dict(g.attrs).items():
        found = attrs.get(key + "_" if key in RESERVED else key, "missing")
        if attribute_differs(found, value):
            different.append(f"{path}: attribute {key}: {plain(found)!r}, expected {value!r}"[:300])
    for name, a in g.members():
        try:
            item = reader.item(h, name)
        except Exception as err:
            different.append(f"{path}/{name}: {err!r}")
            continue
        if isinstance(a, zarr.Group):
            count += compare(reader, a, item, different, f"{path}/{name}")
            continue
        count += 1
        compare_array(reader, a, item, different, f"{path}/{name}")
    return count


def compare_array(reader, a, item, different, path):
    wanted = as_file(np.asarray(a[...]))
    if wanted.dtype.itemsize == 2 and wanted.dtype.kind == "f" and reader.narrow:
        wanted = wanted.astype("f4")  # the netCDF library has no smaller type
    try:
        found = reader.values(item)
    except Exception as err:
        different.append(f"{path}: {err!r}"[:300])
        return
    if not same(found, wanted):
        different.append(f"{path}: {found!r}, expected {wanted!r}"[:600])
    if type(reader) is H5netcdf and found.ndim == a.ndim > 0 and item.shape != a.shape:
        different.append(f"{path}: shape {item.shape}, expected {a.shape}")
    attrs = reader.attrs(item)
    for key, value in dict(a.attrs).items():
        if key in ("_ARRAY_DIMENSIONS", "_FillValue"):
            continue
        if attribute_differs(attrs.get(key, "?"), value):
            different.append(
                f"{path}: attribute {key}: {plain(attrs.get(key, '?'))!r}, expected {value!r}"[
                    :300
                ]
            )
    if why := dimensions_differ(reader.dims(item), attrs, a):
        different.append(f"{path}: {why}")


def dimensions_differ(dims, attrs, a):
    """What is wrong with the names of the axes of an array, as a program finds them; "" if nothing.
    A name that had to be another one has a number, and is kept in an attribute."""
    if not dims or a.ndim == 0:  # h5netcdf gives a scalar the dimension that has its name
        return ""
    dims = list(dims)
    if dims[-1].startswith("string"):
        dims.pop()  # of the characters
    if len(dims) != a.ndim:
        return f"dimensions {dims} of {a.ndim} axes"
    names = (
        a.metadata.dimension_names
        if a.metadata.zarr_format == 3
        else a.attrs.get("_ARRAY_DIMENSIONS")
    )
    if not names or None in names or dims == list(names):
        return ""
    kept = attrs.get("dimension_names", dims)
    kept = [kept] if isinstance(kept, str) else list(plain(kept))  # h5netcdf has one as a text
    if kept and kept[-1].startswith("string"):
        kept.pop()
    numbered = all(re.fullmatch(re.escape(n) + r"(_\d+)?", d) for n, d in zip(names, dims))
    if kept == list(names) and numbered:
        return ""
    return f"dimensions {dims}, kept {kept}, expected {list(names)}"


def read(store, files):
    answer = {}
    for file in files:
        for reader in READERS[file.rsplit(".")[-1]]:
            different = []
            try:
                r = reader(file)
                r.narrow = file.endswith(".nc")
                count = compare(r, zarr.open_group(store, mode="r"), r.root, different)
            except Exception as err:
                count = 0
                different.append(repr(err))
            answer[f"{file.rsplit('.')[-1]} {reader.__name__}"] = {
                "arrays": count,
                "different": different,
            }
    return answer


def read_xarray(store, files):
    import xarray as xr

    answer = {}
    for group in ("/", "/forecast") if "climate" in store else ("/",):
        wanted = xr.open_zarr(store, group=group, consolidated=False)
        for file in files:
            for engine, chunks in ("netcdf4", None), ("h5netcdf", None), ("h5netcdf", {}):
                different = []
                found = xr.open_dataset(file, engine=engine, group=group, chunks=chunks)
                found.load()
                if engine == "h5netcdf":  # it has texts of a fixed length as bytes
                    found = found.map(
                        lambda v: v.astype("S").str.decode("utf8") if v.dtype.kind == "S" else v,
                        keep_attrs=True,
                    )
                if set(wanted.coords) != set(found.coords) or dict(wanted.attrs) != dict(
                    found.attrs
                ):
                    different.append(
                        f"{found.coords} {found.attrs}, not {wanted.coords} {wanted.attrs}"
                    )
                for name in wanted.variables:
                    a, b = wanted[name].variable, found[name].variable
                    try:
                        xr.testing.assert_identical(
                            a.astype(object) if a.dtype.kind in "TU" else a,
                            b.astype(object) if b.dtype.kind in "TUO" else b,
                        )
                    except AssertionError as err:
                        different.append(f"{name}: {err}")
                how = "dask" if chunks is not None else engine
                answer[f"{file.rsplit('.')[-1]} {how} {group}"] = {
                    "arrays": len(wanted.variables),
                    "different": different,
                }
    return answer


def write(store, h5, nc):
    """Writes through both files, and returns what zarr-python then reads otherwise."""
    import h5py
    import netCDF4

    rng = np.random.default_rng(11)
    different = []
    wanted = {}
    with h5py.File(h5, "r+") as f:
        for name in [
            n
            for n in f
            if isinstance(f[n], h5py.Dataset) and f[n].size and f[n].dtype.kind in "iufcb"
        ]:
            if "CLASS" in f[name].attrs and name not in zarr.open_group(store, mode="r"):
                continue
            values = np.frombuffer(
                rng.bytes(f[name].size * f[name].dtype.itemsize), f[name].dtype
            ).reshape(f[name].shape)
            if f[name].dtype.kind == "b":
                values = rng.random(f[name].shape) > 0.5
            f[name][...] = values
            wanted[name] = values
    by_netcdf4 = 0
    with netCDF4.Dataset(nc, "a") as f:
        f.set_auto_maskandscale(False)
        for name in wanted:
            if (
                name not in f.variables
                or wanted[name].ndim == 0
                or wanted[name].dtype.kind not in "iu"
                or wanted[name].dtype.itemsize < 2
            ):
                continue
            by_netcdf4 += 1
            part = (
                np.arange(wanted[name][1].size)
                .astype(wanted[name].dtype)
                .reshape(wanted[name][1].shape)
            )
            f[name][1] = part
            wanted[name] = wanted[name].copy()
            wanted[name][1] = part
    g = zarr.open_group(store, mode="r")
    for name, values in wanted.items():
        if not same(as_file(np.asarray(g[name][...])), values):
            different.append(f"{name}: {g[name][...]!r}, expected {values!r}"[:400])
    return {
        "h5py": {"arrays": len(wanted), "different": different},
        "netCDF4": {"arrays": by_netcdf4, "different": []},
    }


def meaning(path):
    """Makes a store whose attributes say something else than its elements, or no text of C."""
    root = zarr.create_group(path, overwrite=True, attributes={"nul": "a\0b", "nuls": ["a\0b"]})
    when = np.array(["2020-01-01", "NaT", "1969-07-20"], "M8[ns]")
    a = root.create_array("when", data=when)
    a.attrs.update({"units": "days since 1900-01-01", "units_": "kept", "calendar": "noleap"})
    for unit in ("ns", "s", "h", "D"):
        root.create_array(f"lag_{unit}", data=np.array([1, "NaT", -3], f"m8[{unit}]"))


def meant(store, files):
    """Compares times and texts of files with those of the store that `meaning` makes."""
    import xarray as xr

    wanted = zarr.open_group(store, mode="r")
    answer = {}
    for file in files:
        for engine in ("netcdf4", "h5netcdf"):
            different = []
            found = xr.open_dataset(file, engine=engine)
            for name in ("nul", "nuls"):
                if json.loads(found.attrs[name]) != wanted.attrs[name]:
                    different.append(f"{name}: {found.attrs[name]!r}")
            if found["when"].attrs != {"units__": "days since 1900-01-01", "units_": "kept",
                                       "calendar_": "noleap"}:
                different.append(f"{found['when'].attrs}")
            for name, a in wanted.arrays():
                b = found[name].values
                if b.dtype.kind not in "mM" or not np.array_equal(
                    b, a[...].astype(b.dtype), equal_nan=True
                ):
                    different.append(f"{name}: {b!r}, expected {a[...]!r}")
            answer[f"{file.rsplit('.')[-1]} {engine}"] = {"arrays": 5, "different": different}
    return answer


def edits(f):
    """Changes of the structure of a file of h5py."""
    import h5py

    names = [n for n in f if isinstance(f[n], h5py.Dataset)]
    for i, name in enumerate(names):
        yield f"set an attribute of {name}", lambda f, n=name: f[n].attrs.__setitem__("new", 1)
        yield f"remove {name}", lambda f, n=name: f.__delitem__(n)
        yield f"rename {name}", lambda f, n=name: f.move(n, n + "_new")
        for key in f[name].attrs:
            if key not in ("DIMENSION_LIST", "REFERENCE_LIST"):
                yield f"remove {name}:{key}", lambda f, n=name, k=key: f[n].attrs.__delitem__(k)
                yield f"change {name}:{key}", lambda f, n=name, k=key: f[n].attrs.create(k, "other")
    for i in range(20):
        yield "make a dataset", lambda f, i=i: f.create_dataset(f"new{i}", data=np.arange(100))
        yield "make a group", lambda f, i=i: f.create_group(f"group{i}")
        yield "set an attribute", lambda f, i=i: f.attrs.__setitem__(f"new{i}", "x" * i)
        yield "link", lambda f, i=i: f.__setitem__(f"link{i}", h5py.SoftLink("/time"))


def error_of(change):
    """Makes a change in a process of its own: libhdf5 may crash once a write of it was refused.
    Returns the text of the error, None if there was none."""
    read, write = os.pipe()
    child = os.fork()
    if child:
        os.close(write)
        with os.fdopen(read) as f:
            text = f.read()
        status = os.waitpid(child, 0)[1]
        return text or f"status {status}" if status else None
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    try:
        change()
    except BaseException as e:
        os.write(write, f"{type(e).__name__}: {e}".encode())
        os._exit(1)
    os._exit(0)


def by_h5py(path, change):
    import h5py

    f = h5py.File(path, "r+")
    change(f)
    f.close()


def by_netcdf4(path, i):
    import netCDF4

    f = netCDF4.Dataset(path, "a")
    [
        lambda: f.setncattr(f"new{i}", "x"),
        lambda: f.createDimension(f"d{i}", i + 1),
        lambda: f.renameVariable("t2m", f"renamed{i}"),
        lambda: f["t2m"].setncattr("new", i),
        lambda: f.createVariable(f"v{i}", "f4", ()),
    ][i % 5]()
    f.close()


def edit(h5, nc):
    """Tries to change the structure. Each program must get an error, and h5py says which. On an
    ordinary copy of the file each change must succeed."""
    import h5py

    with h5py.File(h5) as f:
        tries = [(name, h5, by_h5py, change) for name, change in edits(f)][:180]
    tries += [(f"netCDF4 {i}", nc, by_netcdf4, i) for i in range(20)]
    before, wrong = {file: open(file, "rb").read() for file in (h5, nc)}, []
    for name, file, program, change in tries:
        error = error_of(lambda: program(file, change))
        if error is None or program is by_h5py and "Operation not permitted" not in error:
            wrong.append(f"{name}: {error}")
        with tempfile.NamedTemporaryFile() as copy:
            copy.write(before[file])
            copy.flush()
            if error := error_of(lambda: program(copy.name, change)):
                wrong.append(f"{name} in a copy: {error}")
    if any(open(file, "rb").read() != text for file, text in before.items()):
        wrong.append("a file has changed")
    return {"edit": {"arrays": len(tries), "different": wrong}}


def main():
    verb, *args = sys.argv[1:]
    if verb == "make" and args[0] == "meaning":
        return meaning(args[1])
    if verb == "make":
        for zarr_format in (2, 3):
            MAKERS[args[0]](f"{args[1]}/{args[0]}{zarr_format}.zarr", zarr_format)
        return
    answer = {
        "read": lambda: read(args[0], args[1:]),
        "meaning": lambda: meant(args[0], args[1:]),
        "xarray": lambda: read_xarray(args[0], args[1:]),
        "write": lambda: write(*args),
        "edit": lambda: edit(*args),
    }[verb]()
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
