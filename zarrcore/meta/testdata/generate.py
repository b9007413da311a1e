"""Writes the documents of real writers to <writer>.txtar, the inputs of the golden tests.

Run it once with each of two Python environments, in this folder:

    python generate.py v3    # zarr-python 3, tensorstore
    python generate.py v2    # zarr-python 2, numcodecs

A .txtar file is a sequence of documents, each after a line "-- NAME/KEY --".
"""

import json
import sys
import warnings

warnings.simplefilter("ignore")


def write(path, sections):
    with open(path, "wb") as f:
        for name, data in sections:
            f.write(b"-- %s --\n" % name.encode() + data + b"\n")


def zarr_python_3():
    import numcodecs
    import numpy as np
    import zarr
    from zarr.codecs import (
        BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, ShardingCodec, TransposeCodec, ZstdCodec,
    )

    out = []

    def keep(name, store, keys):
        for key in keys:
            if key in store._store_dict:
                out.append((name + "/" + key.rsplit("/", 1)[-1], store._store_dict[key].to_bytes()))

    def array(name, zarr_format=3, **spec):
        store = zarr.storage.MemoryStore()
        spec = {"shape": (7, 5), "chunks": (4, 5), "dtype": "int32"} | spec
        zarr.create_array(store, name="a", zarr_format=zarr_format, **spec)
        keep(name, store, ["a/zarr.json", "a/.zarray", "a/.zattrs"])

    names = "bool int8 uint64 float16 float64 complex64 >i4 >f8 S3 U2 >U2 V4 M8[10us] m8[ns] str"
    for dtype in names.split():
        array("type " + dtype, dtype=dtype)
    array("type struct", dtype=[("a", "<i4"), ("b", ">f8"), ("c", "S3")])
    array("type bytes", dtype=zarr.dtype.VariableLengthBytes())
    for name, dtype, fill in [
        ("nan", "f4", float("nan")), ("-inf", "f8", float("-inf")), ("uint64 max", "u8", 2**64 - 1),
        ("int64 min", "i8", -(2**63)),
        ("complex", "c16", complex(1.5, float("nan"))), ("string", "U2", "é"),
        ("bytes", "S3", b"ab\xff"), ("true", "bool", True),
        ("nat", "M8[s]", np.datetime64("NaT")), ("tenth", "f4", 0.1),
    ]:
        array("fill " + name, dtype=dtype, fill_value=fill)
    big = BytesCodec(endian="big")
    array("sharded", shape=(100, 100), chunks=(10, 5), shards=(50, 50))
    array("sharded big", dtype="uint16", serializer=ShardingCodec(chunk_shape=(2, 5),
        codecs=[big, ZstdCodec()], index_location="start"))
    array("sharded twice", dtype="uint16", shape=(64, 64), chunks=(32, 32),
        serializer=ShardingCodec(
        chunk_shape=(16, 16),
        codecs=[ShardingCodec(chunk_shape=(4, 4), codecs=[TransposeCodec(order=(1, 0)), big])]))
    array("transpose", shape=(3, 4, 5), chunks=(3, 4, 5), filters=[TransposeCodec(order=(2, 0, 1))])
    array("compressors",
        compressors=[BloscCodec(cname="zstd", typesize=4), GzipCodec(level=1), Crc32cCodec()])
    array("no compressor", compressors=None)
    array("keys", chunk_key_encoding={"name": "v2", "separator": "/"})
    array("keys dots", chunk_key_encoding={"name": "default", "separator": "."})
    array("names", dimension_names=["y", None])
    array("attributes", attributes={"units": "m", "valid": [float("nan"), float("inf")],
        "utf8": "é\u2028", "n": 2**70})
    array("rank 0", shape=(), chunks=())
    array("empty axis", shape=(0, 5), chunks=(4, 5))
    array("numcodecs", filters=[zarr.codecs.numcodecs.Delta(dtype="<i4")],
        compressors=[zarr.codecs.numcodecs.LZ4()])
    array("v2", 2, compressors=numcodecs.Blosc(), attributes={"a": 1})
    array("v2 separator", 2, chunk_key_encoding={"name": "v2", "separator": "/"}, order="F",
        compressors=None)
    array("v2 string", 2, dtype="str")
    array("v2 struct", 2, dtype=[("a", "<i4"), ("b", ">f8")])

    store = zarr.storage.MemoryStore()
    root = zarr.create_group(store, attributes={"title": "all", "x": {"y": None}})
    keep("group", store, ["zarr.json"])
    root.create_array("a", shape=(3,), chunks=(2,), dtype="u1")
    root.create_group("g")
    zarr.consolidate_metadata(store)
    keep("group consolidated", store, ["zarr.json"])
    store = zarr.storage.MemoryStore()
    zarr.create_group(store, zarr_format=2, attributes={"title": "all"})
    keep("group v2", store, [".zgroup", ".zattrs"])
    write("zarr-python-3.txtar", out)


