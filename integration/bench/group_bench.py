#!/usr/bin/env python3
"""Time scans of an array through its group's .nc and .h5, and opening a group of many arrays.

Usage: group_bench.py --bin zarrfs [--data bench-data] [--rounds 7]

The array has 256 MiB, in chunks of 1 MiB that compress well. All scans take slabs of 8 MiB, in a
fresh mount each: into one buffer, but netCDF4 and NumPy take new memory for each slab. The ratio is
the median of the rounds' ratios: a scan of .raw, into memory of the same kind, by one through the
library. The goal is 0.8. The group to open has 1,000 arrays, of which one is read. The
goal is 0.2 s by h5py.
"""

import argparse
import os
import statistics
import sys
import time

import h5py
import netCDF4
import numpy as np
import zarr

from daemon import Daemon

SHAPE, CHUNK, ROWS = (256, 512, 512), (64, 64, 64), 8
ARRAYS = 1000
RATIO, OPEN = 0.8, 0.2


def make_cube(path):
    group = zarr.create_group(path + ".part", overwrite=True)
    names = ["z", "y", "x"]
    a = group.create_array("a", shape=SHAPE, chunks=CHUNK, dtype="f4", dimension_names=names)
    slab = (CHUNK[0],) + SHAPE[1:]
    for i in range(0, SHAPE[0], CHUNK[0]):
        a[i : i + CHUNK[0]] = (np.arange(np.prod(slab)) // 1000 % 977).astype("f4").reshape(slab)
    os.rename(path + ".part", path)


def make_many(path):
    group = zarr.create_group(path + ".part", overwrite=True)
    for i in range(ARRAYS):
        a = group.create_array(f"v{i:04d}", shape=(10, 20), dtype="f4", dimension_names=["y", "x"])
        a.attrs.update({"units": "K", "long_name": f"variable {i}"})
    os.rename(path + ".part", path)


def by_raw(path):
    buffer = memoryview(bytearray(ROWS * SHAPE[1] * SHAPE[2] * 4))
    with open(path, "rb", buffering=0) as f:
        for _ in range(SHAPE[0] // ROWS):
            got = 0
            while got < len(buffer):
                got += f.readinto(buffer[got:])


def by_numpy(path):
    """Takes new memory for each slab, as netCDF4 does."""
    with open(path, "rb", buffering=0) as f:
        for _ in range(SHAPE[0] // ROWS):
            slab = np.empty((ROWS,) + SHAPE[1:], "f4")
            part = memoryview(slab).cast("B")
            while part:
                part = part[f.readinto(part) :]


def by_h5py(path):
    buffer = np.empty((ROWS,) + SHAPE[1:], "f4")
    with h5py.File(path) as f:
        for i in range(0, SHAPE[0], ROWS):
            f["a"].read_direct(buffer, np.s_[i : i + ROWS])


def by_netcdf4(path):
    with netCDF4.Dataset(path) as f:
        f.set_auto_maskandscale(False)
        for i in range(0, SHAPE[0], ROWS):
            f["a"][i : i + ROWS]


def open_h5py(path):
    with h5py.File(path) as f:
        assert len(f) >= ARRAYS
        f["v0500"][()]


def open_netcdf4(path):
    with netCDF4.Dataset(path) as f:
        assert len(f.variables) == ARRAYS
        f["v0500"][:]


SCANS = {"raw": ("a.raw", by_raw), "nc by h5py": ("group-cube.nc", by_h5py),
         "h5 by h5py": ("group-cube.h5", by_h5py), "raw by NumPy": ("a.raw", by_numpy),
         "nc by netCDF4": ("group-cube.nc", by_netcdf4)}
OPENS = {"h5 by h5py": ("group-many.h5", open_h5py), "nc by h5py": ("group-many.nc", open_h5py),
         "nc by netCDF4": ("group-many.nc", open_netcdf4)}


def measure(binary, store, ways, rounds):
    """The seconds of each way, by rounds."""
    found = {name: [] for name in ways}
    for _ in range(rounds):
        for name, (file, do) in ways.items():
            with Daemon(binary, store) as d:
                began = time.perf_counter()
                do(os.path.join(d.dir, file))
                found[name].append(time.perf_counter() - began)
    return found


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--bin", required=True)
    p.add_argument("--data", default="bench-data")
    p.add_argument("--rounds", type=int, default=7)
    args = p.parse_args()
    os.makedirs(args.data, exist_ok=True)
    stores = {name: os.path.join(args.data, name) for name in ("group-cube", "group-many")}
    for name, make in (("group-cube", make_cube), ("group-many", make_many)):
        if not os.path.exists(stores[name]):
            make(stores[name])
    binary, reached = os.path.abspath(args.bin), True
    size = np.prod(SHAPE) * 4 / 1e6
    print("| what | MB/s or s | ratio | goal |")
    print("|" + "---|" * 4)
    scans = measure(binary, stores["group-cube"], SCANS, args.rounds)
    for name, took in scans.items():
        beside = "raw by NumPy" if "netCDF4" in name else "raw"
        ratio = statistics.median(raw / other for raw, other in zip(scans[beside], took))
        reached &= ratio >= RATIO
        verdict = "reached" if ratio >= RATIO else "missed"
        print(f"| scan {name} | {size / statistics.median(took):.0f} | {ratio:.2f} | {verdict} |")
    for name, took in measure(binary, stores["group-many"], OPENS, args.rounds).items():
        seconds = statistics.median(took)
        if "h5py" in name:
            reached &= seconds <= OPEN
        verdict = "-" if "h5py" not in name else "reached" if seconds <= OPEN else "missed"
        print(f"| open {name} | {seconds:.3f} | - | {verdict} |")
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
