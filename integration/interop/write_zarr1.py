"""Version 1 stores, made from what zarr-python 2 writes by undoing its own migration from 1 to 2.

No library writes version 1 any more. The rules are those of zarr-python 2's
migrate_1to2, backwards: `meta` and `attrs` in place of `.zarray` and `.zattrs`,
`compression` and `compression_opts` in place of `compressor`, keys with dots.
"""

import json
import os

import numcodecs
import numpy as np
import zarr

from book import Book
from cases import CHUNKS, SHAPE, SHAPES, fills, full, name_of, sample

TYPES = ["|b1", "|i1", "<i2", ">i4", "<u8", "<f4", ">f8", "<c8", "|S5", "<U3", "<M8[s]"]


def compressions():
    """v1's name and options of each compressor, and the codec that writes the same bytes."""
    return {
        "none": (None, None, None),
        "none_text": ("none", None, None),
        "blosc": ("blosc", {"cname": "lz4", "clevel": 5, "shuffle": 1},
            numcodecs.Blosc("lz4", 5, 1)),
        "blosc_zstd": ("blosc", {"cname": "zstd", "clevel": 1, "shuffle": 2},
            numcodecs.Blosc("zstd", 1, 2)),
        "zlib": ("zlib", 1, numcodecs.Zlib(1)),
        "bz2": ("bz2", 1, numcodecs.BZ2(1)),
        "lzma": ("lzma", {"preset": 1, "format": 1, "check": 0, "filters": None},
            numcodecs.LZMA(1, 0, 1)),
    }


def to_v1(store, compression, opts):
    """Turn a v2 array at the store's root into a v1 one."""
    with open(os.path.join(store, ".zarray")) as f:
        doc = json.load(f)
    if doc["compressor"] is None:  # zarr-python 2 compresses no array of rank 0
        compression = opts = None
    meta = {
        "zarr_format": 1, "shape": doc["shape"], "chunks": doc["chunks"], "dtype": doc["dtype"],
        "fill_value": doc["fill_value"], "order": doc["order"], "compression": compression,
        "compression_opts": opts,
    }
    if meta["fill_value"] in ("NaN", "Infinity", "-Infinity"):
        meta["fill_value"] = float(meta["fill_value"])  # v1 writers left the bare token
    with open(os.path.join(store, "meta"), "w") as f:
        json.dump(meta, f, indent=4, sort_keys=True)
    with open(os.path.join(store, "attrs"), "w") as f:
        json.dump({"units": "K"}, f)
    os.remove(os.path.join(store, ".zarray"))


def one(out, name, dtype, shape, chunks, fill, compression, order="C"):
    v1_name, opts, codec = compressions()[compression]
    book = Book(out, f"zarr1-{name}")
    data = sample(dtype, shape, name)
    array = zarr.open_array(
        book.store, "w", shape=shape, chunks=chunks, dtype=dtype, fill_value=fill, order=order,
        compressor=codec)
    array[...] = data
    if len(shape) == 2 and data.size:
        os.remove(os.path.join(book.store, "1.1"))
        data[4:8, 3:6] = full(dtype, (), fill)
    to_v1(book.store, v1_name, opts)
    book.add("", data, view=book.name)
    book.close()


def write_all(out):
    for dtype in TYPES:
        fill = None if np.dtype(dtype).kind in "SUM" else next(iter(fills(dtype).values()))
        one(out, name_of(dtype), dtype, SHAPE, CHUNKS, fill, "blosc")
    for name in compressions():
        for order in "CF":
            one(out, f"{name}-{order}", "<f8", SHAPE, CHUNKS, np.nan, name, order)
    for name in ("0d", "1d", "3d", "1d_empty"):
        shape, chunks = SHAPES[name]
        one(out, "shape-" + name, "<i4", shape, chunks, 3, "zlib")