def tensorstore():
    import tensorstore as ts

    out = []

    def array(name, driver="zarr3", field={}, **metadata):
        kv = ts.KvStore.open({"driver": "memory", "path": name.replace(" ", "_") + "/"},
            context=context).result()
        ts.open({"driver": driver, "kvstore": kv.spec(), "metadata": metadata} | field,
            context=context, create=True).result()
        for key in kv.list().result():
            out.append((name + "/" + key.decode(), kv.read(key).result().value))

    context = ts.Context()
    for dtype in ["bool", "int4", "int64", "uint8", "float32", "bfloat16", "float8_e5m2",
            "complex128"]:
        array("type " + dtype, shape=[7, 5], data_type=dtype)
    array("fill nan payload", shape=[3], data_type="float32", fill_value="0x7fc00001")
    array("fill -0", shape=[3], data_type="float64", fill_value=-0.0)
    array("fill inf", shape=[3], data_type="float16", fill_value="Infinity")
    array("fill complex", shape=[3], data_type="complex64", fill_value=["NaN", 1])
    array("fill u64", shape=[3], data_type="uint64", fill_value=18446744073709551615)
    array("big", shape=[3], data_type="uint16",
        codecs=[{"name": "bytes", "configuration": {"endian": "big"}}])
    array("transpose", shape=[3, 4], data_type="uint16",
        codecs=[{"name": "transpose", "configuration": {"order": [1, 0]}}, "bytes", "crc32c"])
    array("sharded", shape=[100, 100], data_type="uint16",
        chunk_grid={"name": "regular", "configuration": {"chunk_shape": [50, 50]}},
          codecs=[{"name": "sharding_indexed",
              "configuration": {"chunk_shape": [10, 10], "index_location": "start", "codecs": [
              {"name": "bytes", "configuration": {"endian": "big"}},
              {"name": "gzip", "configuration": {"level": 5}}]}}])
    array("keys", shape=[3], data_type="uint8",
        chunk_key_encoding={"name": "v2", "configuration": {"separator": "/"}})
    array("names", shape=[3, 4], data_type="uint8", dimension_names=["x", None],
        attributes={"dimension_units": ["4 nm", None]})
    array("rank 0", shape=[], data_type="uint8")
    array("v2", "zarr", shape=[3, 4], chunks=[3, 4], dtype=">f4",
        compressor={"id": "zstd", "level": 3}, fill_value="NaN")
    array("v2 struct", "zarr", {"field": "a"}, shape=[3], chunks=[3],
        dtype=[["a", "<i2"], ["b", "|u1", [2, 2]]], compressor=None, dimension_separator="/")
    array("v2 bfloat16", "zarr", shape=[3], chunks=[3], dtype="bfloat16",
        compressor={"id": "blosc"})
    write("tensorstore.txtar", out)


def zarr_python_2():
    import numcodecs
    import numpy as np
    import zarr
    from zarr import meta_v1

    out = []

    def array(name, attributes=None, **spec):
        store = {}
        spec = {"shape": (7, 5), "chunks": (4, 5), "dtype": "<i4"} | spec
        a = zarr.create(store=store, **spec)
        if attributes:
            a.attrs.put(attributes)
        for key in (".zarray", ".zattrs"):
            if key in store:
                out.append((name + "/" + key, bytes(store[key])))

    for dtype in ["|b1", "|i1", ">u2", "<f2", "<c16", "|S4", "<U3", ">U3", "|V5", "<M8[ns]",
            ">m8[25s]"]:
        array("type " + dtype, dtype=dtype)
    array("type struct",
        dtype=[("a", "<i2"), ("b", [("c", ">f4"), ("d", "S2")]), ("e", "<u1", (2, 3))])
    array("type object", dtype=object, object_codec=numcodecs.VLenUTF8())
    for name, dtype, fill in [("null", "<f8", None), ("nan", "<f4", np.nan),
        ("-inf", ">f8", -np.inf), ("u64", "<u8", 2**64 - 1),
                              ("bytes", "|S4", b"ab"), ("text", ">U3", "é"),
                              ("complex", "<c8", complex(1, np.nan)), ("bool", "|b1", True)]:
        array("fill " + name, dtype=dtype, fill_value=fill)
    array("fill struct", dtype=[("a", "<i2"), ("b", ">f4")],
        fill_value=np.array((1, 2.5), dtype=[("a", "<i2"), ("b", ">f4")])[()])
    array("order F", order="F", shape=(3, 4, 5), chunks=(2, 2, 5))
    array("order F rank 1", order="F", shape=3, chunks=2)
    array("separator", dimension_separator="/")
    array("filters", filters=[numcodecs.Delta("<i4", "<i2"), numcodecs.Shuffle(4)],
        compressor=numcodecs.LZMA(filters=[{"id": 33, "preset": 1}]))
    array("no compressor", compressor=None)
    array("rank 0", shape=(), chunks=())
    array("names", attributes={"_ARRAY_DIMENSIONS": ["y", "x"], "units": "m", "scale": float("nan"),
        "long_name": "é"})
    store = {}
    zarr.group(store=store).attrs["title"] = "all"
    out += [("group/" + key, bytes(store[key])) for key in (".zgroup", ".zattrs")]
    write("zarr-python-2.txtar", out)

    out.clear()
    for name, compression, opts, dtype, fill in [
        ("blosc", "blosc", {"cname": "lz4", "clevel": 5, "shuffle": 1}, "<f8", None),
        ("blosc name", "blosc", "zstd", "<i4", 1),
        ("zlib", "zlib", 1, ">i4", 42), ("bz2", "bz2", 9, "|b1", False),
        ("lzma", "lzma", 2, "<f4", np.nan),
        ("lzma options", "lzma", {"format": 1, "check": 0, "preset": None, "filters": None},
            "<f4", 0.5),
        ("none", "none", None, "|u1", 7), ("null", None, None, "|S3", None),
        ("zlib default", "zlib", None, "<i2", 0),
    ]:
        meta = dict(shape=(20, 20), chunks=(10, 10), dtype=np.dtype(dtype), compression=compression,
            compression_opts=opts, fill_value=fill, order="F" if name == "zlib" else "C")
        out.append((name + "/meta", meta_v1.encode_metadata(meta)))
        out.append((name + "/attrs", json.dumps({"name": name}, indent=4).encode()))
    write("zarr-python-1.txtar", out)


if sys.argv[1] == "v3":
    zarr_python_3()
    tensorstore()
else:
    zarr_python_2()
