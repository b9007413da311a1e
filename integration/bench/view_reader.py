#!/usr/bin/env python3
"""Read an array by a library as a file of its group, or from its store, and print the time as JSON.

Usage: view_reader.py LIBRARY OP PATH ROWS TYPE DIM...

The libraries are raw and raw_new (a file read as it is), h5py, netCDF4, xarray and dask (a file of
the group), and open_zarr and dask_zarr (xarray, from the store). Interpreter start and open are not
counted. A scan reads slabs of ROWS along the first axis, and one by dask the chunks of the array.
"""

import json
import os
import random
import sys

import numpy as np

from runs import measured

READS = 8  # of planes, or of series
PLANE = 1024  # elements along each axis of a part of an array of two axes


def planes(shape):
    """Indices of planes of the last two axes, or of squares if there are no more axes."""
    rng = random.Random(3)
    if len(shape) > 2:
        return [(rng.randrange(shape[0]),) for _ in range(READS)]
    starts = [[rng.randrange(n - PLANE) for n in shape] for _ in range(READS)]
    return [tuple(slice(at, at + PLANE) for at in start) for start in starts]


def series(shape):
    """Indices of all elements at one point of the axes after the first."""
    rng = random.Random(4)
    return [(slice(None), *(rng.randrange(n) for n in shape[1:])) for _ in range(READS)]


def slabs(shape, rows):
    return [(slice(i, min(i + rows, shape[0])),) for i in range(0, shape[0], rows)]


class Raw:
    """A scan goes into one buffer, and other reads are those of a mapping."""

    def __init__(self, path, dtype, shape):
        self.file = open(path, "rb", buffering=0)
        self.mapped = np.memmap(path, dtype, "r", 0, shape)

    def scan(self, slabs, rows):
        buffer = np.empty((rows, *self.mapped.shape[1:]), self.mapped.dtype)
        for (s,) in slabs:
            self.fill(buffer[: s.stop - s.start])

    def fill(self, slab):
        part = memoryview(slab).cast("B")
        while part:
            part = part[self.file.readinto(part) :]

    def read(self, index):
        return np.array(self.mapped[index])


class RawNew(Raw):
    """A scan takes new memory for each slab."""

    def scan(self, slabs, rows):
        for (s,) in slabs:
            self.fill(np.empty((s.stop - s.start, *self.mapped.shape[1:]), self.mapped.dtype))


class H5py:
    """A scan goes into one buffer."""

    def __init__(self, path, dtype, shape):
        import h5py

        self.array = h5py.File(path)["a"]

    def scan(self, slabs, rows):
        buffer = np.empty((rows, *self.array.shape[1:]), self.array.dtype)
        for (s,) in slabs:
            self.array.read_direct(buffer[: s.stop - s.start], s)

    def read(self, index):
        return self.array[index]


class Indexed:
    """A library that returns new memory for each slab."""

    def scan(self, slabs, rows):
        for index in slabs:
            self.read(index)


class NetCDF4(Indexed):
    def __init__(self, path, dtype, shape):
        import netCDF4

        self.file = netCDF4.Dataset(path)
        self.file.set_auto_maskandscale(False)

    def read(self, index):
        return self.file["a"][index]


class Xarray(Indexed):
    def __init__(self, path, dtype, shape):
        import xarray

        self.array = xarray.open_dataset(path, engine="netcdf4", mask_and_scale=False).a

    def read(self, index):
        return self.array[index].values


class OpenZarr(Xarray):
    def __init__(self, path, dtype, shape):
        import xarray

        self.array = xarray.open_zarr(path, chunks=None, consolidated=False, mask_and_scale=False).a


class Dask(Indexed):
    def __init__(self, path, dtype, shape):
        import xarray

        self.array = xarray.open_dataset(path, engine="h5netcdf", chunks={}, mask_and_scale=False).a

    def scan(self, slabs, rows):
        self.array.max().compute()

    def read(self, index):
        return self.array[index].values


class DaskZarr(Dask):
    def __init__(self, path, dtype, shape):
        import xarray

        self.array = xarray.open_zarr(path, chunks={}, consolidated=False, mask_and_scale=False).a


LIBRARIES = {
    "raw": Raw, "raw_new": RawNew, "h5py": H5py, "netCDF4": NetCDF4, "xarray": Xarray, "dask": Dask,
    "open_zarr": OpenZarr, "dask_zarr": DaskZarr,
}


def main():
    library, op, path, rows, dtype, *shape = sys.argv[1:]
    rows, shape = int(rows), tuple(map(int, shape))
    array = LIBRARIES[library](path, np.dtype(dtype), shape)
    if op == "scan":
        result = measured(lambda: array.scan(slabs(shape, rows), rows))
    else:
        indices = {"planes": planes, "series": series}[op](shape)
        result = measured(lambda: [array.read(index) for index in indices])
    print(json.dumps(result), flush=True)
    os._exit(0)  # some libraries take long to end


if __name__ == "__main__":
    main()
