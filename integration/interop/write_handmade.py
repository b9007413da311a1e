"""Documents and chunks that are legal but that no library at hand writes, made by hand from the
specification.
"""

import base64
import bz2
import gzip
import json
import lzma
import os
import zlib

import numcodecs
import numpy as np

from book import Book
from cases import sample

SHAPE, CHUNK = (5, 4), (3, 4)  # two chunks, the second one cut at the edge


def v3(data_type, shape=SHAPE, chunk=CHUNK, fill=0, codecs=None, **extra):
    return {
        "zarr_format": 3, "node_type": "array", "shape": list(shape), "data_type": data_type,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(chunk)}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": fill,
        "codecs": codecs or [{"name": "bytes", "configuration": {"endian": "little"}}], **extra,
    }


def v2(dtype, shape=SHAPE, chunk=CHUNK, fill=0, **extra):
    return {"zarr_format": 2, "shape": list(shape), "chunks": list(chunk), "dtype": dtype,
        "fill_value": fill,
            "order": "C", "compressor": None, "filters": None, **extra}


def put(book, path, document, objects, text=None):
    """Write one array's document and objects."""
    folder = os.path.join(book.store, path)
    os.makedirs(folder, exist_ok=True)
    name = "zarr.json" if document["zarr_format"] == 3 else ".zarray"
    with open(os.path.join(folder, name), "w") as f:
        f.write(text or json.dumps(document))
    for key, value in objects.items():
        os.makedirs(os.path.dirname(os.path.join(folder, key)), exist_ok=True)
        with open(os.path.join(folder, key), "wb") as f:
            f.write(value)


def array(book, path, document, data, fill, encode=bytes, text=None):
    """An array whose first chunk is there and whose second is missing: fill is one element."""
    want = data.copy()
    want[CHUNK[0]:] = np.frombuffer(fill, data.dtype)[0]
    key = "c/0/0" if document["zarr_format"] == 3 else "0.0"
    put(book, path, document, {key: encode(data[: CHUNK[0]].tobytes())}, text)
    book.add(path, want)


def floats(book):
    """Fill values as bit patterns: payload, signalling and negative NaN."""
    for name, dtype, bits in (
        ("float16", "<f2", ["0x7e01", "0x7c01", "0xfe00", "0x8000"]),
        ("float32", "<f4", ["0x7fc00001", "0x7f800001", "0xffc00000", "0x80000000"]),
        ("float64", "<f8", ["0x7ff8000000000001", "0x7ff0000000000001", "0xfff8000000000000",
            "0x0000000000000001"]),
    ):
        size = np.dtype(dtype).itemsize
        for text in bits:
            fill = int(text, 16).to_bytes(size, "little")
            array(book, f"fill_{name}/{text}", v3(name, fill=text), sample(dtype, SHAPE), fill)
            pair = v3("complex" + str(16 * size), fill=[text, "-Infinity"])
            if size > 2:
                data = sample(f"<c{2 * size}", SHAPE)
                array(book, f"fill_complex/{text}", pair, data,
                    fill + np.array(-np.inf, dtype).tobytes())
    big = [{"name": "bytes", "configuration": {"endian": "big"}}]
    array(book, "fill_big", v3("float32", fill="0x7fc00001", codecs=big), sample(">f4", SHAPE),
        bytes.fromhex("7fc00001"))


def raw_types(book):
    for bits in (8, 24, 64, 136):
        n = bits // 8
        fill = bytes(range(1, n + 1))
        document = v3(f"r{bits}", fill=list(fill), codecs=[{"name": "bytes"}])
        array(book, f"raw/r{bits}", document, sample(f"|V{n}", SHAPE), fill)


def structs(book):
    """Registered `struct` in both byte orders and nested; legacy `structured` is what zarr-python
    writes.
    """
    fields = [
        {"name": "a", "data_type": "uint16"},
        {"name": "n", "data_type": {"name": "struct", "configuration": {"fields": [
            {"name": "x", "data_type": "float32"}, {"name": "y", "data_type": {"name": "int8"}}]}}},
        {"name": "b", "data_type": "bool"},
    ]
    document = {"name": "struct", "configuration": {"fields": fields}}
    fill = {"a": 258, "n": {"x": "NaN", "y": -1}, "b": True}
    for order, label in (("<", "little"), (">", "big")):
        dtype = np.dtype([("a", order + "u2"), ("n", [("x", order + "f4"), ("y", "|i1")]),
            ("b", "|b1")])
        value = np.array((258, (np.nan, -1), True), dtype)
        codecs = [{"name": "bytes", "configuration": {"endian": label}}]
        array(book, f"struct/{label}", v3(document, fill=fill, codecs=codecs), sample(dtype, SHAPE),
            value.tobytes())
    legacy = {"name": "structured", "configuration": {"fields": [["a", "int32"], ["b", "float64"]]}}
    dtype = np.dtype([("a", "<i4"), ("b", "<f8")])
    value = np.array((7, 1.5), dtype).tobytes()
    document = v3(legacy, fill=base64.b64encode(value).decode(), codecs=[{"name": "bytes"}])
    array(book, "struct/legacy", document, sample(dtype, SHAPE), value)


