"""What xarray and dask find in the .nc of a group whose datasets are laid out in chunks.

group_chunks.py make DIR          makes a store: chunks, shards, edges, an array in one chunk
group_chunks.py read STORE NC     compares chunks and values with those of zarr-python
group_chunks.py write STORE NC    writes parts of chunks and edges through h5py and netCDF4
"""

import json
import sys

import numpy as np
import zarr


def make(path):
    root = zarr.create_group(path, overwrite=True)
    rng = np.random.default_rng(5)
    for name, shape, chunks, more in (
        ("cube", (7, 50, 33), (2, 16, 10), {}),
        ("sharded", (40, 60), (5, 6), {"shards": (20, 30)}),
        ("whole", (9, 4), (100, 100), {}),
        ("long", (1000,), (64,), {}),
        ("plain", (300, 500), (100, 100), {"compressors": None}),
        ("holes", (64, 64), (16, 16), {"fill_value": 7}),
        ("turned", (20, 30), (10, 7), {"filters": [zarr.codecs.TransposeCodec(order=(1, 0))]}),
    ):
        names = [f"{name}_{i}" for i in range(len(shape))]
        options = {"dimension_names": names, "dtype": ">f4" if name == "long" else "i4", **more}
        a = root.create_array(name, shape=shape, chunks=chunks, **options)
        if name == "holes":
            a[16:32, 5:20] = 3
        else:
            a[...] = rng.integers(0, 1000, shape)


def read(store, nc):
    import h5py
    import netCDF4
    import xarray as xr

    g = zarr.open_group(store, mode="r")
    answer = {}
    lazy = xr.open_dataset(nc, engine="h5netcdf", chunks={})
    files = {"h5py": h5py.File(nc), "netCDF4": netCDF4.Dataset(nc)}
    files["netCDF4"].set_auto_maskandscale(False)
    for reader, find in (
        ("h5py", lambda n: (files["h5py"][n].chunks, files["h5py"][n][...])),
        ("netCDF4", lambda n: (files["netCDF4"][n].chunking(), files["netCDF4"][n][...])),
        ("dask", lambda n: (lazy[n].data.chunksize, lazy[n].data.compute())),
    ):
        different = []
        for name, a in g.arrays():
            chunks, values = find(name)
            wanted = [min(c, n) for c, n in zip(a.chunks, a.shape)]
            if [min(c, n) for c, n in zip(chunks, a.shape)] != wanted:
                different.append(f"{name}: chunks {chunks}, expected {a.chunks}")
            if not np.array_equal(values, a[...]):
                different.append(f"{name}: other values")
        answer[reader] = {"arrays": len(list(g.arrays())), "different": different}
    return answer


def write(store, nc):
    import h5py
    import netCDF4

    wanted = {name: a[...] for name, a in zarr.open_group(store, mode="r").arrays()}
    rng = np.random.default_rng(6)
    with h5py.File(nc, "r+") as f:
        for name, values in wanted.items():
            for _ in range(5):
                at = tuple(
                    slice(lo, lo + rng.integers(1, n - lo + 1))
                    for n in values.shape
                    for lo in [rng.integers(0, n)]
                )
                values[at] = rng.integers(0, 1000, values[at].shape)
                f[name][at] = values[at]
    with netCDF4.Dataset(nc, "a") as f:
        f.set_auto_maskandscale(False)
        for name, values in wanted.items():
            values[-1] = 77
            f[name][-1] = values[-1]
    g = zarr.open_group(store, mode="r")
    different = [n for n, values in wanted.items() if not np.array_equal(g[n][...], values)]
    return {"write": {"arrays": len(wanted), "different": different}}


def main():
    verb, *args = sys.argv[1:]
    if verb == "make":
        return make(*args)
    print(json.dumps({"read": read, "write": write}[verb](*args)))


if __name__ == "__main__":
    main()
