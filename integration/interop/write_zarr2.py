"""Stores that zarr-python 2 writes: every v2 data type, fill value, codec, filter, shape and
layout.
"""

import json
import os

import numcodecs
import numpy as np
import zarr

import cases_vlen
from book import Book
from cases import (
    CHUNKS, FLAT_STRUCTS, HOLE, NESTED_STRUCTS, NUMBERS, RAW, SHAPE, SHAPES, STRINGS, TIMES,
    WIDE_STRUCTS,
    fills, full, hole_for, name_of, sample,
)

BLOSC = numcodecs.Blosc("lz4", 5, numcodecs.Blosc.SHUFFLE)


def write(book, group, path, data, chunks, hole=HOLE, fill=None, lossy=False, **kw):
    """Create the array, write all but the hole, and note what it must read as.

    That is the source data with the fill value in the hole, but for a lossy
    chain what the library reads.
    """
    array = group.create_dataset(
        path, shape=data.shape, dtype=data.dtype, chunks=chunks, fill_value=fill,
        overwrite=True, **kw
    )
    array[...] = data
    want = data.copy()
    if hole is not None:
        remove_chunk(array, hole, chunks)
        want[hole] = full(data.dtype, (), fill)
    if lossy:
        want = array[...]
    elif fill is not None or hole is None:
        # a hole without a fill value is uninitialised memory to zarr-python 2
        book.oracle(path, lambda: zarr.open_array(book.store, path=path, mode="r")[...], want)
    book.add(path, want)


