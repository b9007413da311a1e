"""Writes vlen3.jsonl and vlen2.jsonl: objects of elements without a fixed size that zarr-python
stored.

    python vlen.py 3 > vlen3.jsonl     (zarr >= 3.1)
    python vlen.py 2 > vlen2.jsonl     (zarr 2, numcodecs)
Each line is {"name", "metadata", "object", "lines"}: an array of one object, its document, the
object in base64, and its elements in C order, each as a line of JSON.
"""
import base64
import json
import sys
import warnings

import numpy as np

warnings.simplefilter("ignore")

WORDS = ["", "plain", "grün", "名前 😀", 'quote " and \\', "two\nlines\t", "\x00\x01\x7f", "plain"]
BYTES = [b"", b"ab", b"\x00\xff", b"\n", b"abc", b"abcd", b"12345", b"ab"]
VALUES = ["text", 1, None, [1, "x"], {"a": {"b": 2}}, True, 2.5, ""]
LISTS = [[], [1], [2, 3], [100, -1], [], [7] * 5, [0], [1]]


def line(value):
    if isinstance(value, bytes):
        value = base64.b64encode(value).decode()
    if isinstance(value, np.ndarray):
        value = value.tolist()
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def objects(values, shape=(8,)):
    out = np.empty(8, object)
    out[:] = values
    return out.reshape(shape)


def emit(name, document, data, store):
    keys = [k for k in store if not k.split("/")[-1].startswith((".z", "zarr.json"))]
    assert len(keys) == 1, keys
    value = store[keys[0]]
    value = value.to_bytes() if hasattr(value, "to_bytes") else bytes(value)
    print(json.dumps({"name": name, "metadata": json.loads(document),
        "object": base64.b64encode(value).decode(),
                      "lines": [line(v) for v in data.ravel().tolist()]}))


def two():
    import numcodecs as n
    import zarr

    def write(name, values, codec, shape=(8,), order="C", filters=(), compressor=None):
        store = {}
        data = objects(values, shape)
        a = zarr.create(shape, chunks=shape, dtype=object, object_codec=codec, order=order,
            filters=list(filters),
                        compressor=compressor, store=store)
        a[...] = data
        emit(name, store[".zarray"], data, store)

    write("vlen-utf8", WORDS, n.VLenUTF8())
    write("vlen-utf8 in order F", WORDS, n.VLenUTF8(), (2, 4), "F")
    write("vlen-utf8 in order F of three axes", WORDS, n.VLenUTF8(), (2, 2, 2), "F",
        compressor=n.Zlib(1))
    write("vlen-utf8 and zstd", WORDS, n.VLenUTF8(), compressor=n.Zstd(1))
    write("vlen-utf8 and blosc", ["long " * 300] * 8, n.VLenUTF8(), compressor=n.Blosc("lz4"))
    write("vlen-utf8 and lz4", ["long " * 300] * 8, n.VLenUTF8(), compressor=n.LZ4())
    write("vlen-utf8 and lzma", ["long " * 300] * 8, n.VLenUTF8(), compressor=n.LZMA())
    write("vlen-utf8 and bz2", ["long " * 300] * 8, n.VLenUTF8(), compressor=n.BZ2())
    write("vlen-utf8 and a checksum", WORDS, n.VLenUTF8(), filters=[n.CRC32()])
    write("vlen-utf8, short", ["", "", "x", ""] * 2, n.VLenUTF8())
    write("vlen-bytes", BYTES, n.VLenBytes(), compressor=n.GZip(1))
    for t in ("<i4", ">i2", "|u1", "<u8", "<f4", "<f8", ">f8"):
        values = [np.array(np.abs(v) if "u" in t else v,
            t) / (1 if "f" not in t else np.array(8, t)) for v in LISTS]
        write("vlen-array of " + t, [v.astype(t) for v in values], n.VLenArray(t))
    write("json2", VALUES, n.JSON())
    write("json2 of two axes", VALUES, n.JSON(), (2, 4), compressor=n.Zlib(1))
    write("json2 with white space", VALUES,
        n.JSON(indent=2, separators=(", ", ": "), ensure_ascii=False))
    write("categorize", ["a", "grün", "a", "c", "c", "a", "grün", "c"],
        n.Categorize(["grün", "a", "c"], object))
    write("categorize in two bytes", ["a", "grün", "a", "c"] * 2,
        n.Categorize(["grün", "a", "c"], object, ">u2"), (4, 2), "F", compressor=n.Zlib(1))


def three():
    import zarr

    def write(name, values, dtype, shape=(8,), **kw):
        store = zarr.storage.MemoryStore()
        data = objects(values, shape)
        a = zarr.create_array(store, shape=shape, dtype=dtype, **kw)
        a[...] = data
        emit(name, store._store_dict["zarr.json"].to_bytes(), data, store._store_dict)

    write("string", WORDS, str, chunks=(8,))
    write("string, plain", WORDS, str, chunks=(8,), compressors=None)
    write("string of two axes", WORDS, str, (4, 2), chunks=(4, 2))
    write("string in shards", WORDS, str, (4, 2), chunks=(2, 1), shards=(4, 2))
    write("string in shards with holes", ["x", ""] * 4, str, (4, 2), chunks=(1, 1), shards=(4, 2),
        compressors=None)
    write("bytes", BYTES, "variable_length_bytes", chunks=(8,))
    write("bytes in shards", BYTES, "variable_length_bytes", chunks=(2,), shards=(8,))


{"2": two, "3": three}[sys.argv[1]]()
