"""Stores that tensorstore writes, by its drivers zarr3 and zarr (version 2)."""

import base64
import itertools
import json
import os

import ml_dtypes
import numpy as np
import tensorstore as ts

from book import Book
from cases import CHUNKS, HOLE, NUMBERS, SHAPE, SHAPES, hole_for, name_of, sample

V3_NAMES = {
    "b1": "bool", "c8": "complex64", "c16": "complex128", "f2": "float16", "f4": "float32",
    "f8": "float64",
    **{f"{k}{n}": f"{'u' * (k == 'u')}int{8 * n}" for k in "iu" for n in (1, 2, 4, 8)},
}
# Fill values as the document spells them, and the bits they mean.
FLOAT_FILLS = {
    "f2": {"NaN": 0x7E00, "Infinity": 0x7C00, "0x7e01": 0x7E01, "0xfd55": 0xFD55, -0.0: 0x8000,
        0.1: 0x2E66},
    "f4": {"NaN": 0x7FC00000, "-Infinity": 0xFF800000, "0x7fc00001": 0x7FC00001,
        "0xffa00001": 0xFFA00001, 0.1: 0x3DCCCCCD},
    "f8": {"NaN": 0x7FF8 << 48, "Infinity": 0x7FF0 << 48, "0x7ff8000000000001": (0x7FF8 << 48) + 1,
           "0xfff0000000000001": (0xFFF0 << 48) + 1, 0.1: 0x3FB999999999999A, 1e-320: 2024},
}
EXTENSIONS = [
    "bfloat16", "float8_e3m4", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e4m3b11fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz", "float8_e8m0fnu", "int2", "int4", "float4_e2m1fn",
]


def group(book, path, fmt):
    """Write the group documents down to path: tensorstore writes none."""
    parts = [p for p in path.split("/") if p]
    for i in range(len(parts) + 1):
        folder = os.path.join(book.store, *parts[:i])
        os.makedirs(folder, exist_ok=True)
        name, doc = (
            ("zarr.json", {"zarr_format": 3, "node_type": "group"})
            if fmt == 3
            else (".zgroup", {"zarr_format": 2})
        )
        with open(os.path.join(folder, name), "w") as f:
            json.dump(doc, f)


def create(book, path, spec):
    return ts.open(
        {**spec, "kvstore": {"driver": "file", "path": os.path.join(book.store, path) + "/"},
            "create": True}
    ).result()