def remove_chunk(array, hole, chunks):
    """Delete the hole's chunk from the store: to write nothing there at all would leave NumPy's
    padding untested.
    """
    index = [s.start // c for s, c in zip(hole, chunks)]
    key = array._chunk_key(index)
    del array.chunk_store[key]


def types(out):
    """Each data type x fill value x order."""
    book = Book(out, "zarr2-types")
    group = zarr.open_group(book.store, "w")
    named = {name_of(t): t for t in NUMBERS + STRINGS + RAW + TIMES}
    named.update({"struct_" + k: v
        for k, v in {**FLAT_STRUCTS, **NESTED_STRUCTS, **WIDE_STRUCTS}.items()})
    for name, dtype in named.items():
        data = sample(dtype, SHAPE)
        values = {**fills(dtype), "null": None}
        if values.pop("negzero", None) is not None:
            book.skip(f"{name}/negzero", "zarr-python 2 writes a fill value of -0.0 as 0.0")
        for i, (fill_name, fill) in enumerate(values.items()):
            for order in "CF" if i == 0 else "C":
                path = f"{name}/{fill_name}_{order}"
                book.attempt(path, lambda: write(
                    book, group, path, data, CHUNKS, fill=fill, order=order,
                    compressor=BLOSC if order == "F" else None))
    book.close()


def vlen(out):
    """Elements without a fixed size: each object codec x order, compressor, fill value and shape.
    """
    book = Book(out, "zarr2-vlen")
    group = zarr.open_group(book.store, "w")
    lists = ["|i1", "<i2", "<i4", ">i4", "<i8", "|u1", "<u2", "<u8", "<f4", ">f8"]
    codecs = {"text": numcodecs.VLenUTF8(), "bytes": numcodecs.VLenBytes(),
        "json": numcodecs.JSON(), **{t: numcodecs.VLenArray(t) for t in lists}}
    empty = {"text": "", "bytes": b"", "json": 0}

    def write_one(path, kind, codec, shape=SHAPE, chunks=CHUNKS, data=None, fill=0, **kw):
        data = cases_vlen.sample(kind, shape, path) if data is None else data
        array = group.create_dataset(path, shape=shape, dtype=object, chunks=chunks,
            object_codec=codec, fill_value=fill, **kw)
        array[...] = data
        want = data.copy()
        hole = hole_for(shape, chunks)
        if data.size and shape:
            remove_chunk(array, hole, chunks)
            missing = fill if fill else empty.get(kind, np.zeros(0, "i4"))
            for at in np.ndindex(want.shape):
                if all(s.start <= i < s.stop for i, s in zip(at, hole)):
                    want[at] = missing
        book.add_lines(path, want, of_bytes=kind == "bytes")

    for kind, codec in codecs.items():
        name = name_of(kind) if kind in lists else kind
        for order in "CF":
            book.attempt(f"{name}/{order}",
                lambda: write_one(f"{name}/{order}", kind, codec, order=order))
    book.attempt("json/indented", lambda: write_one("json/indented", "json",
        numcodecs.JSON(indent=1, separators=(", ", ": "), ensure_ascii=False)))
    book.attempt("text/fill",
        lambda: write_one("text/fill", "text", codecs["text"], fill='grün "\n'))
    labels = cases_vlen.WORDS[1:]
    data = cases_vlen.sample("text", SHAPE, "labels")
    book.attempt("categorize",
        lambda: write_one("categorize", "text", numcodecs.Categorize(labels, object), data=data))
    for name, compressor in compressors().items():
        if not name.startswith("blosc") or name.endswith("_9"):
            book.attempt(f"compressed/{name}", lambda: write_one(
                f"compressed/{name}", "text", codecs["text"], (500, 30), (130, 30),
                compressor=compressor))
    for name, (shape, chunks) in SHAPES.items():
        for kind in ("text", "bytes"):
            book.attempt(f"shapes/{name}_{kind}",
                lambda: write_one(f"shapes/{name}_{kind}", kind, codecs[kind], shape, chunks))
    book.close()


def compressors():
    """Every compressor of numcodecs with the settings that change its bytes."""
    n = numcodecs
    out = {"none": None}
    for level in (0, 1, 9):
        out[f"gzip{level}"], out[f"zlib{level}"] = n.GZip(level), n.Zlib(level)
    for level in (-5, 1, 9, 22):
        out[f"zstd{level}"] = n.Zstd(level)
    out["zstd_checksum"] = n.Zstd(3, checksum=True)
    out["lz4"], out["lz4_fast"] = n.LZ4(), n.LZ4(50)
    out["bz2_1"], out["bz2_9"] = n.BZ2(1), n.BZ2(9)
    lzma = n.lzma._lzma
    lzma2 = {"id": lzma.FILTER_LZMA2, "preset": 1}
    out["xz"], out["xz_9"] = n.LZMA(), n.LZMA(preset=9)
    for name, check in (("none", 0), ("crc32", 1), ("crc64", 4), ("sha256", 10)):
        out["xz_" + name] = n.LZMA(check=check)
    out["xz_delta"] = n.LZMA(filters=[{"id": lzma.FILTER_DELTA, "dist": 4}, lzma2])
    out["lzma_alone"] = n.LZMA(format=lzma.FORMAT_ALONE)
    out["lzma_raw"] = n.LZMA(format=lzma.FORMAT_RAW, filters=[lzma2])
    out["lzma_raw_delta"] = n.LZMA(format=lzma.FORMAT_RAW,
        filters=[{"id": lzma.FILTER_DELTA, "dist": 2}, lzma2])
    out["lzma_raw_dict"] = n.LZMA(format=lzma.FORMAT_RAW,
        filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 65536}])
    for cname in n.blosc.list_compressors():
        for shuffle in (-1, 0, 1, 2):
            for level in (1, 9):
                out[f"blosc_{cname}_{shuffle}_{level}"] = n.Blosc(cname, level, shuffle)
        out[f"blosc_{cname}_stored"] = n.Blosc(cname, 0, 1)
        out[f"blosc_{cname}_blocks"] = n.Blosc(cname, 5, 1, blocksize=1024)
        out[f"blosc_{cname}_bitblocks"] = n.Blosc(cname, 5, 2, blocksize=1000)
    return out