def spellings(book):
    """Ways to write a v3 document that a reader must take."""
    data, zero = sample("<f8", SHAPE), bytes(8)
    plain = v3("float64")
    array(book, "spelled/type_object", v3({"name": "float64"}), data, zero)
    array(book, "spelled/type_configuration",
        v3({"name": "float64", "configuration": {}}), data, zero)
    array(book, "spelled/extra_key",
        {**plain, "note": {"must_understand": False, "x": 1}}, data, zero)
    array(book, "spelled/transformers", {**plain, "storage_transformers": []}, data, zero)
    array(book, "spelled/names",
        {**plain, "dimension_names": ["x", None], "attributes": {"a": 1}}, data, zero)
    array(book, "spelled/endian_codec", v3("float64",
        codecs=[{"name": "endian", "configuration": {"endian": "little"}}]), data, zero)
    array(book, "spelled/bare_codec", v3("uint8", codecs=["bytes"]), sample("|u1", SHAPE), b"\0")
    array(book, "spelled/key_text",
        {**plain, "chunk_key_encoding": {"name": "default", "configuration": {}}}, data, zero)
    array(book, "spelled/integral_fill", v3("int16", fill=3.0), sample("<i2", SHAPE), b"\3\0")
    text = json.dumps({**plain, "attributes": {"a": "X"}}).replace('"X"', "NaN").replace(
        "5, 4", "5 ,\n\t4")
    array(book, "spelled/python_json", plain, data, zero, text=text)
    deep = "spelled/implied/group/array"
    array(book, deep, plain, data, zero)
    put(book, "spelled/zero_chunk", v3("int8", shape=(0, 3), chunk=(0, 2)), {})
    book.add("spelled/zero_chunk", np.zeros((0, 3), "i1"))


def frames(book):
    """Several members or frames in one object; a frame without its content's size."""
    data = sample("<i4", SHAPE)
    zero = bytes(4)
    half = lambda f: lambda b: f(b[:20]) + f(b[20:])
    little, zs = [{"name": "bytes", "configuration": {"endian": "little"}}], numcodecs.Zstd(1)
    array(book, "frames/gzip_members",
        v3("int32", codecs=little + [{"name": "gzip", "configuration": {"level": 1}}]),
          data, zero, half(gzip.compress))
    array(book, "frames/zstd_frames",
          v3("int32",
              codecs=little + [{"name": "zstd", "configuration": {"level": 1, "checksum": False}}]),
          data, zero, half(zs.encode))


def frames_v2(book):
    data, zero = sample("<i4", SHAPE), bytes(4)
    half = lambda f: lambda b: f(b[:20]) + f(b[20:])
    array(book, "frames/bz2", v2("<i4", compressor={"id": "bz2", "level": 1}), data, zero,
        half(bz2.compress))
    array(book, "frames/xz", v2("<i4",
        compressor={"id": "lzma", "format": 1, "check": -1, "preset": None, "filters": None}),
          data, zero, half(lzma.compress))
    array(book, "frames/xz_auto", v2("<i4",
        compressor={"id": "lzma", "format": 0, "check": -1, "preset": None, "filters": None}),
          data, zero, lzma.compress)
    array(book, "frames/zstd_bare", v2("<i4", compressor={"id": "zstd", "level": 1}), data, zero,
        numcodecs.Zstd(1).encode)
    array(book, "frames/zlib_bare", v2("<i4", compressor={"id": "zlib"}), data, zero, zlib.compress)


def lenient(book):
    """Fill values and documents of version 2 that occur in the wild."""
    fields = [["a", "<i4"], ["b", "|S3"]]
    for name, dtype, text in (("S", "|S4", "|S4"), ("U", "<U3", "<U3"), ("b", "|b1", "|b1"),
        ("M", "<M8[s]", "<M8[s]"),
                              ("V", "|V3", "|V3"), ("struct", [tuple(f) for f in fields], fields)):
        data = sample(dtype, SHAPE)
        array(book, f"fill0/{name}", v2(text), data, bytes(data.dtype.itemsize))
        array(book, f"fillnull/{name}", v2(text, fill=None), data, bytes(data.dtype.itemsize))
    document = v2("<f4")
    del document["fill_value"]
    array(book, "lenient/no_fill", document, sample("<f4", SHAPE), bytes(4))
    document = v2("<f4")
    array(book, "lenient/no_filters", {k: v for k, v in document.items() if k != "filters"},
        sample("<f4", SHAPE), bytes(4))
    array(book, "lenient/empty_filters", v2("<f4", filters=[]), sample("<f4", SHAPE), bytes(4))
    array(book, "lenient/extra", v2("<f4", _nczarr_array={"dimrefs": []}, note="x"),
        sample("<f4", SHAPE), bytes(4))
    array(book, "lenient/order_u1", v2("<u1"), sample("|u1", SHAPE), b"\0")
    nan = np.array(np.nan, "<f4").tobytes()
    array(book, "lenient/bare_nan", v2("<f4"), sample("<f4", SHAPE), nan,
          text=json.dumps(v2("<f4", fill=float("nan"))))
    array(book, "lenient/decimal_text", v2("<f4", fill="1.5"), sample("<f4", SHAPE),
        np.array(1.5, "<f4").tobytes())
    array(book, "lenient/u8_max", v2("<u8", fill=2**64 - 1), sample("<u8", SHAPE), b"\xff" * 8)
    array(book, "lenient/U_zero_character", v2(">U1", fill="0"), sample(">U1", SHAPE),
        b"\0\0\0" + b"0")


def write_all(out):
    book = Book(out, "handmade-v3")
    put_group(book, {"zarr_format": 3, "node_type": "group", "consolidated_metadata": None},
        "zarr.json")
    for part in (floats, raw_types, structs, spellings, frames):
        part(book)
    book.close()
    book = Book(out, "handmade-v2")
    put_group(book, {"zarr_format": 2}, ".zgroup")
    for part in (lenient, frames_v2):
        part(book)
    book.close()


def put_group(book, document, name):
    os.makedirs(book.store, exist_ok=True)
    with open(os.path.join(book.store, name), "w") as f:
        json.dump(document, f)
