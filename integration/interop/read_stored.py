#!/usr/bin/env python3
"""Read what a mount stored with another library, and compare it with what was written.

Usage: read_stored.py LIBRARY STORE EXPECTED

See fill_mount.py for EXPECTED. What the library refuses is counted apart and named. The exit status
is 1 if a value, a shape or a type is different.
"""

import json
import os
import sys
import warnings

import numpy as np

import programs
import zarrita


def by_zarr(store, path):
    import zarr

    return zarr.open_array(store, path=path, mode="r")[...]


def by_zarrs(store, path):
    import zarr
    import zarrs  # noqa: F401, which registers its pipeline

    with zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"}):
        return by_zarr(store, path)


def by_zarr_fused(store, path):
    import zarr

    with zarr.config.set({"codec_pipeline.path": "zarr.core.codec_pipeline.FusedCodecPipeline"}):
        return by_zarr(store, path)


def by_tensorstore(store, path):
    import tensorstore as ts

    driver = "zarr3" if os.path.exists(os.path.join(store, "zarr.json")) else "zarr"
    found = ts.open({"driver": driver, "kvstore": {"driver": "file", "path": f"{store}/{path}/"}},
        open=True).result().read().result()
    if found.dtype.itemsize == 0:
        raise TypeError("under this NumPy its opaque bytes have no size")
    return found


def by_xarray(store, path):
    import xarray

    group, name = os.path.split(path)
    dataset = xarray.open_zarr(store, group=group, consolidated=False, mask_and_scale=False,
        decode_times=False,
                               concat_characters=False, chunks=None)
    return dataset[name].values


def by_dask(store, path):
    import dask.array

    return dask.array.from_zarr(store, component=path).compute()


def by_gdal(store, path):
    import rasterio

    with rasterio.open(f'ZARR:"{store}":/{path}') as f:
        return f.read()


def by_netcdf(store, path):
    import netCDF4

    group, name = os.path.split(path)
    with netCDF4.Dataset(f"file://{store}#mode=zarr,file") as d:
        v = d[group][name]
        v.set_auto_maskandscale(False)
        return v[...]


def by_zarrita(store, path):
    return zarrita.read(store, path)


def by_zarrs_crate(store, path):
    return programs.read("zarrs-crate", store, path)


def by_zarr_java(store, path):
    document = os.path.join(store, path, ".zarray")
    if os.path.exists(document):
        with open(document) as f:
            metadata = json.load(f)
        if metadata["order"] == "F" or not metadata["shape"]:  # of zarr-python's stores, too
            raise TypeError("it takes order F for C, and looks for no chunk 0 of an array without "
                "axes, both without an error")
    return programs.read("zarr-java", store, path)


READERS = {name[3:]: f for name, f in globals().items() if name.startswith("by_")}


BYTES_ONLY = ("zarrita", "zarrs_crate", "zarr_java")  # which return no arrays of NumPy


def shown(library, found, want):
    """What a library found, by its own way to show it: GDAL has bands and numbers for all,
    tensorstore bytes for opaque ones.
    """
    if library == "gdal":
        found = found.reshape(want.shape)
        return found.astype("?") if want.dtype.kind == "b" and found.max(initial=0) <= 1 else found
    if library == "zarrita":
        return zarrita.strided(*found, want.dtype)
    if library in BYTES_ONLY:
        shape, data = found
        return np.frombuffer(data, want.dtype.newbyteorder("=")).reshape(shape)
    if library == "tensorstore" and want.dtype.kind == "V" and found.dtype != want.dtype:
        return np.ascontiguousarray(found).view(want.dtype).reshape(want.shape)
    return found


def same(found, want):
    if found.shape != want.shape:
        return f"shape {found.shape}, expected {want.shape}"
    if found.dtype.kind != want.dtype.kind and not (want.dtype.kind in "SU"
            and found.dtype.kind in "OTSU"):
        return f"type {found.dtype}, expected {want.dtype}"
    if found.astype(want.dtype).tobytes() != np.ascontiguousarray(want).tobytes():
        return "other values"
    return None


def main():
    library, store, expected = sys.argv[1:]
    warnings.simplefilter("ignore")
    with open(os.path.join(expected, "arrays.json")) as f:
        arrays = json.load(f)
    read, different, refused = 0, 0, []
    for array in arrays:
        want = np.load(os.path.join(expected, array["expected"]))
        try:
            found = READERS[library](os.path.abspath(store), array["path"])
        except Exception as err:  # a library may raise anything
            refused.append(f"{array['path']}: {type(err).__name__}: {err}"[:200])
            continue
        read += 1
        if wrong := same(
                shown(library, found if library in BYTES_ONLY else np.asarray(found), want), want):
            different += 1
            print(f"{array['path']}: {wrong}")
    if os.environ.get("ZARRFS_TRACE"):
        print("\n".join(refused))
    print(f"readings: {read}, different: {different}, refused: {len(refused)}")
    return different > 0


if __name__ == "__main__":
    sys.exit(main())