def codecs(out):
    """Each compressor x a few types, in chunks large enough for blosc's splits and several blocks.
    """
    book = Book(out, "zarr2-codecs")
    group = zarr.open_group(book.store, "w")
    shape, chunks = (70, 130), (32, 64)
    smooth = (np.add.outer(np.arange(70), np.arange(130)) // 3).astype("<i4")
    sources = {
        "u1": sample("|u1", shape), "i4": sample("<i4", shape), "smooth": smooth,
        "f8be": sample(">f8", shape),
        "S5": sample("|S5", shape), "struct": sample(FLAT_STRUCTS["mixed"], shape),
        "V17": sample("|V17", shape),
    }
    for name, compressor in compressors().items():
        for kind, data in sources.items():
            path = f"{name}/{kind}"
            book.attempt(path, lambda: write(
                book, group, path, data, chunks, hole=hole_for(shape, chunks),
                compressor=compressor))
    big = sample("<f4", (300, 300))
    for cname in numcodecs.blosc.list_compressors():
        for shuffle in (0, 1, 2):
            path = f"big_{cname}/{shuffle}"
            book.attempt(path, lambda: write(
                book, group, path, big, (256, 256), hole=None,
                compressor=numcodecs.Blosc(cname, 5, shuffle)))
    book.close()


def filter_cases():
    """Filters, the type of the data, and whether what they decode to differs from the source."""
    n = numcodecs
    labels = ["red", "grün", "blue"]
    cases = {
        "delta_i4": (n.Delta("<i4"), "<i4", False), "delta_u2": (n.Delta("<u2"), "<u2", False),
        "delta_i8be": (n.Delta(">i8"), ">i8", False), "delta_i1": (n.Delta("|i1"), "|i1", False),
        "delta_u1": (n.Delta("|u1"), "|u1", False),
        "delta_wide": (n.Delta("<i2", "<i4"), "<i2", False),
        "delta_narrow": (n.Delta("<i4", "<i2"), "<i4", True),
        "delta_f4": (n.Delta("<f4"), "<f4", True),
        "delta_f8": (n.Delta("<f8"), "<f8", True),
        "delta_f4f8": (n.Delta("<f4", "<f8"), "<f4", True),
        "delta_f8f4": (n.Delta("<f8", "<f4"), "<f8", True),
        "quantize_f4": (n.Quantize(2, "<f4"), "<f4", True),
        "quantize_f8": (n.Quantize(3, "<f8", "<f4"), "<f8", True),
        "quantize_f2": (n.Quantize(1, "<f4", "<f2"), "<f4", True),
        "quantize_be": (n.Quantize(1, ">f8"), ">f8", True),
        "bitround_f4": (n.BitRound(5), "<f4", True), "bitround_f8": (n.BitRound(20), "<f8", True),
        "bitround_f2": (n.BitRound(3), "<f2", True),
        "shuffle4": (n.Shuffle(4), "<i4", False), "shuffle8": (n.Shuffle(8), "<f8", False),
        "shuffle2": (n.Shuffle(2), "<i8", False), "shuffle1": (n.Shuffle(1), "<i4", False),
        # not 0: netcdf-c and numcodecs mean different things by it, and netcdf-c counts
        "shuffle3": (n.Shuffle(3), "|V3", False),
        "astype_f8f4": (n.AsType("<f4", "<f8"), "<f8", True),
        "astype_i8i2": (n.AsType("<i2", "<i8"), "<i8", True),
        "astype_be": (n.AsType(">i4", "<i4"), "<i4", False),
        "astype_i4f8": (n.AsType("<f8", "<i4"), "<i4", False),
        "packbits": (n.PackBits(), "|b1", False),
        "categorize_U": (n.Categorize(labels, "<U4"), labels, False),
        "categorize_U_u2": (n.Categorize(labels, "<U4", "<u2"), labels, False),
        "crc32": (n.CRC32(), "<i4", False), "adler32": (n.Adler32(), "<i4", False),
        "crc32_end": (n.CRC32(location="end"), "<i4", False),
        "adler32_end": (n.Adler32(location="end"), "<i4", False),
        "fletcher32": (n.Fletcher32(), "<f8", False), "lookup3": (n.JenkinsLookup3(), "<i4", False),
    }
    if hasattr(n, "CRC32C"):  # needs the package crc32c
        cases["crc32c"] = (n.CRC32C(), "<f8", False)
        cases["crc32c_start"] = (n.CRC32C(location="start"), "<f8", False)
    for name, (offset, scale, dtype, astype) in {
        "fso_f8u1": (1000, 10, "<f8", "|u1"), "fso_f8i2": (-5.5, 3, "<f8", "<i2"),
        "fso_f4i4": (2.25, 1000, "<f4", "<i4"),
        "fso_f8f4": (0.1, 0.3, "<f8", "<f4"), "fso_f4f2": (1, 2, "<f4", "<f2"),
        "fso_f8be": (10, 100, ">f8", ">i4"),
        "fso_i4": (100, 2, "<i4", "<i8"), "fso_f4f8": (3, 7, "<f4", "<f8"),
        "fso_same": (7, 0.5, "<f8", "<f8"),
    }.items():
        cases[name] = (n.FixedScaleOffset(offset, scale, dtype, astype), dtype, True)
    return cases


def filter_source(kind, shape, lossy):
    if isinstance(kind, list):
        choice = np.random.default_rng(5).integers(0, len(kind) + 1, shape)
        return np.array(["", *kind], "<U4")[choice]
    data = sample(kind, shape, special=False)
    if lossy and data.dtype.kind in "iu":
        data = (data.astype("i8") % 3000).astype(data.dtype)
    return data


def filters(out):
    """Each filter x order, compressor and hole; and a few chains of filters."""
    book = Book(out, "zarr2-filters")
    group = zarr.open_group(book.store, "w")
    for name, (codec, kind, lossy) in filter_cases().items():
        data = filter_source(kind, SHAPE, lossy)
        for order in "CF":
            for compressor in (None, numcodecs.Zlib(1)):
                path = f"{name}/{order}_{'zlib' if compressor else 'none'}"
                book.attempt(path, lambda: write(
                    book, group, path, data, CHUNKS, filters=[codec], order=order,
                    compressor=compressor, lossy=lossy,
                    fill="" if data.dtype.kind == "U" else np.zeros((), data.dtype)[()]))
    n = numcodecs
    chains = {
        "delta_shuffle": ([n.Delta("<i4"), n.Shuffle(4)], "<i4"),
        "fso_delta": ([n.FixedScaleOffset(0, 10, "<f8", "<i4"), n.Delta("<i4")], "<f8"),
        "bitround_shuffle_crc": ([n.BitRound(6), n.Shuffle(4), n.CRC32()], "<f4"),
        "quantize_astype": ([n.Quantize(1, "<f8"), n.AsType("<f4", "<f8")], "<f8"),
        "zlib_filter": ([n.Zlib(1)], "<i4"),
        "delta_gzip_lz4": ([n.Delta("<i4"), n.GZip(1), n.LZ4()], "<i4"),
        "blosc_filter": ([n.Blosc("zstd", 3, 2)], "<f4"),
        "three_sums": ([n.CRC32(), n.Adler32(), n.Fletcher32()], "<f4"),
    }
    for name, (chain, kind) in chains.items():
        data = filter_source(kind, SHAPE, True)
        for order in "CF":
            path = f"chain_{name}/{order}"
            book.attempt(path, lambda: write(
                book, group, path, data, CHUNKS, filters=chain, order=order, compressor=BLOSC,
                lossy=True, fill=0))
    boolean_delta(book, group)
    if not hasattr(n, "CRC32C"):
        book.skip("crc32c", "numcodecs finds no package crc32c")
    book.close()


def boolean_delta(book, group):
    """numcodecs cannot read its own boolean delta; the source is what a running XOR restores."""
    data = sample("|b1", SHAPE)
    book.attempt("delta_bool", lambda: write(
        book, group, "delta_bool", data, CHUNKS, hole=None, filters=[numcodecs.Delta("|b1")],
        compressor=None, fill=False))


def shapes(out):
    """Each shape x order x separator x compressor, whole and with a hole."""
    for sep, label in ((".", "dot"), ("/", "slash")):
        book = Book(out, f"zarr2-shapes-{label}")
        group = zarr.open_group(book.store, "w")
        for name, (shape, chunks) in SHAPES.items():
            data = sample("<i4", shape, name)
            for order in "CF":
                for comp in (None, BLOSC):
                    hole = hole_for(shape, chunks) if shape and data.size and comp else None
                    path = f"{name}/{order}_{'blosc' if comp else 'none'}"
                    book.attempt(path, lambda: write(
                        book, group, path, data, chunks, hole=hole, fill=-7, order=order,
                        compressor=comp,
                        dimension_separator=sep))
            path = f"{name}/never_written"
            book.attempt(path, lambda: never_written(book, group, path, shape, chunks, sep))
        book.close()


def never_written(book, group, path, shape, chunks, sep):
    group.create_dataset(path, shape=shape, dtype="<f8", chunks=chunks, fill_value=np.nan,
        dimension_separator=sep)
    book.add(path, full("<f8", shape, np.nan))


def legacy_nested(out):
    """Nested keys without dimension_separator, as NestedDirectoryStore of zarr-python up to 2.7
    left them.
    """
    book = Book(out, "zarr2-legacy-nested")
    group = zarr.open_group(book.store, "w")
    for name, (shape, chunks) in SHAPES.items():
        data = sample("<u2", shape, name)
        for order in "CF":
            path = f"{name}_{order}"
            write(book, group, path, data, chunks, hole=None, order=order, dimension_separator="/",
                compressor=BLOSC)
            forget(os.path.join(book.store, path, ".zarray"), "dimension_separator")
    # Where the first chunk is missing a probe of 0/0 alone finds nothing.
    data = sample("<u2", SHAPE)
    first = (slice(0, 4), slice(0, 3))
    write(book, group, "first_missing", data, CHUNKS, hole=first, fill=9, dimension_separator="/")
    forget(os.path.join(book.store, "first_missing", ".zarray"), "dimension_separator")
    book.close()


def forget(path, key):
    with open(path) as f:
        doc = json.load(f)
    del doc[key]
    with open(path, "w") as f:
        json.dump(doc, f, indent=4)


def roots(out):
    """Stores whose root is an array."""
    for name, kw in {"dot": {}, "slash": {"dimension_separator": "/"}, "F": {"order": "F"}}.items():
        book = Book(out, f"zarr2-root-{name}.zarr")
        data = sample("<f4", SHAPE, name)
        array = zarr.open_array(book.store, "w", shape=SHAPE, chunks=CHUNKS, dtype="<f4", **kw)
        array[...] = data
        array.attrs["units"] = "K"
        book.add("", data, view=f"zarr2-root-{name}")
        book.close()


def hierarchy(out):
    """Groups in groups, attributes that Python's JSON alone takes, names that hurt."""
    book = Book(out, "zarr2-hierarchy")
    group = zarr.open_group(book.store, "w")
    group.attrs.update({"big": 2**63 + 1, "nan": float("nan"), "inf": float("inf"),
        "text": "grün 😀"})
    for path in ("a", "g/b", "g/h/c", "g/h/i/j/k/d"):
        data = sample("<i2", SHAPE, path)
        write(book, group, path, data, CHUNKS)
        group[path].attrs["nan"] = float("nan")
    for name in ("with space", "grün", "dot.ted", "a.npy", "-dash", "quote'\"", "back`$(x)",
        "per%cent", "50%", "%41", "a%.b", "star*?[x]",
                 "tab\there", "x" * 200, ".hidden", "0", "c", "名前", "é", "new\nline", "a.raw",
                 "zarr", "UPPER", "upper"):
        data = sample("<i2", SHAPE, name)
        book.attempt(name, lambda: write(book, group, "evil/" + name, data, CHUNKS))
    book.close()


def write_all(out):
    for make in (types, vlen, codecs, filters, shapes, legacy_nested, roots, hierarchy):
        make(out)
