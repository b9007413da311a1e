"""Writes chains3.jsonl and chains2.jsonl: objects that tensorstore, zarr-python 3 and zarr-python 2
stored.

    python chains.py 3 > chains3.jsonl     (tensorstore, zarr >= 3.1)
    python chains.py 2 > chains2.jsonl     (zarr 2, numcodecs)
Each line is {"name", "writer", "metadata", "object", "decoded"}: an array of one object, its
document, the object as stored, and its elements in C order and in the byte order of the document,
both in base64. Data are made of a fixed seed.
"""
import base64
import json
import sys
import warnings

import numpy as np

warnings.simplefilter("ignore")
rng = np.random.RandomState(7)


def b64(b):
    return base64.b64encode(bytes(b)).decode()


def data(dtype, shape, holes=True):
    """Smooth numbers; where holes are wanted, the first half of the first axis and a corner are
    zero.
    """
    n = int(np.prod(shape, dtype=int))
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        a = (rng.rand(n) < .5).reshape(shape)
    elif dtype.kind in "fc":
        a = (np.arange(n) * .25 + rng.randint(0, 4, n)).astype(dtype).reshape(shape)
    else:
        a = (np.arange(n) * 3 % 120 + 1).astype(dtype).reshape(shape)
    if not shape:
        a[...] = 3.5
    if holes and len(shape) > 1:
        a[: shape[0] // 2, : shape[1] // 2] = 0
    return a


def sharding(chunk, codecs, index=None, location="end"):
    return {"name": "sharding_indexed", "configuration": {
        "chunk_shape": chunk, "codecs": codecs, "index_location": location,
        "index_codecs": index or [LITTLE, {"name": "crc32c"}]}}


def transpose(*order):
    return {"name": "transpose", "configuration": {"order": list(order)}}


def codec(name, **configuration):
    return {"name": name, "configuration": configuration}


LITTLE, BIG = codec("bytes", endian="little"), codec("bytes", endian="big")
BLOSC = codec("blosc", cname="lz4", clevel=5, shuffle="shuffle", typesize=2, blocksize=0)
BLOCKS = codec("blosc", cname="zstd", clevel=5, shuffle="bitshuffle", typesize=2, blocksize=1024)

CHAINS3 = [
    # name, dtype, shape, codecs
    ("bytes", "int16", (4, 6), [LITTLE]),
    ("big", "int16", (4, 6), [BIG]),
    ("complex big", "complex64", (3, 4), [BIG]),
    ("scalar", "float64", (), [LITTLE]),
    ("transpose", "uint16", (4, 6, 5), [transpose(2, 0, 1), BIG]),
    ("two transposes", "uint8", (4, 6, 5),
        [transpose(2, 0, 1), transpose(0, 2, 1), codec("bytes")]),
    ("transposes that cancel", "uint8", (4, 6, 5),
        [transpose(2, 0, 1), transpose(1, 2, 0), codec("bytes"), codec("gzip", level=5)]),
    ("gzip", "int32", (10, 10), [LITTLE, codec("gzip", level=5)]),
    ("zstd", "float32", (10, 10), [LITTLE, codec("zstd", level=3, checksum=True)]),
    ("blosc", "int16", (10, 10), [LITTLE, BLOSC]),
    ("blosc blocks", "int16", (64, 128), [LITTLE, BLOCKS]),
    ("shards of blosc blocks", "int16", (64, 128), [sharding([32, 128], [LITTLE, BLOCKS])]),
    ("crc32c", "int16", (10, 10), [LITTLE, codec("crc32c")]),
    ("transpose, zstd, crc32c", "float32", (10, 12),
        [transpose(1, 0), LITTLE, codec("zstd", level=1), {"name": "crc32c"}]),
    ("gzip twice", "int16", (10, 10), [LITTLE, codec("gzip", level=1), codec("gzip", level=1)]),
    ("transpose, gzip, zstd", "int16", (10, 10),
        [transpose(1, 0), LITTLE, codec("gzip", level=1), codec("zstd", level=1)]),
    ("shards", "int16", (8, 12), [sharding([2, 3], [LITTLE, codec("gzip", level=1)])]),
    ("shards, plain", "int16", (8, 12), [sharding([2, 3], [LITTLE])]),
    ("shards, index at start", "int16", (8, 12),
        [sharding([2, 3], [LITTLE, codec("zstd", level=1)], location="start")]),
    ("shards, big index without checksum", "int16", (8, 12),
        [sharding([4, 4], [BIG, BLOSC], [BIG])]),
    ("shards, transposed index", "int16", (8, 12),
        [sharding([4, 4], [BIG], [transpose(2, 0, 1), LITTLE])]),
    ("transposed shards", "int16", (8, 12, 4), [transpose(2, 0, 1), sharding([2, 4, 3], [LITTLE])]),
    ("transposed shards and chunks", "int16", (8, 12, 4), [transpose(2, 0, 1),
        sharding([2, 4, 3], [transpose(1, 2, 0), LITTLE, codec("gzip", level=1)])]),
    ("nested shards", "uint16", (12, 8),
        [sharding([6, 4], [sharding([3, 2], [LITTLE, codec("crc32c")], location="start")])]),
    ("nested transposed shards", "uint16", (12, 8, 6), [
        transpose(1, 2, 0), sharding([4, 6, 6], [transpose(2, 0, 1),
            sharding([3, 2, 3], [transpose(2, 1, 0), BIG, codec("gzip", level=1)])])]),
    ("compressed shards", "int16", (8, 12), [sharding([2, 3], [LITTLE]), codec("gzip", level=1)]),
    ("transposed, compressed, nested shards", "int16", (8, 12), [
        transpose(1, 0),
        sharding([4, 4], [transpose(1, 0), sharding([2, 2], [LITTLE, codec("zstd", level=1)])]),
        codec("crc32c")]),
    ("shards of compressed shards", "int16", (8, 12),
        [sharding([4, 6], [sharding([2, 3], [LITTLE]), codec("zstd", level=1)])]),
    ("numcodecs.gzip", "int16", (10, 10), [LITTLE, codec("numcodecs.gzip", level=1)]),
    ("numcodecs.zlib", "int16", (10, 10), [LITTLE, codec("numcodecs.zlib", level=1)]),
    ("numcodecs.zstd", "int16", (10, 10), [LITTLE, codec("numcodecs.zstd", level=1)]),
    ("numcodecs.lz4", "int16", (10, 10), [LITTLE, codec("numcodecs.lz4", acceleration=1)]),
    ("numcodecs.bz2", "int16", (10, 10), [LITTLE, codec("numcodecs.bz2", level=1)]),
    ("numcodecs.lzma", "int16", (10, 10),
        [LITTLE, codec("numcodecs.lzma", format=1, check=-1, preset=None, filters=None)]),
    ("numcodecs.blosc", "int16", (10, 10),
        [LITTLE, codec("numcodecs.blosc", cname="zlib", clevel=5, shuffle=2, blocksize=0)]),
    ("numcodecs.shuffle", "int32", (10, 10),
        [LITTLE, codec("numcodecs.shuffle", elementsize=4), codec("numcodecs.zlib", level=1)]),
    ("numcodecs.crc32", "int32", (10, 10), [LITTLE, codec("numcodecs.crc32")]),
    ("numcodecs.adler32", "int32", (10, 10), [LITTLE, codec("numcodecs.adler32")]),
    ("numcodecs.crc32c", "int32", (10, 10), [LITTLE, codec("numcodecs.crc32c")]),
    ("numcodecs.fletcher32", "int32", (10, 10), [LITTLE, codec("numcodecs.fletcher32")]),
    ("numcodecs.jenkins_lookup3", "int32", (10, 10),
        [LITTLE, codec("numcodecs.jenkins_lookup3", initval=5)]),
    ("numcodecs.delta", "int32", (10, 10), [codec("numcodecs.delta", dtype="int32"), LITTLE]),
    ("numcodecs.delta to i1", "int32", (10, 10),
        [codec("numcodecs.delta", dtype="<i4", astype="|i1"), codec("bytes")]),
    ("numcodecs.fixedscaleoffset", "float64", (10, 10), [
        codec("numcodecs.fixedscaleoffset", scale=4, offset=0, dtype="<f8", astype="<i4"), LITTLE]),
    ("numcodecs.quantize", "float64", (10, 10),
        [codec("numcodecs.quantize", digits=3, dtype="<f8"), LITTLE]),
    ("numcodecs.bitround", "float32", (10, 10), [codec("numcodecs.bitround", keepbits=20), LITTLE]),
    ("numcodecs.astype", "float64", (10, 10),
        [codec("numcodecs.astype", encode_dtype="<f4", decode_dtype="<f8"), LITTLE]),
]

TENSORSTORE = {"bytes", "transpose", "sharding_indexed", "blosc", "gzip", "zstd", "crc32c"}


def store3(name, dtype, shape, codecs):
    a = data(dtype, shape)
    doc = {"zarr_format": 3, "node_type": "array", "shape": list(shape), "data_type": dtype,
        "fill_value": [0, 0] if "complex" in dtype else 0,
           "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(shape)}},
           "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
           "codecs": codecs, "attributes": {}}
    key = "/".join(["c"] + ["0"] * len(shape))
    if "compressed" not in name and all(c["name"] in TENSORSTORE for c in codecs):
        writer, raw = "tensorstore", by_tensorstore(doc, a, key)
    else:
        writer, raw = "zarr-python 3", by_zarr3(doc, a, key)
    endian = ">" if big_inside(codecs) else "<"
    print(json.dumps({"name": name, "writer": writer, "metadata": doc, "object": b64(raw),
        "decoded": b64(a.astype(a.dtype.newbyteorder(endian)).tobytes())}))


def big_inside(codecs):
    """Whether the innermost bytes codec is big-endian."""
    for c in codecs:
        if c["name"] == "sharding_indexed":
            return big_inside(c["configuration"]["codecs"])
        if c["name"] == "bytes":
            return c == BIG
    return False


def by_tensorstore(doc, a, key):
    import tensorstore as ts
    context = ts.Context()
    kvstore = {"driver": "memory", "path": "a/"}
    array = ts.open({"driver": "zarr3", "kvstore": kvstore, "metadata": {k: v
        for k, v in doc.items() if k != "attributes"}}, create=True, context=context).result()
    array.write(a).result()
    return ts.KvStore.open(kvstore, context=context).result().read(key).result().value


def by_zarr3(doc, a, key):
    import zarr
    from zarr.core.buffer import default_buffer_prototype
    import asyncio
    import zarr.codecs.numcodecs  # noqa: F401 registers them
    memory = {}
    store = zarr.storage.MemoryStore(memory)
    proto = default_buffer_prototype()
    asyncio.run(store.set("zarr.json", proto.buffer.from_bytes(json.dumps(doc).encode())))
    zarr.open_array(store, mode="r+")[...] = a
    return memory[key].to_bytes()


def store2(name, dtype, shape, order="C", **kw):
    import zarr
    a = data(dtype, shape)
    store = {}
    z = zarr.create(shape, chunks=shape, dtype=dtype, order=order, store=store, overwrite=True,
        fill_value=0, **kw)
    z[...] = a
    doc = json.loads(store[".zarray"])
    print(json.dumps({"name": name, "writer": "zarr-python 2", "metadata": doc,
        "object": b64(store[".".join("0" * max(1, len(shape)))]), "decoded": b64(a.tobytes())}))


def chains2():
    from numcodecs import (BZ2, CRC32, LZ4, LZMA, Adler32, AsType, Base64, BitRound, Blosc, Delta,
        FixedScaleOffset, Fletcher32, GZip, PackBits,
                           Quantize, Shuffle, Zlib, Zstd)
    store2("raw", "<i2", (4, 6), compressor=None)
    store2("raw F", ">i2", (4, 6, 3), "F", compressor=None)
    store2("scalar", "<f8", (), compressor=Zlib(1))
    for c in (Zlib(1), GZip(1), BZ2(1), LZ4(), Zstd(1), LZMA(), LZMA(format=2),
            Blosc("zstd", 3, 2), Base64()):
        store2(c.codec_id, "<i2", (10, 10), compressor=c)
    store2("lzma raw", "<i2", (10, 10),
        compressor=LZMA(format=3, filters=[{"id": 3, "dist": 2}, {"id": 33, "preset": 1}]))
    store2("delta F big", ">i4", (10, 12), "F", filters=[Delta(">i4")], compressor=Zlib(1))
    store2("delta, delta", "<i8", (10, 12), filters=[Delta("<i8"), Delta("<i8")],
        compressor=Zlib(1))
    store2("delta of datetimes", "<M8[s]", (30,), filters=[Delta("<i8")], compressor=None)
    store2("shuffle among filters", "<i4", (10, 12), "F", filters=[Delta("<i4"), Shuffle(4)],
        compressor=Zlib(1))
    store2("shuffle before delta", "<i4", (10, 12), filters=[Shuffle(4), Delta("|u1")],
        compressor=Zlib(1))
    store2("checksum as filter", "<i4", (10, 12), filters=[Fletcher32()], compressor=Zlib(1))
    store2("compressor as filter", "<i4", (10, 12), "F", filters=[Zstd(1)], compressor=Zlib(1))
    store2("compressor as filter alone", "<i4", (10, 12), filters=[Zstd(1)], compressor=None)
    store2("checksums", "<i4", (10, 12), filters=[CRC32(), Adler32(), Fletcher32()],
        compressor=None)
    store2("checksums elsewhere", "<i4", (10, 12),
        filters=[CRC32(location="end"), Adler32(location="end")], compressor=None)
    store2("checksum as compressor", "<i4", (10, 12), compressor=CRC32())
    store2("fixedscaleoffset", ">f8", (10, 12), "F",
        filters=[FixedScaleOffset(dtype=">f8", astype="<i4", offset=1, scale=4)], compressor=LZ4())
    store2("quantize", "<f8", (10, 12), filters=[Quantize(3, "<f8", "<f4")], compressor=LZ4())
    store2("astype, delta", "<f8", (10, 12), filters=[AsType("<f4", "<f8"), Delta("<f4")],
        compressor=LZ4())
    store2("bitround", "<f4", (10, 12), filters=[BitRound(21)], compressor=LZ4())
    store2("packbits", "|b1", (10, 13), "F", filters=[PackBits()], compressor=LZ4())
    store2("packbits, delta", "|b1", (10, 13), filters=[PackBits(), Delta("|u1")], compressor=None)
    store2("strings", "<U3", (4, 5), "F", compressor=Zlib(1))


if sys.argv[1] == "3":
    for chain in CHAINS3:
        store3(*chain)
else:
    chains2()
