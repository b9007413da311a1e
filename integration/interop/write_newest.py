"""Stores that the newest zarr-python 3 writes: what write_zarr3 does, and what came after 3.1."""

import itertools

import numpy as np
import zarr
from zarr.codecs import BytesCodec, CastValue, GzipCodec, ScaleOffset

import write_zarr3
from book import Book
from cases import FLAT_STRUCTS, HOLE, NESTED_STRUCTS, SHAPE, CHUNKS, sample


def in_order(dtype, order):
    """The dtype with all its fields in one byte order, as format 3 wants them."""
    return np.dtype(dtype).newbyteorder(order)


def structs(book):
    """The type struct, whose bytes follow the endian of the codec since 3.3."""
    whole = {name: fields for name, fields in {**FLAT_STRUCTS, **NESTED_STRUCTS}.items()
        if not name.startswith("sub")}
    for (name, fields), order, shards in itertools.product(whole.items(), "<>", (None, (8, 6))):
        dtype = in_order(fields, order)
        path = f"struct/{name}_{'big' if order == '>' else 'little'}{'_shards' if shards else ''}"
        book.attempt(path, lambda: write_zarr3.write(
            book, path, sample(dtype, SHAPE, path), CHUNKS, hole=None if shards else HOLE,
            fill=np.zeros((), dtype)[()], shards=shards,
            serializer=BytesCodec(endian="big" if order == ">" else "little"), zarr_format=3))


def rectilinear(book):
    """Chunks of listed lengths, with runs of one length, a hole, shards of different shapes, and
    strings.
    """
    for label, chunks in {"lists": [[4, 1, 6], [2, 5]], "runs": [[2] * 4 + [3], [1, 3, 3]],
            "mixed": [4, [3, 4]]}.items():
        for dtype in ("|u1", "<i2", "<f8", "|b1", "<U3", "<c8"):
            path = f"rectilinear/{label}_{np.dtype(dtype).str[1:]}"
            book.attempt(path, lambda: write_zarr3.write(book, path, sample(dtype, SHAPE, path),
                chunks, hole=None, fill=None, zarr_format=3))
    for dtype in ("<i4", "<f2"):
        path = f"rectilinear/shards_{dtype[1:]}"
        book.attempt(path, lambda: write_zarr3.write(
            book, path, sample(dtype, (12, 9), path), (2, 3), hole=None, fill=None, zarr_format=3,
            shards=[[8, 4], [3, 6]]))


def filters(book):
    """scale_offset and cast_value, alone and together, in both byte orders, with a hole."""
    numbers = np.arange(77).reshape(SHAPE)
    for dtype, offset, scale in (("i4", -3, 7), ("u2", 1000, 3), ("i1", 0, -1), ("f4", 0.5, 4.0),
            ("f8", -1e3, 0.25), ("f2", 1.0, 2.0)):
        for order in "<>":
            kind = np.dtype(order + dtype)
            first = 1000 if dtype == "u2" else 0
            path = f"scale_offset/{dtype}_{order}"
            book.attempt(path, lambda: write_zarr3.write(
                book, path, (numbers + first).astype(kind), CHUNKS, fill=first + 5,
                filters=[ScaleOffset(offset=offset, scale=scale)],
                serializer=BytesCodec(endian="big" if order == ">" else "little"), zarr_format=3))
    floats = numbers.astype("<f4")
    floats[1, 2] = np.nan
    casts = {
        "clamped": (numbers.astype("<i8") * 9, dict(data_type="int8", out_of_range="clamp")),
        "wrapped": (numbers.astype("<i8") * 9, dict(data_type="uint8", out_of_range="wrap")),
        "mapped": (floats, dict(data_type="uint8",
            scalar_map={"encode": [["NaN", 255]], "decode": [[255, "NaN"]]})),
        "exact": (numbers.astype("<i4"), dict(data_type="float64")),
        **{"rounded_" + mode: (numbers.astype("<f8") / 4 - 5,
            dict(data_type="int16", rounding=mode))
           for mode in ("nearest-even", "towards-zero", "towards-positive", "towards-negative",
               "nearest-away")},
    }
    for name, (data, conf) in casts.items():
        path = "cast_value/" + name
        book.attempt(path, lambda: write_zarr3.write(
            book, path, data, CHUNKS, fill=1, filters=[CastValue(**conf)],
            compressors=GzipCodec(level=1), lossy=True, zarr_format=3))
    path = "cast_value/scaled"
    book.attempt(path, lambda: write_zarr3.write(
        book, path, numbers.astype("<f8") / 8, CHUNKS, fill=0, zarr_format=3,
        filters=[ScaleOffset(offset=0, scale=8.0), CastValue(data_type="uint8")]))


def decimals(book):
    """Fill values that a double rounds to the middle between two numbers; what they mean is what
    the library reads.
    """
    for dtype, text in (("float32", "1.0000000596046448"), ("float32", "3.4028235677973366e38"),
        ("float32", "7.006492321624086e-46"),
                        ("float32", "16777217.000000001"), ("float16", "1.00048828125000001")):
        path = f"decimals/{dtype}_{text}"
        array = zarr.create_array(book.store, name=path, shape=(5,), chunks=(2,), dtype=dtype,
            zarr_format=3)
        document = f"{book.store}/{path}/zarr.json"
        text_before = open(document).read()
        with open(document, "w") as f:
            f.write(text_before.replace('"fill_value": 0.0', f'"fill_value": {text}'))
        book.add(path, zarr.open_array(book.store, path=path, mode="r")[...])


def write_all(out):
    write_zarr3.PREFIX = "newest"
    write_zarr3.write_all(out)
    book = Book(out, "newest-v3-new")
    zarr.open_group(book.store, mode="w", zarr_format=3)
    with zarr.config.set({"array.rectilinear_chunks": True}):
        for part in (structs, rectilinear, filters, decimals):
            part(book)
    book.close()
