"""Stores that programs of other languages write, which programs.py runs: the zarrs crate and
zarr-java.

Each array has a hole: elements that equal the fill value, in a chunk that is not stored.
"""

import itertools
import os

import numpy as np

import programs
from book import Book
from cases import CHUNKS, HOLE, NUMBERS, SHAPE, SHAPES, name_of, sample
from write_handmade import put_group, v2, v3

GZIP = {"name": "gzip", "configuration": {"level": 4}}
CRC = {"name": "crc32c"}
KEYS = {"chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}}

# zarr-java has no halves and no complex numbers.
JAVA_KINDS = [d for d in NUMBERS if d[1:] not in ("f2", "c8", "c16")]


def ordered(order):
    return {"name": "bytes", "configuration": {"endian": order}}


def blosc(dtype, name, shuffle):
    return {"name": "blosc", "configuration": {
        "cname": name, "clevel": 5, "shuffle": shuffle, "typesize": np.dtype(dtype).itemsize,
        "blocksize": 0}}


def zstd(checksum=False):
    return {"name": "zstd", "configuration": {"level": 3, "checksum": checksum}}


def turn(*order):
    return {"name": "transpose", "configuration": {"order": list(order)}}


def shards(inner, chain, at="end"):
    return {"name": "sharding_indexed", "configuration": {
        "chunk_shape": list(inner), "codecs": chain, "index_codecs": [ordered("little"), CRC],
        "index_location": at}}


def filled(dtype, shape, seed):
    data = sample(dtype, shape, seed)
    if shape == SHAPE:
        data[HOLE] = 0
    return data


def fill_of(dtype):
    return {"b": False, "c": [0.0, 0.0]}.get(np.dtype(dtype).kind, 0)


def open_book(out, library, fmt):
    book = Book(out, f"others-{library}-v{fmt}")
    document = {"zarr_format": fmt, **({"node_type": "group"} if fmt == 3 else {})}
    put_group(book, document, "zarr.json" if fmt == 3 else ".zgroup")
    return book


def attempt(book, library, path, document, data):
    def write():
        programs.write(library, book.store, path, document, data)
        book.add(path, data)

    book.attempt(path, write)


def chains(dtype):
    """Chains of codecs that both libraries have, by name, and the shape of a chunk or shard of
    each.
    """
    plain = ordered("big" if dtype[0] == ">" else "little")
    return {
        "bytes": (CHUNKS, [plain]), "gzip": (CHUNKS, [plain, GZIP]),
        "zstd": (CHUNKS, [plain, zstd()]),
        "zstd_sum": (CHUNKS, [plain, zstd(True)]), "crc32c": (CHUNKS, [plain, CRC]),
        "gzip_crc32c": (CHUNKS, [plain, GZIP, CRC]),
        "lz4": (CHUNKS, [plain, blosc(dtype, "lz4", "shuffle")]),
        "blosc_zstd": (CHUNKS, [plain, blosc(dtype, "zstd", "noshuffle")]),
        "turned": (CHUNKS, [turn(1, 0), plain]), "turned_gzip": (CHUNKS, [turn(1, 0), plain, GZIP]),
        "shards": ((4, 6), [shards((2, 3), [plain])]),
        "shards_gzip": ((4, 6), [shards((2, 3), [plain, GZIP, CRC])]),
        "shards_first": ((8, 6), [shards((4, 3), [plain, GZIP], "start")]),
        "shards_turned": ((4, 6), [shards((2, 3), [turn(1, 0), plain])]),
    }


def crate_chains(dtype):
    plain = ordered("big" if dtype[0] == ">" else "little")
    """The same, and what the crate has more; its pcodec is one that the mount refuses, see
    docs/FORMATS.md.
    """
    more = {
        "bz2": (CHUNKS, [plain, {"name": "numcodecs.bz2", "configuration": {"level": 5}}]),
        "adler32": (CHUNKS, [plain, {"name": "numcodecs.adler32"}]),
        "fletcher32": (CHUNKS, [plain, {"name": "numcodecs.fletcher32"}]),
        "bitshuffle": (CHUNKS, [plain, blosc(dtype, "lz4hc", "bitshuffle")]),
        "shards_zstd": ((4, 6), [shards((2, 3), [plain, zstd()])]),
        "shards_of_shards": ((8, 6), [shards((4, 6), [shards((2, 3), [plain, GZIP])])]),
        "turned_shards": ((4, 6), [turn(1, 0), shards((3, 2), [plain, CRC])]),
    }
    return {**chains(dtype), **more}


def write_v3(book, library, dtypes, chains_of):
    for dtype in dtypes:
        for label, (chunk, chain) in chains_of(dtype).items():
            path = f"codecs/{name_of(dtype)}_{label}"
            document = v3(np.dtype(dtype).name, SHAPE, chunk, fill_of(dtype), chain, **KEYS)
            attempt(book, library, path, document, filled(dtype, SHAPE, path))
    for (name, (shape, chunks)), dtype in itertools.product(SHAPES.items(), ("|u1", "<f8")):
        path = f"shapes/{name}_{name_of(dtype)}"
        # zarr-java writes no array without elements
        if min(shape, default=1) > 0 or library == "zarrs-crate":
            document = v3(np.dtype(dtype).name, shape, chunks, 0, [ordered("little"), GZIP], **KEYS)
            attempt(book, library, path, document, filled(dtype, shape, path))


def write_v2(book, library, dtypes, compressors, orders):
    for dtype, (label, compressor), order in itertools.product(dtypes, compressors.items(), orders):
        path = f"{name_of(dtype)}_{label}_{order}"
        fill = False if dtype == "|b1" else 0
        document = v2(dtype, SHAPE, CHUNKS, fill, compressor=compressor, order=order,
            dimension_separator=".")
        attempt(book, library, path, document, filled(dtype, SHAPE, path))


V2_COMPRESSORS = {"none": None, "zlib": {"id": "zlib", "level": 3},
                  "blosc": {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1,
                      "blocksize": 0}}


def with_zarrs_crate(out):
    for fmt in (2, 3):
        book = open_book(out, "zarrs-crate", fmt)
        if fmt == 3:
            write_v3(book, "zarrs-crate", NUMBERS, crate_chains)
        else:
            more = {"zstd": {"id": "zstd", "level": 3}, "gzip": {"id": "gzip", "level": 3},
                "bz2": {"id": "bz2", "level": 3}}
            write_v2(book, "zarrs-crate", [d for d in NUMBERS if d[1] != "c"],
                {**V2_COMPRESSORS, **more}, "CF")
        book.close()


def with_zarr_java(out):
    """It ignores order F of format 2 without an error, so only C is here; it refuses types of
    big-endian order there.
    """
    for fmt in (2, 3):
        book = open_book(out, "zarr-java", fmt)
        if fmt == 3:
            write_v3(book, "zarr-java", JAVA_KINDS, chains)
        else:
            write_v2(book, "zarr-java", [d for d in JAVA_KINDS if d[0] != ">"], V2_COMPRESSORS, "C")
        book.close()


def write_all(out):
    for library, write in (("zarrs-crate", with_zarrs_crate), ("zarr-java", with_zarr_java)):
        if programs.installed(library):
            write(out)
        else:
            print(f"SKIPPED: {library}, see venvs.sh")
