"""Stores that zarrs writes: through zarr-python 3, which takes its codec pipeline, and what
zarr-python has no words for without it.
"""

import itertools
import json
import os

import numpy as np
import zarr
import zarrs  # registers the pipeline
from zarrs._internal import ChunkItem, CodecPipelineImpl
from zarr.storage import LocalStore

import write_zarr3
from book import Book
from cases import CHUNKS, HOLE, NUMBERS, SHAPE, name_of, sample
from write_handmade import put, put_group, v3

LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}

# Types that NumPy lacks: their bits, the bytes of an element, and a fill value with its bytes.
EXTENSIONS = {
    "int2": (2, 1, -2, b"\xfe"), "int4": (4, 1, -8, b"\xf8"), "uint2": (2, 1, 3, b"\x03"),
    "uint4": (4, 1, 9, b"\x09"),
    "float4_e2m1fn": (4, 1, "0x05", b"\x05"), "float6_e2m3fn": (6, 1, "0x11", b"\x11"),
    "float6_e3m2fn": (6, 1, "0x11", b"\x11"),
    **{"float8_" + k: (8, 1, "0x41", b"\x41")
       for k in ("e3m4", "e4m3", "e4m3b11fnuz", "e4m3fnuz", "e5m2", "e5m2fnuz", "e8m0fnu")},
    "bfloat16": (16, 2, 1.5, b"\xc0\x3f"),
    "complex_bfloat16": (32, 4, [1.5, "NaN"], b"\xc0\x3f\xc0\x7f"),
    "complex_float16": (32, 4, [1.5, "Infinity"], b"\0\x3e\0\x7c"),
    "complex_float32": (64, 8, [0.0, 1.0], bytes(6) + b"\x80\x3f"),
    "complex_float64": (128, 16, [0.0, 1.0], bytes(14) + b"\xf0\x3f"),
}


