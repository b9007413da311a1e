"""Writes documents that zarr-python 3 makes for new arrays and groups to documents.txtar, which
ours must equal.

Run it in this folder with a Python that has zarr 3:

    python generate.py
"""

import itertools
import warnings

import numcodecs
import numpy as np
import zarr
from zarr.codecs import BloscCodec, Crc32cCodec, GzipCodec, TransposeCodec, ZstdCodec

warnings.simplefilter("ignore")

NUMBERS = {"b": [True], "i": [-1, "min"], "u": [7, "max"],
    "f": [0.1, 1e30, -0.0, float("nan"), float("inf"), float("-inf"), 3e-7],
           "c": [1 - 2j, complex(0.1, float("nan"))], "M": [5, "NaT"], "m": [-5, "NaT"]}
TYPES = ["|b1", "|i1", "|u1"] + [o + t for o in "<>"
    for t in "i2 i4 i8 u2 u4 u8 f2 f4 f8 c8 c16 M8[ns] M8[10us] M8 m8[s] U3".split()]
TYPES += ["|S5", "|V4"]
TEXTS = {"U": ["é\U0001f600", '"\\\n'], "S": [b"ab\x00\xff"], "V": [b"ab\x00\xff"]}
ATTRIBUTES = {"units": "m/s", "é\x7f": float("nan"), "list": [1, 2.5, {}, [], None, True],
    "deep": {"a": {"b": [float("-inf")]}}}

out = []
number = 0


def keep(name, write):
    global number
    number += 1
    store = zarr.storage.MemoryStore()
    write(store)
    for key, data in sorted(store._store_dict.items()):
        if key.startswith("a/"):
            out.append(b"-- %03d %s/%s --\n" % (number, name.encode(), key[2:].encode()) +
                data.to_bytes() + b"\n")


def array(name, fmt, **spec):
    spec = {"shape": (7, 5), "chunks": (4, 5), "dtype": "<i4"} | spec
    keep("%s v%d" % (name, fmt),
        lambda store: zarr.create_array(store, name="a", zarr_format=fmt, **spec))


def values(dtype):
    for v in NUMBERS.get(dtype.kind, []):
        if dtype.kind in "iu" and isinstance(v, str):
            v = getattr(np.iinfo(dtype), v)
        if dtype.kind in "Mm":
            v = np.array(v, "i8" if v != "NaT" else "M8[s]").astype("i8").astype(dtype)[()]
        elif dtype == np.float16 and v == 1e30:
            v = 65504
        yield v
    yield from TEXTS.get(dtype.kind, [])


for fmt in 2, 3:
    for t in TYPES:
        dtype = np.dtype(t)
        serializer = (
            {"serializer": zarr.codecs.BytesCodec(endian="big")}
            if fmt == 3
            and t[0] == ">"
            else {}
        )
        zero = {"fill_value": np.zeros((), dtype)[()]} if dtype.kind in "Mm" else {}
        array("default " + t, fmt, dtype=dtype, **serializer, **zero)
        for v in values(dtype):
            array("fill %s %s" % (t, ascii(v.tolist() if isinstance(v, np.generic) else v)), fmt,
                dtype=dtype, fill_value=v, **serializer)
    for attributes, separator, compressors in itertools.product(
            [{}, ATTRIBUTES], ["/", "."],
            ["auto", None, numcodecs.Blosc() if fmt == 2 else BloscCodec()]):
        encoding = {"name": "v2" if fmt == 2 else "default", "separator": separator}
        array("options", fmt, attributes=attributes, chunk_key_encoding=encoding,
            compressors=compressors)
    for shape in (), (0,), (3, 0), (2, 3, 4):
        array("shape", fmt, shape=shape, chunks=tuple(max(n, 1) for n in shape))
array("order", 2, order="F")
array("filters", 2, filters=[numcodecs.Delta("<i4"), numcodecs.Shuffle(4)],
    compressors=numcodecs.GZip(3))
array("filter alone", 2, filters=[numcodecs.Delta("<i4")], compressors=None)
array("struct", 2, dtype=[("a", "<i4"), ("b", "S3"), ("n", [("z", ">f4")])])
array("order", 3, filters=[TransposeCodec(order=(1, 0))])
array("names", 3, dimension_names=["x", None])
array("codecs", 3,
    compressors=[GzipCodec(level=9), ZstdCodec(level=3, checksum=True), Crc32cCodec()])
array("shards", 3, shards=(8, 10), chunks=(4, 5))
array("shards order", 3, shards=(8, 10), chunks=(4, 5), filters=[TransposeCodec(order=(1, 0))],
    dimension_names=["x", "y"])
for fmt, attributes in itertools.product([2, 3], [{}, ATTRIBUTES]):
    keep("group v%d" % fmt,
        lambda store: zarr.create_group(store, path="a", zarr_format=fmt, attributes=attributes))

with open("documents.txtar", "wb") as f:
    f.writelines(out)
