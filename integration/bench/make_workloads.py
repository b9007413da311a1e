#!/usr/bin/env python3
"""Make the benchmark's workloads W1 to W6: each a Zarr store and its decoded copy.

Usage: make_workloads.py [--dir bench-data] [--quarter] [W1 W2 ...]

DIR/W1.zarr is the store (a group that holds the one array `a`), DIR/W1.npy the
decoded copy. The data is a smooth field plus noise in the low bits, the same
on every run: floats keep 11 bits of their mantissa, integers are field x 16.
What is already there is skipped; a file made half-way never has its name.
With --quarter, only the first quarter of the rows is made, but all of W5.
"""

import argparse
import copy
import os
import shutil
import sys
import time

import numpy as np

MIB = 1 << 20

# The noise's standard deviation decides how well a workload compresses; these
# give the stored sizes of the table below.
NOISE_F4 = 1.8
NOISE_U2 = 0.9


class Workload:
    def __init__(self, seed, dtype, shape, chunks, stored_mib, fmt, shards=None, v2=None, v3=None):
        self.seed = seed
        self.dtype = np.dtype(dtype)
        self.shape = shape
        self.chunks = chunks
        self.shards = shards
        self.stored_mib = stored_mib  # expected size of the store
        self.format = fmt
        self.v2 = v2  # function giving the numcodecs compressor
        self.v3 = v3  # function giving the list of bytes->bytes codecs

    def quarter(self):
        """The first quarter of the rows. W5 is small as it is."""
        w = copy.copy(self)
        if len(w.shape) == 3:
            w.shape, w.stored_mib = (w.shape[0] // 4, *w.shape[1:]), w.stored_mib / 4
        return w

    @property
    def nbytes(self):
        return self.dtype.itemsize * int(np.prod(self.shape))


def _lz4():
    import numcodecs

    return numcodecs.Blosc("lz4", clevel=5, shuffle=numcodecs.Blosc.SHUFFLE)


def _zlib():
    import numcodecs

    return numcodecs.Zlib(6)


def _zstd():
    import zarr.codecs

    return [zarr.codecs.ZstdCodec(level=1)]


def _blosc_zstd():
    import zarr.codecs

    return [zarr.codecs.BloscCodec(cname="zstd", clevel=3, shuffle="bitshuffle", typesize=2)]


def _none():
    return []


WORKLOADS = {
    "W1": Workload(1, "<f4", (240, 721, 1440), (1, 721, 1440), 395, 2, v2=_lz4),
    "W2": Workload(2, "<f4", (512, 1024, 1024), (128, 128, 128), 674, 3, v3=_zstd),
    "W3": Workload(3, "<u2", (128, 2048, 2048), (8, 256, 256), 507, 3, shards=(32, 1024, 1024),
        v3=_blosc_zstd),
    "W4": Workload(4, "<u2", (10980, 10980), (1024, 1024), 135, 2, v2=_zlib),
    "W5": Workload(5, "<f4", (4096, 4096), (64, 64), 29, 2, v2=_lz4),
    "W6": Workload(6, "<f4", (256, 1024, 1024), (1, 1024, 1024), 1024, 3, v3=_none),
}


def smooth(start, stop, shape):
    """Rows start..stop of the smooth field, in float32."""
    t = np.arange(start, stop, dtype="f4").reshape((-1,) + (1,) * (len(shape) - 1))
    x = np.arange(shape[-1], dtype="f4")
    if len(shape) == 2:
        y, t = t, np.float32(0)
    else:
        y = np.arange(shape[1], dtype="f4")[:, None]
    field = np.float32(280) + 20 * np.cos(y / 200 + t / 40)
    field = field + 8 * np.cos(y / 61) * np.sin(x / 97 + t / 25)
    return field + 4 * np.sin(x / 29 - y / 37 + t / 7)


def keep_mantissa(a, bits):
    """Round float32 to that many mantissa bits, ties to even."""
    drop = 23 - bits
    b = a.view("<u4")
    b = b + (((b >> drop) & 1) + ((1 << (drop - 1)) - 1)).astype("<u4")
    return (b & np.uint32(0xFFFFFFFF ^ ((1 << drop) - 1))).view("<f4")


def block(w, start, stop):
    """Rows start..stop of the workload's data. Each block has its own noise."""
    shape = (stop - start,) + w.shape[1:]
    rng = np.random.Generator(np.random.PCG64([w.seed, start]))
    noise = rng.standard_normal(shape, dtype="f4")
    if w.dtype.kind == "f":
        return keep_mantissa(
            (smooth(start, stop, w.shape) + np.float32(NOISE_F4) * noise).astype("f4"), 11)
    return ((smooth(start, stop, w.shape) + np.float32(NOISE_U2) * noise) * 16).astype(w.dtype)


def make_plain(w, path):
    """Write the decoded copy, a few rows at a time so that memory stays small."""
    part = path + ".part"
    out = np.lib.format.open_memmap(part, mode="w+", dtype=w.dtype, shape=w.shape)
    step = 4 if len(w.shape) == 3 else 512  # fixed: the noise's seed depends on it
    for start in range(0, w.shape[0], step):
        stop = min(start + step, w.shape[0])
        out[start:stop] = block(w, start, stop)
    out.flush()
    del out
    os.rename(part, path)


def make_store(w, path, plain):
    """Write the store from its decoded copy, one row of stored objects at a time."""
    import zarr

    part = path + ".part"
    shutil.rmtree(part, ignore_errors=True)
    group = zarr.open_group(part, mode="w", zarr_format=w.format)
    # Only the smallest store differs: many files of one directory. All v2
    # stores use "." as zarr-python does by default.
    args = dict(name="a", shape=w.shape, chunks=w.chunks, dtype=w.dtype, fill_value=0)
    if w.format == 2:
        args["compressors"] = w.v2()
    else:
        args["compressors"] = w.v3() or None
        args["shards"] = w.shards
    array = group.create_array(**args)
    step = (w.shards or w.chunks)[0]
    while step * 8 < w.shape[0] and step * np.prod(w.shape[1:]) * w.dtype.itemsize < 64 * MIB:
        step *= 2
    for start in range(0, w.shape[0], step):
        array[start : start + step] = plain[start : start + step]
    os.rename(part, path)


def stored_bytes(path):
    total = 0
    for folder, _, files in os.walk(path):
        total += sum(os.path.getsize(os.path.join(folder, f)) for f in files)
    return total


def check_size(name, w, path):
    """Say what was made, and complain where it is not the table's size."""
    mib = stored_bytes(path) / MIB
    off = abs(mib - w.stored_mib) / w.stored_mib
    decoded = w.nbytes / MIB
    print(f"{name}: stored {mib:.0f} MiB (table {w.stored_mib:.0f}), decoded {decoded:.0f} MiB",
          flush=True)
    if off > 0.1:
        print(f"{name}: stored size is {off:.0%} off the table", file=sys.stderr)
        return False
    return True


def make(name, folder, quarter=False):
    w = WORKLOADS[name].quarter() if quarter else WORKLOADS[name]
    npy, store = os.path.join(folder, name + ".npy"), os.path.join(folder, name + ".zarr")
    if not os.path.exists(npy):
        began = time.time()
        make_plain(w, npy)
        print(f"{name}.npy made in {time.time() - began:.0f} s", flush=True)
    if not os.path.exists(store):
        began = time.time()
        make_store(w, store, np.load(npy, mmap_mode="r"))
        print(f"{name}.zarr made in {time.time() - began:.0f} s", flush=True)
    return check_size(name, w, store)


def main():
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--dir", default="bench-data")
    args.add_argument("--quarter", action="store_true")
    args.add_argument("names", nargs="*", metavar="W", help="which workloads (all)")
    args = args.parse_args()
    os.makedirs(args.dir, exist_ok=True)
    good = [make(name, args.dir, args.quarter) for name in (args.names or sorted(WORKLOADS))]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
