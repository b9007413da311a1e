"""Writes what zarr-python 3.4.2 chooses for new arrays, which a recipe must choose too.

chunks.json: [shape, bytes of an element, chunks, chunks in automatic shards, automatic shards] for
many shapes. documents.json: settings, shape and type, and the documents of the array.

Run it in this folder with a Python that has zarr 3.4.2; 3.1.6 writes the same but for structured
types:

    python generate.py
"""

import json
import random
import warnings

import numcodecs
import numpy as np
import zarr
from zarr.codecs import BloscCodec, Crc32cCodec, GzipCodec, TransposeCodec, ZstdCodec
from zarr.codecs import numcodecs as v3
from zarr.core.dtype import VariableLengthBytes

warnings.simplefilter("ignore")
random.seed(5)


def created(**spec):
    store = zarr.storage.MemoryStore()
    return zarr.create_array(store, name="a", **spec), store._store_dict


def chunks(shape, size):
    plain, _ = created(shape=shape, dtype="V%d" % size)
    sharded, _ = created(shape=shape, dtype="V%d" % size, shards="auto")
    return [shape, size, plain.chunks, sharded.chunks, sharded.shards]


SHAPES = [(), (0,), (1,), (10,), (1000,), (10**6,), (10**9,), (2**62,), (0, 5), (5, 0), (7, 9),
    (100, 100), (1024, 1024), (4096, 4096),
          (10000, 10000), (1000, 1000, 1000), (1024, 1024, 1024), (365, 721, 1440), (1, 10**8),
          (10**8, 1), (3, 10**7, 3), (2,) * 20,
          (1, 1, 1, 1), (123456789, 17), (65536, 65536, 65536), (8, 16, 32, 64, 128), (33, 9),
          (72, 720, 7200), (2**40, 2**40)]
with open("chunks.json", "w") as f:
    cases = [chunks(shape, size) for shape in SHAPES for size in (1, 2, 4, 8, 16, 1000)]
    cases += [chunks((10,), 200 << 20 >> 2), chunks((3, 3), 5 << 20)]
    cases += [chunks((2**e * 10**d,), 1) for e in range(0, 30, 3) for d in range(5)]
    for _ in range(300):
        rank = random.randrange(1, 6)
        cases.append(chunks(tuple(int(10 ** random.uniform(0, 14 / rank)) for _ in range(rank)),
            random.choice([1, 2, 3, 4, 8, 12, 16])))
    f.write("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")

out = []


def case(fmt, shape, dtype, settings, order="C", **spec):
    """a recipe of settings, and the arguments of zarr.create_array that mean the same"""
    if fmt == 3:
        if order == "F" and len(shape) > 1:
            spec["filters"] = [TransposeCodec(order=tuple(reversed(range(len(shape)))))]
        if isinstance(dtype, str) and dtype[0] == ">":
            spec["serializer"] = zarr.codecs.BytesCodec(endian="big")
    else:
        # zarr 3 reads order F of no axes as one axis
        spec["order"] = order if len(shape) > 1 else "C"
    if not isinstance(dtype, str):
        dtype, spelled = np.dtype([(name, kind) for name, kind in dtype]), dtype
        if fmt == 3 and dtype[0].str[0] == ">":
            spec["serializer"] = zarr.codecs.BytesCodec(endian="big")
    elif not dtype[0].isalpha() and np.dtype(dtype).kind in "Mm":
        spec.setdefault("fill_value", np.zeros((), dtype)[()])
    if isinstance(dtype, str):
        spelled = dtype
    made = (
        VariableLengthBytes()
        if isinstance(dtype, str)
        and dtype == "variable_length_bytes"
        else dtype
    )
    _, objects = created(shape=shape, dtype=made, zarr_format=fmt, **spec)
    documents = {k[2:]: v.to_bytes().decode() for k, v in objects.items() if k.startswith("a/")}
    out.append({"settings": {"format": str(fmt)} | settings, "shape": shape, "type": spelled,
        "fortran": order == "F", "documents": documents})


