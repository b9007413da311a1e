"""A group of many arrays, with one of 8 TiB, and what programs do with its files.

group_large.py make STORE        makes 5,000 small arrays and a large one
group_large.py use STORE H5 NC   reads them, and writes the ends of the large one
"""

import json
import os
import sys

import numpy as np
import zarr

ARRAYS, LENGTH = 5000, 1 << 40  # elements of 8 bytes


def document(shape, chunk, kind, axes):
    return {
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": kind,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": 7, "dimension_names": axes,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    }


def make(store):
    def put(path, value):
        os.makedirs(f"{store}/{path}", exist_ok=True)
        with open(f"{store}/{path}/zarr.json", "w") as f:
            json.dump(value, f)

    put("", {"zarr_format": 3, "node_type": "group"})
    for i in range(ARRAYS):
        put(f"v{i:04}", document([4, 3], [4, 3], "int16", ["y", "x"]))
    put("large", document([LENGTH], [1 << 16], "float64", ["t"]))
    root = zarr.open_group(store)
    root["v4321"][:] = np.arange(12).reshape(4, 3)
    root["large"][LENGTH - 3 :] = [1, 2, 3]


def expect(what, found, wanted):
    if not np.array_equal(found, wanted):
        raise SystemExit(f"{what} is {found!r}, expected {wanted!r}")


def use(store, h5, nc):
    import h5py
    import netCDF4

    grid = np.arange(12).reshape(4, 3)
    with h5py.File(h5, "r+") as f:
        expect("the number of arrays by h5py", sum(n[0] == "v" for n in f), ARRAYS)
        expect("v4321 by h5py", f["v4321"][()], grid)
        expect("the end by h5py", f["large"][LENGTH - 4 :], [7, 1, 2, 3])
        f["large"][LENGTH - 2 :] = [8, 9]
        f["large"][0] = 5
    with netCDF4.Dataset(nc, "r+") as f:
        f.set_auto_mask(False)
        expect("the number of arrays by netCDF4", sum(n[0] == "v" for n in f.variables), ARRAYS)
        expect("v4321 by netCDF4", f["v4321"][:], grid)
        expect("the end by netCDF4", f["large"][LENGTH - 4 :], [7, 1, 8, 9])
        f["large"][LENGTH // 2] = 6
    large = zarr.open_group(store, mode="r")["large"]
    for at, value in ((0, 5), (1, 7), (LENGTH // 2, 6), (LENGTH - 2, 8), (LENGTH - 1, 9)):
        expect(f"element {at} in the store", large[at], value)
    print(f"{ARRAYS} arrays, {LENGTH * 8 >> 40} TiB")


if __name__ == "__main__":
    {"make": make, "use": use}[sys.argv[1]](*sys.argv[2:])
