#!/usr/bin/env python3
"""Turn golden data that others wrote into stores with expected copies.

Usage: make_corpora.py CORPORA OUT

CORPORA holds zarr-python-2/fixture, numcodecs/fixture and c-blosc/compat, or
the archives of them (zarr-python-2-fixture.tar.gz and so on). Runs in the
environment of requirements-v2.txt. An encoded chunk that stands alone becomes
an array of version 2 with that chunk and that codec.
"""

import contextlib
import glob
import json
import os
import shutil
import sys
import tarfile
import tempfile
import warnings

import numcodecs
import numpy as np
import zarr

from book import Book

NAMES = {"zarr-python-2": "fixture", "numcodecs": "fixture", "c-blosc": "compat"}
LOSSY = ("quantize", "fixedscaleoffset", "bitround", "astype")
BYTES = ("blosc", "bz2", "gzip", "lz4", "lzma", "zlib", "zstd")
UNSUPPORTED = ("msgpack", "msgpack2", "pickle", "pcodec", "zfpy")
OBJECTS = ("json", "json2", "vlen-array", "vlen-bytes", "vlen-utf8")


@contextlib.contextmanager
def unpacked(corpora):
    """The folder of unpacked corpora: itself, or a temporary one."""
    with tempfile.TemporaryDirectory() as tmp:
        for name, part in NAMES.items():
            whole, archive = (
                os.path.join(corpora, name), os.path.join(corpora, f"{name}-{part}.tar.gz"))
            if os.path.isdir(whole):
                os.symlink(os.path.abspath(whole), os.path.join(tmp, name))
            elif os.path.exists(archive):
                with tarfile.open(archive) as tar:
                    tar.extractall(os.path.join(tmp, name), filter="data")
        yield tmp


def find(folder, want):
    """The folder that holds `want`, however deep the archive put it."""
    for base, folders, _ in os.walk(folder, followlinks=True):
        if want in folders:
            return os.path.join(base, want)
    return None


def zarr2(folder, out):
    """All arrays of zarr-python 2's fixture. Variant i/0 is uncompressed: i/j must read as it does.
    """
    book = Book(out, "corpus-zarr-python-2")
    shutil.copytree(folder, book.store)
    oracle = os.path.join(out, "oracle")
    shutil.rmtree(oracle, ignore_errors=True)
    shutil.copytree(folder, oracle)
    for found in sorted(glob.glob(os.path.join(folder, "**", ".zarray"), recursive=True)):
        path = os.path.relpath(os.path.dirname(found), folder)
        parts = path.split("/")
        plain = f"{parts[0]}/0" if len(parts) == 2 and parts[0].isdigit() else path
        name_separator(os.path.join(oracle, plain))
        book.add(path, zarr.open_array(os.path.join(oracle, plain), mode="r")[...])
    shutil.rmtree(oracle)
    book.close()


def name_separator(folder):
    """Legacy nested arrays do not say that their keys are nested; zarr-python 2 must be told."""
    file = os.path.join(folder, ".zarray")
    with open(file) as f:
        doc = json.load(f)
    if "dimension_separator" not in doc and len(doc["shape"]) > 1 and os.path.isdir(
            os.path.join(folder, "0")):
        with open(file, "w") as f:
            json.dump({**doc, "dimension_separator": "/"}, f)


def single(book, path, data, encoded, config):
    """An array of version 2 that is one chunk."""
    folder = os.path.join(book.store, path)
    os.makedirs(folder)
    is_bytes = config["id"] in BYTES
    order = "F" if data.flags.f_contiguous and not data.flags.c_contiguous else "C"
    with open(os.path.join(folder, ".zarray"), "w") as f:
        json.dump({
            "zarr_format": 2, "shape": data.shape, "chunks": data.shape, "dtype": data.dtype.str,
            "fill_value": None,
            "order": order, "compressor": config if is_bytes else None,
            "filters": None if is_bytes else [config],
        }, f)
    shutil.copyfile(encoded, os.path.join(folder, ".".join("0" * data.ndim)))


def without_nan(data):
    """Objects as JSON can say them: NaN is a string there."""
    out = data.copy()
    for at in np.ndindex(out.shape):
        if isinstance(out[at], float) and np.isnan(out[at]):
            out[at] = "NaN"
    return out


def numcodecs_fixture(folder, out):
    book = Book(out, "corpus-numcodecs")
    zarr.open_group(book.store, "w")
    for file in sorted(glob.glob(os.path.join(folder, "**", "config.json"), recursive=True)):
        with open(file) as f:
            config = json.load(f)
        base = os.path.dirname(os.path.dirname(file))
        if config["id"] in UNSUPPORTED:
            book.skip(os.path.relpath(os.path.dirname(file), folder),
                f"codec {config['id']} is not among those to read")
            continue
        if config["id"] == "shuffle" and config["elementsize"] == 0:
            book.skip(os.path.relpath(os.path.dirname(file), folder),
                "netcdf-c means another thing by an elementsize of 0, and counts")
            continue
        for encoded in sorted(glob.glob(os.path.join(os.path.dirname(file), "encoded.*.dat"))):
            number = encoded.split(".")[-2]
            path = os.path.relpath(encoded[: -len(".dat")], folder)
            if config["id"] in OBJECTS or config.get("dtype") == "|O":
                # these are numcodecs' own
                data = np.load(os.path.join(base, f"array.{number}.npy"), allow_pickle=True)
                single(book, path, data.astype(object), encoded, config)
                book.add_lines(path, without_nan(data.astype(object)),
                    of_bytes=config["id"] == "vlen-bytes")
                continue
            try:
                data = np.load(os.path.join(base, f"array.{number}.npy"))
            except ValueError as err:
                book.skip(path, err)
                continue
            if config["id"] in LOSSY:
                with open(encoded, "rb") as f:
                    flat = numcodecs.get_codec(config).decode(f.read())
                order = "F" if data.flags.f_contiguous and not data.flags.c_contiguous else "C"
                data = np.asarray(flat).view(data.dtype).reshape(data.shape, order=order)
            single(book, path, data, encoded, config)
            book.add(path, data)
    book.close()


def c_blosc(folder, out):
    book = Book(out, "corpus-c-blosc")
    zarr.open_group(book.store, "w")
    data = np.arange(1000000, dtype="<i4")
    for file in sorted(glob.glob(os.path.join(folder, "*.cdata"))):
        path = os.path.basename(file)[: -len(".cdata")]
        single(book, path, data, file,
            {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0})
        book.add(path, data)
    book.close()


def main():
    corpora, out = sys.argv[1:3]
    warnings.simplefilter("ignore")
    missing = 0
    with unpacked(corpora) as tmp:
        for name, make in {"zarr-python-2": zarr2, "numcodecs": numcodecs_fixture,
                "c-blosc": c_blosc}.items():
            folder = find(os.path.join(tmp, name), NAMES[name])
            if folder:
                make(folder, out)
            else:
                missing += 1
                print(f"{name}: not in {corpora}", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