def chunks_of(shape, chunks):
    for at in itertools.product(*(range(-(-n // c)) for n, c in zip(shape, chunks))):
        yield at, tuple(slice(i * c, min(n, i * c + c)) for i, n, c in zip(at, shape, chunks))


def write(book, path, document, data, chunks, hole=None, fill=None, want=None, descr=None):
    """Write an array by zarrs alone, but for its document and the chunk that is the hole."""
    put(book, path, document, {})
    store = LocalStore(os.path.join(book.store, path))
    pipeline = CodecPipelineImpl(json.dumps(document), store_config=store, validate_checksums=True)
    want = (data if want is None else want).copy()
    for at, region in chunks_of(data.shape, chunks):
        if region == hole:
            want[region] = np.frombuffer(fill, want.dtype)[0]
            continue
        item = ChunkItem("/".join(["c", *map(str, at)]),
            [slice(0, s.stop - s.start) for s in region], chunks, list(region), data.shape)
        pipeline.store_chunks_with_indices([item], np.ascontiguousarray(data), True)
    book.add(path, want, descr=descr)


def patterns(bits, size, shape, path):
    """Elements of any bits, those below eight in their low ones."""
    data = sample(f"|V{size}", shape, path).view("u1")
    if bits < 8:
        data = data & (1 << bits) - 1
    return data.reshape(*shape, size)


def extensions(book):
    """Types that zarr-python lacks, in both byte orders and packed."""
    for name, (bits, size, fill, fill_bytes) in EXTENSIONS.items():
        orders = ["little", "big"] if size > 1 else [None]
        chains = {order or "bytes": [{"name": "bytes",
            **({"configuration": {"endian": order}} if order else {})}] for order in orders}
        if size == 1:
            chains["packbits"] = [{"name": "packbits"}]
            chains["packbits_first_byte"] = [{"name": "packbits",
                "configuration": {"padding_encoding": "first_byte"}}]
        for label, chain in chains.items():
            path = f"{name}/{label}"
            raw = patterns(bits, size, SHAPE, path)
            want = raw
            # what stands for a negative number has its sign in the upper bits, too
            if name.startswith("int"):
                want = (raw.view("i1") << 8 - bits >> 8 - bits).view("u1")
                raw = want
            want = want.reshape(SHAPE + (size,)).copy().view(f"V{size}")[..., 0]
            part = size // 2 if name.startswith("complex") else size
            data = raw.copy().view(f"<u{min(part, 8)}") if part > 1 else raw
            data = np.ascontiguousarray(data).view(f"V{size}")[..., 0]
            shown, filled = want, fill_bytes
            if label == "big":
                shown = want.copy().view(f"<u{part}").byteswap().view(f"V{size}").reshape(SHAPE)
                filled = np.frombuffer(fill_bytes, f"<u{part}").byteswap().tobytes()
            descr = {"complex_float32": "c8", "complex_float64": "c16"}.get(name, f"V{size}")
            descr = (">" if label == "big" else "<") + descr
            if "int" in name:  # which the mount shows as numbers of a byte
                shown, descr = want.view("u1" if name[0] == "u" else "i1"), None
            book.attempt(path, lambda: write(
                book, path, v3(name, SHAPE, CHUNKS, fill, chain), data, CHUNKS, HOLE, filled,
                shown, descr))


def packed(book):
    """packbits of a part of the bits, with each padding; alone, and within shards."""
    for dtype, (first, last), padding in itertools.product(("<i2", "<u2", "<i4", "<u8", "|i1"),
            ((0, 2), (1, 5), (0, 6)), ("none", "first_byte", "last_byte")):
        path = f"packbits/{name_of(dtype)}_{first}_{last}_{padding}"
        data = (sample(dtype, SHAPE, path).astype("u8") & (1 << last + 1) - (1 << first)).astype(
            "u8")
        if np.dtype(dtype).kind == "i":  # the last bit is the sign
            data = (data.astype("i8") << 63 - last >> 63 - last)
        data = data.astype(dtype)
        conf = {"padding_encoding": padding, "first_bit": first, "last_bit": last}
        kind = np.dtype(dtype).name
        book.attempt(path, lambda: write(
            book, path, v3(kind, SHAPE, CHUNKS, 0, [{"name": "packbits", "configuration": conf}]),
            data, CHUNKS, HOLE, bytes(8)))
    for dtype in ("|b1", "|u1", "<i4", "<f4", "<c16"):
        path = f"packbits_shards/{name_of(dtype)}"
        inner = [{"name": "packbits"}, {"name": "crc32c"}]
        conf = {"chunk_shape": [2, 3], "codecs": inner,
            "index_codecs": [LITTLE, {"name": "crc32c"}]}
        fill = {"|b1": False, "<c16": [0.0, 0.0]}.get(dtype, 0)
        book.attempt(path, lambda: write(
            book, path, v3(np.dtype(dtype).name, SHAPE, (4, 6), fill,
                [{"name": "sharding_indexed", "configuration": conf}]),
            sample(dtype, SHAPE, path), (4, 6)))


def reshaped(book):
    """reshape and squeeze, alone, behind and before transposes, and around shards."""
    shape, chunks = (7, 1, 10), (4, 1, 6)
    turn = lambda *order: {"name": "transpose", "configuration": {"order": list(order)}}
    cut = lambda *shape: {"name": "reshape", "configuration": {"shape": list(shape)}}
    squeeze = {"name": "zarrs.squeeze"}
    shards = lambda *chunk: {"name": "sharding_indexed", "configuration": {
        "chunk_shape": list(chunk), "codecs": [LITTLE, {"name": "crc32c"}],
        "index_codecs": [LITTLE, {"name": "crc32c"}]}}
    chains = {
        "flat": [cut(-1), LITTLE], "axes": [cut([0, 1], [2]), LITTLE],
        "split": [cut(2, 2, 1, 6), LITTLE],
        "grown": [cut(4, 1, 1, 1, 6), LITTLE],
        "halves": [cut(-1, 3), {"name": "gzip", "configuration": {"level": 1}}],
        "turned": [turn(2, 0, 1), cut([0], [1, 2]), LITTLE],
        "turned_after": [cut(8, 3), turn(1, 0), LITTLE],
        "squeezed": [squeeze, LITTLE], "squeezed_turned": [squeeze, turn(1, 0), LITTLE],
        "shards": [cut(4, 6), shards(2, 3)], "squeezed_shards": [squeeze, shards(4, 2)],
        "cut_shards": [cut(2, 2, 6), shards(1, 2, 3)],
        "packed": [squeeze, {"name": "packbits"}],
    }
    chains["halves"].insert(1, LITTLE)
    for (name, chain), dtype in itertools.product(chains.items(), ("|u1", "<i2", "<f8")):
        path = f"reshape/{name}_{name_of(dtype)}"
        book.attempt(path, lambda: write(
            book, path, v3(np.dtype(dtype).name, shape, chunks, 0, chain),
            sample(dtype, shape, path), chunks))


def direct(out):
    book = Book(out, "zarrs-v3-direct")
    put_group(book, {"zarr_format": 3, "node_type": "group"}, "zarr.json")
    for part in (extensions, packed, reshaped):
        part(book)
    book.close()


def write_all(out):
    assert zarrs.ZarrsCodecPipeline
    direct(out)
    write_zarr3.PREFIX = "zarrs"
    with zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"}):
        write_zarr3.types(out, 3)
        write_zarr3.vlen(out, 3)
        write_zarr3.codecs(out)
        write_zarr3.filters(out)
        write_zarr3.shapes(out, 3)
        write_zarr3.shards(out)