def write3(book, path, data, chunks, dtype=None, fill=None, codecs=None, hole=None,
    want=None, keys=None,
           descr=None):
    """Write with the driver zarr3; codecs defaults to bytes, little-endian."""
    group(book, os.path.dirname(path), 3)
    metadata = {
        "shape": list(data.shape), "data_type": dtype or V3_NAMES[data.dtype.str[1:]],
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(chunks)}},
    }
    if fill is not None:
        metadata["fill_value"] = fill
    if codecs:
        metadata["codecs"] = codecs
    if keys:
        metadata["chunk_key_encoding"] = keys
    array = create(book, path, {"driver": "zarr3", "metadata": metadata})
    array.write(np.array(data, array.dtype.numpy_dtype, order="C")).result()
    want = np.array(data if want is None else want)
    if hole is not None:
        remove(book, path, "c/" + "/".join(str(s.start // c) for s, c in zip(hole, chunks)))
    if big(codecs or []) and want.dtype.kind != "V":
        want = want.astype(want.dtype.newbyteorder(">"))
    book.add(path, want, descr=descr)


def big(codecs):
    for codec in codecs:
        conf = codec.get("configuration", {})
        if codec["name"] == "bytes":
            return conf.get("endian") == "big"
        if codec["name"] == "sharding_indexed":
            return big(conf["codecs"])
    return False


def remove(book, path, key):
    file = os.path.join(book.store, path, key)
    if os.path.exists(file):
        os.remove(file)


def endian(which):
    return {"name": "bytes", "configuration": {"endian": which}}


def filled(data, hole, bits):
    """The data with the hole's elements of these bits."""
    out = data.copy()
    out.view(f"<u{out.dtype.itemsize}")[hole] = bits
    return out


def types3(out):
    book = Book(out, "tensorstore-v3-types")
    for dtype in NUMBERS:
        if dtype[0] == ">":
            continue
        data = sample(dtype, SHAPE)
        for spelled, bits in spellings(dtype).items():
            for order in ("little", "big") if data.dtype.itemsize > 1 else ("little",):
                path = f"{dtype[1:]}/{str(spelled).replace(' ', '')}_{order}"
                fill = (
                    json.loads(spelled)
                    if isinstance(spelled, str)
                    and spelled[0] in "[tf"
                    else spelled
                )
                want = data.copy()
                want[HOLE] = bits if data.dtype.kind != "f" else want[HOLE]
                if data.dtype.kind == "f":
                    want = filled(data, HOLE, bits)
                book.attempt(path, lambda: write3(
                    book, path, data, CHUNKS, fill=fill, hole=HOLE, want=want,
                    codecs=[endian(order)]))
    book.close()


def spellings(dtype):
    """Fill values in the document's words and what they mean."""
    kind, size = np.dtype(dtype).kind, np.dtype(dtype).itemsize
    if kind == "f":
        return FLOAT_FILLS[dtype[1:]]
    if kind == "b":
        return {"true": True, "false": False}
    if kind in "iu":
        info = np.iinfo(dtype)
        return {int(info.max): info.max, int(info.min): info.min}
    payload = "0x7fc00001" if size == 8 else "0x7ff8000000000001"
    bits = np.array([int(payload, 16), 0], f"<u{size // 2}")
    return {'[1.5, -2]': 1.5 - 2j, '["NaN", "-Infinity"]': complex(np.nan, -np.inf),
            f'["{payload}", 0]': bits.view(dtype)[0]}


def extensions(out):
    """Types that NumPy does not have; shown as opaque bytes, and narrow integers as those of a
    byte.
    """
    book = Book(out, "tensorstore-v3-extensions")
    values = np.array([[0, 1, -2], [0.5, 1.5, 3], [1, 0, 1], [-1, 2, 0]])
    for name, fill in itertools.product(EXTENSIONS, (0, 1)):
        kind = np.dtype(getattr(ml_dtypes, name))
        if name == "float8_e8m0fnu" and fill == 1:
            book.skip(name + "/1", "tensorstore reads this fill value as 0x3f in place of 0x7f")
            continue
        if name == "float8_e8m0fnu":
            data, fill = np.abs(values).clip(0.5).astype(kind), 0.5
        else:
            data = (
                values.astype("i1").astype(kind) if name.startswith("int") else values.astype(kind))
        data = np.tile(data, (2, 2))
        want = data.copy()
        want[0:3, 4:6] = kind.type(fill)
        for order in ("little", "big") if kind.itemsize > 1 else ("little",):
            path = f"{name}/{fill}_{order}"
            codecs = (
                [{"name": "bytes", "configuration": {"endian": order}}]
                if kind.itemsize > 1
                else None
            )
            shown = np.array(want, order="C").view(f"u{kind.itemsize}")
            shown = (shown.byteswap() if order == "big" else shown).view(f"V{kind.itemsize}")
            # as ml_dtypes' own types are saved
            descr = f"{'>' if order == 'big' else '<'}V{kind.itemsize}"
            # which the mount shows as numbers of a byte; ml_dtypes and tensorstore leave the upper
            # bits 0
            if name.startswith("int"):
                shown, descr = want.astype("i1"), None
            book.attempt(path, lambda: write3(
                book, path, data, (3, 2), dtype=name, fill=fill, codecs=codecs,
                hole=(slice(0, 3), slice(4, 6)), want=shown,
                descr=descr))
    book.close()


def codecs3(out):
    """gzip, zstd, crc32c, every blosc, transposes and sharding in all positions."""
    book = Book(out, "tensorstore-v3-codecs")
    shape, chunks = (70, 130), (32, 64)
    chains = {"crc32c": [{"name": "crc32c"}]}
    for level in (0, 1, 9):
        chains[f"gzip{level}"] = [{"name": "gzip", "configuration": {"level": level}}]
        chains[f"zstd{level}"] = [{"name": "zstd", "configuration": {"level": level}}]
    for cname, shuffle, level in itertools.product(
            ("blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"),
            ("noshuffle", "shuffle", "bitshuffle"), (0, 1, 9)):
        conf = {"cname": cname, "clevel": level, "shuffle": shuffle}
        chains[f"blosc_{cname}_{shuffle}_{level}"] = [{"name": "blosc", "configuration": conf}]
    chains["gzip_crc32c"] = [{"name": "gzip", "configuration": {"level": 1}}, {"name": "crc32c"}]
    for (name, chain), dtype in itertools.product(chains.items(), ("|u1", "<i4", "<f8")):
        path = f"{name}/{name_of(dtype)}"
        data = sample(dtype, shape)
        book.attempt(path,
            lambda: write3(book, path, data, chunks, codecs=[endian("little"), *chain]))
    for rank in (1, 2, 3, 4):
        shape, chunks = (5, 6, 7, 4)[:rank], (2, 3, 4, 4)[:rank]
        for order, which in itertools.product(itertools.permutations(range(rank)),
                ("little", "big")):
            path = f"transpose/{''.join(map(str, order))}_{which}"
            chain = [{"name": "transpose", "configuration": {"order": list(order)}}, endian(which)]
            book.attempt(path,
                lambda: write3(book, path, sample("<u4", shape), chunks, codecs=chain))
    book.close()


def sharding(chunk, codecs, index=None, where="end"):
    return {"name": "sharding_indexed", "configuration": {
        "chunk_shape": list(chunk), "codecs": codecs, "index_location": where,
        "index_codecs": index or [endian("little"), {"name": "crc32c"}]}}


def shards3(out):
    book = Book(out, "tensorstore-v3-shards")
    data = sample("<i4", (23, 19))
    data[4:8, 6:9] = 9  # an inner chunk of fill values, which is left out
    little, crc = endian("little"), {"name": "crc32c"}
    inner = {
        "plain": [little], "big": [endian("big")],
        "zstd": [little, {"name": "zstd", "configuration": {"level": 1}}],
        "blosc": [little, {"name": "blosc",
            "configuration": {"cname": "lz4", "clevel": 5, "shuffle": "bitshuffle"}}],
        "transpose": [{"name": "transpose", "configuration": {"order": [1, 0]}}, little],
    }
    index = {"crc": [little, crc], "nocrc": [little], "big": [endian("big"), crc],
        "bignocrc": [endian("big")]}
    for (iname, chain), (xname, xchain), where in itertools.product(inner.items(), index.items(),
            ("end", "start")):
        path = f"{iname}/{xname}_{where}"
        codecs = [sharding((4, 3), chain, xchain, where)]
        book.attempt(path, lambda: write3(book, path, data, (8, 6), codecs=codecs, fill=9))
    for a, b, (name, chain) in itertools.product(("end", "start"), ("end", "start"), inner.items()):
        path = f"nested/{name}_{a}_{b}"
        two = sharding((8, 4), [sharding((4, 2), chain, where=b)], where=a)
        book.attempt(path,
            lambda: write3(book, path, sample("<u2", (24, 20)), (16, 8), codecs=[two], fill=9))
    outer = [{"name": "transpose", "configuration": {"order": [1, 0]}}, sharding((3, 4), [little])]
    book.attempt("outer_transpose",
        lambda: write3(book, "outer_transpose", data, (8, 6), codecs=outer))
    turn = {"name": "transpose", "configuration": {"order": [2, 0, 1]}}
    cube = sample("<i2", (8, 9, 10))
    for name, deep in {"plain": [little], "twice": [turn, little]}.items():
        path = f"outer_transpose3/{name}"
        book.attempt(path, lambda: write3(
            book, path, cube, (4, 6, 8), codecs=[turn, sharding((4, 2, 3), deep)], fill=9))
    for name, (shape, chunks) in SHAPES.items():
        path = f"shapes/{name}"
        codecs = [sharding(chunks, [little])]
        book.attempt(path, lambda: write3(
            book, path, sample("<i2", shape, name), [2 * c for c in chunks], codecs=codecs))
    book.close()


def shapes3(out):
    for kind, sep in itertools.product(("default", "v2"), "/."):
        book = Book(out, f"tensorstore-v3-shapes-{kind}-{'slash' if sep == '/' else 'dot'}")
        for name, (shape, chunks) in SHAPES.items():
            keys = {"name": kind, "configuration": {"separator": sep}}
            book.attempt(name,
                lambda: write3(book, name, sample("<i4", shape, name), chunks, fill=-7, keys=keys))
        book.close()


def write2(book, path, data, chunks, hole=None, want=None, **metadata):
    """Write with the driver zarr; a structured type is written field by field."""
    group(book, os.path.dirname(path), 2)
    metadata = {"shape": list(data.shape), "chunks": list(chunks), "compressor": None, **metadata}
    metadata.setdefault("dtype", data.dtype.str if not data.dtype.fields else [list(f)
        for f in data.dtype.descr])
    base = {"driver": "zarr", "metadata": metadata}
    where = {"kvstore": {"driver": "file", "path": os.path.join(book.store, path) + "/"}}
    if data.dtype.fields:
        for i, name in enumerate(data.dtype.names):
            array = ts.open({**base, **where, "field": name}, create=i == 0, open=True).result()
            array.write(bytewise(data[name])).result()
    else:
        ts.open({**base, **where}, create=True).result().write(bytewise(data)).result()
    want = np.array(data if want is None else want)
    if hole is not None:
        sep = metadata.get("dimension_separator", ".")
        remove(book, path, sep.join(str(s.start // c) for s, c in zip(hole, chunks)))
    book.add(path, want)


def bytewise(data):
    """S and V elements are a last axis of bytes to tensorstore; numbers want their native order."""
    if data.dtype.kind in "SV" and not data.dtype.type.__module__.startswith("ml"):
        kind = "S1" if data.dtype.kind == "S" else "V1"
        return np.ascontiguousarray(data).view(kind).reshape(data.shape + (data.dtype.itemsize,))
    return data.astype(data.dtype.newbyteorder("="))


def types2(out):
    book = Book(out, "tensorstore-v2-types")
    for dtype, order, sep in itertools.product(NUMBERS + ["|S1", "|S5", "|V1", "|V3"], "CF", "./"):
        data = sample(dtype, SHAPE)
        path = f"{name_of(dtype)}/{order}_{'slash' if sep == '/' else 'dot'}"
        book.attempt(path, lambda: write2(
            book, path, data, CHUNKS, order=order, dimension_separator=sep))
    for dtype in NUMBERS:
        if np.dtype(dtype).kind in "fc":
            for fill, value in {"NaN": np.nan, "-Infinity": -np.inf, 0.1: 0.1}.items():
                data = sample(dtype, SHAPE)
                want = data.copy()
                want[HOLE] = complex(value, 2) if data.dtype.kind == "c" else value
                spelled = [fill, 2] if data.dtype.kind == "c" else fill
                path = f"{name_of(dtype)}/fill_{fill}"
                book.attempt(path,
                    lambda: write2(book, path, data, CHUNKS, HOLE, want, fill_value=spelled))
    for dtype, fill in {"|S5": b"abc\0\0", "|V3": b"\1\2\3"}.items():
        data = sample(dtype, SHAPE)
        want = data.copy()
        want[HOLE] = np.frombuffer(fill, dtype)[0]
        path = f"{name_of(dtype)}/fill"
        book.attempt(path, lambda: write2(
            book, path, data, CHUNKS, HOLE, want, fill_value=base64.b64encode(fill).decode()))
    structs = {"pair": [("a", "<i4"), ("b", "|S3")],
        "be": [("a", ">u2"), ("b", "<f8"), ("c", "|b1")],
               "sub": [("s", "<f4", (2, 2)), ("t", "<u2")]}
    for (name, dtype), order in itertools.product(structs.items(), "CF"):
        path = f"struct_{name}/{order}"
        book.attempt(path, lambda: write2(book, path, sample(dtype, SHAPE), CHUNKS, order=order))
    book.close()


def codecs2(out):
    book = Book(out, "tensorstore-v2-codecs")
    shape, chunks = (70, 130), (32, 64)
    compressors = {}
    for level in (1, 9):
        for name in ("zlib", "gzip", "bz2", "zstd"):
            compressors[f"{name}{level}"] = {"id": name, "level": level}
    for cname, shuffle in itertools.product(("blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"),
            (-1, 0, 1, 2)):
        compressors[f"blosc_{cname}_{shuffle}"] = {
            "id": "blosc", "cname": cname, "clevel": 5, "shuffle": shuffle, "blocksize": 0}
    for (name, comp), dtype, order in itertools.product(compressors.items(),
            ("|u1", "<i4", ">f8"), "CF"):
        path = f"{name}/{name_of(dtype)}_{order}"
        book.attempt(path,
            lambda: write2(book, path, sample(dtype, shape), chunks, order=order, compressor=comp))
    for name, (shape, chunks) in SHAPES.items():
        for order, sep in itertools.product("CF", "./"):
            path = f"shapes/{name}_{order}_{'slash' if sep == '/' else 'dot'}"
            book.attempt(path, lambda: write2(
                book, path, sample("<i4", shape, name), chunks, order=order,
                dimension_separator=sep))
    book.close()


def write_all(out):
    for make in (types3, extensions, codecs3, shards3, shapes3, types2, codecs2):
        make(out)