for fmt in 2, 3:
    for dtype in ["|b1", "|i1", "<u2", ">f4", "<f8", "<c16", "|S7", "<U3", "|V12",
            "<M8[ns]", ">m8[D]"]:
        case(fmt, (1000, 2000), dtype, {})
    for fields in [["a", "<i4"], ["b", "|S3"], ["c", "<f2"]], [["x", ">f8"], ["y", ">U2"]], [
            ["only", "|b1"]]:
        case(fmt, (1000, 2000), fields, {})
    for shape in (), (0,), (100,), (200, 300, 400):
        for order in "CF":
            case(fmt, shape, "<f4", {}, order)
    case(fmt, (100, 100), "<f4", {"chunks": "64,32"}, chunks=(64, 32))
    case(fmt, (100, 100), "<f4", {"fill_value": "NaN"}, fill_value=float("nan"))
    case(fmt, (100, 100), "<f4", {"fill_value": "\"-Infinity\""}, fill_value=float("-inf"))
    case(fmt, (100, 100), "<u8", {"fill_value": "18446744073709551615"}, fill_value=2**64 - 1)
    case(fmt, (100, 100), "|b1", {"fill_value": "true"}, fill_value=True)
    case(fmt, (100, 100), "<U2", {"fill_value": '"ab"'}, fill_value="ab")
    for dtype in "<f4", "<U2":
        case(fmt, (100, 100), dtype, {"fill_value": "null"}, fill_value=None)
    case(fmt, (100, 100), "<f4", {"codecs": "none"}, compressors=None)
    for dtype in "string", "variable_length_bytes":
        case(fmt, (), dtype, {})
        case(fmt, (10**6, 30), dtype, {})
        case(fmt, (100, 100), dtype, {"codecs": "none"}, compressors=None)
        case(fmt, (100,), dtype, {"codecs": "gzip:3"},
            compressors=GzipCodec(level=3) if fmt == 3 else numcodecs.GZip(3))
    case(fmt, (100,), "string", {"fill_value": '"é"'}, fill_value="é")
    case(fmt, (100,), "variable_length_bytes", {"fill_value": '"YWI="'}, fill_value=b"ab")
    for separator in "./":
        encoding = {"name": "v2" if fmt == 2 else "default", "separator": separator}
        case(fmt, (100, 100), "<f4", {"dimension_separator": separator},
            chunk_key_encoding=encoding)

for settings, codec in [("zstd", numcodecs.Zstd()), ("zstd:3", numcodecs.Zstd(3)),
    ("gzip", numcodecs.GZip()), ("gzip:9", numcodecs.GZip(9)),
                        ("blosc", numcodecs.Blosc()), ("blosc:zstd", numcodecs.Blosc("zstd")),
                        ("blosc:lz4:7", numcodecs.Blosc("lz4", 7)),
                        ("blosc:zlib:1:bitshuffle", numcodecs.Blosc("zlib", 1, 2)),
                        ("zlib:4", numcodecs.Zlib(4)), ("bz2", numcodecs.BZ2()),
                        ("lz4:2", numcodecs.LZ4(2)),
                        ('[{"id": "zstd", "level": 5}]', numcodecs.Zstd(5)),
                        ('[{"name": "bytes"}, {"name": "blosc", "configuration": {"typesize": 4, '
                            '"cname": "lz4", "shuffle": "noshuffle"}}]',
                         numcodecs.Blosc("lz4", 5, 0))]:
    case(2, (100, 100), "<f4", {"codecs": settings}, compressors=codec)
case(2, (100, 100), "<f4",
     {"codecs": '[{"id": "delta", "dtype": "<f4", "astype": "<f4"}, {"id": "shuffle", '
         '"elementsize": 4}, {"id": "zlib"}]'},
     filters=[numcodecs.Delta("<f4"), numcodecs.Shuffle(4)], compressors=numcodecs.Zlib())

for settings, codecs in [("zstd", [ZstdCodec()]), ("zstd:-3", [ZstdCodec(level=-3)]),
    ("gzip", [GzipCodec()]), ("gzip:0", [GzipCodec(level=0)]),
                         ("blosc", [BloscCodec()]), ("blosc:lz4:5:shuffle",
                             [BloscCodec(cname="lz4", clevel=5, shuffle="shuffle")]),
                         ("blosc:lz4hc:9:noshuffle",
                             [BloscCodec(cname="lz4hc", clevel=9, shuffle="noshuffle")]),
                         ("lz4:2", [v3.LZ4(acceleration=2)]), ("bz2", [v3.BZ2()]),
                         ("zlib:4", [v3.Zlib(level=4)]),
                         ('["bytes", {"name": "gzip"}, "crc32c"]', [GzipCodec(), Crc32cCodec()]),
                         ('[{"name": "zstd", "configuration": {"level": 5}}]',
                             [ZstdCodec(level=5)])]:
    for dtype in ["<f4"] + ["|u1"] * settings.startswith("blosc"):
        case(3, (100, 100), dtype, {"codecs": settings}, compressors=codecs)
case(3, (1000, 3000), "<f4", {"shards": "auto"}, shards="auto")
case(3, (1000, 3000), "<f4", {"shards": "none"})
case(3, (1000, 3000), "string", {"shards": "512,512", "chunks": "64,128"}, shards=(512, 512),
    chunks=(64, 128))
case(3, (1000, 3000), ">f8", {"shards": "512,512", "chunks": "64,128", "codecs": "gzip"}, "F",
    shards=(512, 512), chunks=(64, 128), compressors=GzipCodec())
case(3, (4000, 3000), "<f4", {"shards": "auto", "chunks": "64,128"}, shards="auto",
    chunks=(64, 128))

with open("documents.json", "w") as f:
    f.write("[\n" + ",\n".join(json.dumps(c) for c in out) + "\n]\n")
