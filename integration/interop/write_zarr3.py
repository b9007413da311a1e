"""Stores that zarr-python 3 writes, in formats 3 and 2."""

import itertools
import json
import os

import numcodecs
import numpy as np
import zarr
from zarr.codecs import (
    BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, ShardingCodec, TransposeCodec, ZstdCodec,
)
from zarr.codecs import numcodecs as nc

import cases_vlen
from book import Book
from cases import (
    CHUNKS, FLAT_STRUCTS, HOLE, NESTED_STRUCTS, NUMBERS, RAW, SHAPE, SHAPES, STRINGS, TIMES,
    WIDE_STRUCTS,
    fills, full, hole_for, name_of, sample,
)


PREFIX = "zarr3"  # of the stores' names; zarrs writes the same ones through its own pipeline


def write(book, path, data, chunks, hole=HOLE, fill=0, order=None, lossy=False,
        attributes=None, **kw):
    """Create the array, write it, remove the hole's object, and note what it must read as."""
    shards = kw.get("shards")
    array = zarr.create_array(
        book.store, name=path or None, shape=data.shape, dtype=data.dtype, chunks=chunks,
        fill_value=fill,
        attributes=attributes, overwrite=False, order=order, **kw)
    array[...] = data
    want = data.copy()
    if hole is not None:
        remove_chunk(array, hole, shards or chunks)
        want[hole] = full(data.dtype, (), fill)
    if lossy:
        want = np.asarray(reread(book, path)).reshape(data.shape)
    else:
        book.oracle(path, lambda: reread(book, path), want)
    book.add(path, stored_order(array, want))


def reread(book, path):
    """What the library reads from the store alone, by its own codecs, whoever's pipeline wrote it.
    """
    with zarr.config.set({"codec_pipeline.path": "zarr.core.codec_pipeline.BatchedCodecPipeline"}):
        return zarr.open_array(book.store, path=path or None, mode="r")[...]


def stored_order(array, want):
    """The expected copy in the byte order that the innermost bytes codec names."""
    if array.metadata.zarr_format == 2:
        return want
    return want.astype(want.dtype.newbyteorder(">"
        if innermost(array.metadata.to_dict()["codecs"]) == "big" else "<"))


def innermost(codecs):
    """The endianness of the chain's bytes codec, or of that inside its sharding."""
    for codec in codecs:
        conf = codec.get("configuration", {})
        if codec["name"] == "sharding_indexed":
            return innermost(conf["codecs"])
        if codec["name"] == "bytes":
            return conf.get("endian")
    return None


def remove_chunk(array, hole, chunks):
    key = array.metadata.encode_chunk_key(tuple(s.start // c for s, c in zip(hole, chunks)))
    path = os.path.join(str(array.store.root), array.path, key)
    if os.path.exists(path):  # a chunk that equals the fill value was never written
        os.remove(path)


def all_types():
    named = {name_of(t): t for t in NUMBERS + STRINGS + RAW + TIMES}
    named.update({"struct_" + k: v
        for k, v in {**FLAT_STRUCTS, **NESTED_STRUCTS, **WIDE_STRUCTS}.items()})
    return named


def expressible(dtype, fmt):
    """Format 3 has no byte order in fields: zarr-python 3 stores big-endian ones as they are and
    reads them as little.
    """
    dtype = np.dtype(dtype)
    return dtype.newbyteorder("<") if fmt == 3 and dtype.fields else dtype


def types(out, fmt):
    """Each data type x fill value, uncompressed and compressed; format 2 also in order F."""
    book = Book(out, f"{PREFIX}-v{fmt}-types")
    zarr.open_group(book.store, mode="w", zarr_format=fmt)
    for name, dtype in all_types().items():
        dtype = expressible(dtype, fmt)
        data = sample(dtype, SHAPE)
        for i, (fill_name, fill) in enumerate(fills(dtype).items()):
            path = f"{name}/{fill_name}"
            book.attempt(path, lambda: write(book, path, data, CHUNKS, fill=fill, compressors=None,
                zarr_format=fmt))
            if i == 0:
                path = f"{name}/compressed"
                order = "F" if fmt == 2 else None
                book.attempt(path, lambda: write(
                    book, path, data, CHUNKS, fill=fill, compressors="auto", zarr_format=fmt,
                    order=order))
    if fmt == 3:
        book.skip("big-endian fields", "the library stores them, but its metadata cannot say so")
    book.close()


def vlen(out, fmt):
    """Strings and byte strings without a fixed size: compressors, shapes, shards."""
    book = Book(out, f"{PREFIX}-v{fmt}-vlen")
    zarr.open_group(book.store, mode="w", zarr_format=fmt)
    types = {"text": (str, ["", 'grün "'])}
    types["bytes"] = ("variable_length_bytes", [b"", b"\x00fill"])

    def write_one(path, kind, shape=SHAPE, chunks=CHUNKS, fill=None, **kw):
        dtype, fills_ = types[kind]
        fill = fills_[0] if fill is None else fill
        data = cases_vlen.sample(kind, shape, path)
        array = zarr.create_array(book.store, name=path, shape=shape, dtype=dtype, chunks=chunks,
            fill_value=fill, zarr_format=fmt, **kw)
        array[...] = data
        want = data.copy()
        if data.size and shape:
            hole = hole_for(shape, kw.get("shards") or chunks)
            remove_chunk(array, hole, kw.get("shards") or chunks)
            want[hole] = fill
        book.add_lines(path, want, of_bytes=kind == "bytes")

    for kind, (_, values) in types.items():
        for i, fill in enumerate(values):
            book.attempt(f"{kind}/fill{i}", lambda: write_one(f"{kind}/fill{i}", kind, fill=fill))
        for name, (shape, chunks) in SHAPES.items():
            book.attempt(f"{kind}/{name}", lambda: write_one(f"{kind}/{name}", kind, shape, chunks))
        if fmt == 3:
            for name, chain in bytes_codecs().items():
                book.attempt(f"{kind}/codec_{name}", lambda: write_one(f"{kind}/codec_{name}", kind,
                    (500, 30), (130, 30), compressors=chain))
            for i, shards in enumerate([(4, 3), (8, 6), (12, 9)]):
                book.attempt(f"{kind}/shards{i}",
                    lambda: write_one(f"{kind}/shards{i}", kind, (24, 20), (4, 3), shards=shards))
    book.skip("transposed strings", "zarr-python 3.1.6 stores them in the wrong order")
    book.close()


def blosc_v3():
    out = {}
    for cname in numcodecs.blosc.list_compressors():
        for shuffle in ("noshuffle", "shuffle", "bitshuffle"):
            for level in (1, 9):
                out[f"blosc_{cname}_{shuffle}_{level}"] = [BloscCodec(cname=cname, clevel=level,
                    shuffle=shuffle)]
        out[f"blosc_{cname}_stored"] = [BloscCodec(cname=cname, clevel=0, shuffle="shuffle")]
        out[f"blosc_{cname}_blocks"] = [BloscCodec(cname=cname, clevel=5, shuffle="bitshuffle",
            blocksize=1024)]
    return out


def bytes_codecs():
    """Every bytes -> bytes codec that zarr-python 3 has, alone and in chains."""
    out = {"none": [], "crc32c": [Crc32cCodec()]}
    for level in (0, 1, 9):
        out[f"gzip{level}"] = [GzipCodec(level=level)]
    for level in (-3, 1, 19):
        out[f"zstd{level}"] = [ZstdCodec(level=level)]
    out["zstd_checksum"] = [ZstdCodec(level=1, checksum=True)]
    out.update(blosc_v3())
    for name, codec in {
        "zlib": nc.Zlib(level=1), "lz4": nc.LZ4(), "bz2": nc.BZ2(level=1),
        "lzma": nc.LZMA(preset=1),
        "gzip": nc.GZip(level=1), "zstd": nc.Zstd(level=1),
        "blosc": nc.Blosc(cname="lz4", clevel=5, shuffle=1),
        "crc32": nc.CRC32(), "crc32c": nc.CRC32C(), "adler32": nc.Adler32(),
        "fletcher32": nc.Fletcher32(),
        "lookup3": nc.JenkinsLookup3(), "shuffle": nc.Shuffle(elementsize=4),
        "crc32_end": nc.CRC32(location="end"), "crc32c_start": nc.CRC32C(location="start"),
    }.items():
        out["numcodecs_" + name] = [codec]
    out["gzip_crc32c"] = [GzipCodec(level=1), Crc32cCodec()]
    out["crc32c_zstd"] = [Crc32cCodec(), ZstdCodec(level=1)]
    out["blosc_crc32c"] = [BloscCodec(cname="lz4"), Crc32cCodec()]
    out["shuffle_lz4_crc32"] = [nc.Shuffle(elementsize=4), nc.LZ4(), nc.CRC32()]
    return out


def codecs(out):
    """Each codec x a few types x byte order."""
    book = Book(out, PREFIX + "-v3-codecs")
    book.skip("blosc snappy", "numcodecs' blosc is built without it")
    zarr.open_group(book.store, mode="w")
    shape, chunks = (70, 130), (32, 64)
    sources = {"u1": "|u1", "i4": "<i4", "f8": "<f8", "c16": "<c16"}
    for (name, chain), (kind, dtype) in itertools.product(bytes_codecs().items(), sources.items()):
        data = sample(dtype, shape)
        for endian in ("little", "big") if kind == "i4" else ("little",):
            path = f"{name}/{kind}_{endian}"
            book.attempt(path, lambda: write(
                book, path, data, chunks, hole=hole_for(shape, chunks), compressors=chain,
                serializer=BytesCodec(endian=None if kind == "u1" else endian)))
    book.close()


def filters(out):
    """Transposes and numcodecs' array -> array filters."""
    book = Book(out, PREFIX + "-v3-filters")
    zarr.open_group(book.store, mode="w")
    n = 0
    for rank in (1, 2, 3, 4):
        shape, chunks = (5, 6, 7, 4)[:rank], (2, 3, 4, 4)[:rank]
        for order in itertools.permutations(range(rank)):
            path = f"transpose/{''.join(map(str, order))}"
            chain = [ZstdCodec(level=1)] if n % 2 else []
            n += 1
            book.attempt(path, lambda: write(
                book, path, sample("<u4", shape), chunks, hole=hole_for(shape, chunks), fill=5,
                filters=[TransposeCodec(order=order)], compressors=chain))
    twice = [TransposeCodec(order=(1, 2, 0)), TransposeCodec(order=(0, 2, 1))]
    book.attempt("transpose/twice", lambda: write(
        book, "transpose/twice", sample("<u4", (5, 6, 7)), (2, 3, 4), hole=None, filters=twice,
        compressors=[]))
    for dtype in ("|b1", "<c16", "<f8", "<u2"):
        for endian in ("little", "big"):
            path = f"transpose_{name_of(dtype)}/{endian}"
            book.attempt(path, lambda: write(
                book, path, sample(dtype, SHAPE), CHUNKS, fill=1,
                filters=[TransposeCodec(order=(1, 0))],
                serializer=BytesCodec(endian=None if dtype == "|b1" else endian)))
    book.skip("transpose, then delta",
        "the library flattens the chunk in memory order and cannot read it back")
    for name, (chain, dtype, lossy) in numcodecs_filters().items():
        data = sample(dtype, SHAPE, special=False)
        if lossy and data.dtype.kind in "iu":
            data = (data.astype("i8") % 3000).astype(data.dtype)
        for comp in ([], [ZstdCodec(level=1)]):
            path = f"{name}/{'zstd' if comp else 'none'}"
            book.attempt(path, lambda: write(
                book, path, data, CHUNKS, filters=chain, compressors=comp, lossy=lossy))
    book.close()


def numcodecs_filters():
    return {
        "delta_i4": ([nc.Delta(dtype="<i4")], "<i4", False),
        "delta_u2": ([nc.Delta(dtype="<u2")], "<u2", False),
        "delta_f8": ([nc.Delta(dtype="<f8")], "<f8", True),
        "delta_wide": ([nc.Delta(dtype="<i2", astype="<i4")], "<i2", False),
        "fso_f8i2": ([nc.FixedScaleOffset(offset=0, scale=10, dtype="<f8", astype="<i2")],
            "<f8", True),
        "fso_f8f4": ([nc.FixedScaleOffset(offset=0.1, scale=0.3, dtype="<f8", astype="<f4")],
            "<f8", True),
        "quantize": ([nc.Quantize(digits=2, dtype="<f8")], "<f8", True),
        "quantize_f4": ([nc.Quantize(digits=2, dtype="<f8", astype="<f4")], "<f8", True),
        "bitround": ([nc.BitRound(keepbits=7)], "<f4", True),
        "astype": ([nc.AsType(encode_dtype="<f4", decode_dtype="<f8")], "<f8", True),
        "packbits": ([nc.PackBits()], "|b1", False),
        "fso_delta": ([nc.FixedScaleOffset(offset=0, scale=10, dtype="<f8", astype="<i4"),
            nc.Delta(dtype="<i4")],
                      "<f8", True),
    }


def shapes(out, fmt):
    """Each shape x key encoding and separator, whole, with a hole, and never written."""
    encodings = (
        [("default", "/"), ("default", "."), ("v2", "."), ("v2", "/")]
        if fmt == 3
        else [("v2", "."), ("v2", "/")]
    )
    for kind, sep in encodings:
        book = Book(out, f"{PREFIX}-v{fmt}-shapes-{kind}-{'slash' if sep == '/' else 'dot'}")
        zarr.open_group(book.store, mode="w", zarr_format=fmt)
        keys = {"name": kind, "separator": sep}
        for name, (shape, chunks) in SHAPES.items():
            data = sample("<i4", shape, name)
            for comp, order in (([], "C"), ("auto", "F")):
                hole = hole_for(shape, chunks) if shape and data.size and comp else None
                path = f"{name}/{order}_{'auto' if comp else 'none'}"
                book.attempt(path, lambda: write(
                    book, path, data, chunks, hole=hole, fill=-7, order=order if fmt == 2 else None,
                    compressors=comp or None, chunk_key_encoding=keys, zarr_format=fmt))
            path = f"{name}/never_written"
            book.attempt(path, lambda: never_written(book, path, shape, chunks, keys, fmt))
        book.close()


def never_written(book, path, shape, chunks, keys, fmt):
    zarr.create_array(
        book.store, name=path, shape=shape, dtype="<f8", chunks=chunks, fill_value=np.nan,
        zarr_format=fmt,
        chunk_key_encoding=keys)
    book.add(path, full("<f8", shape, np.nan))


def sharded(book, path, data, shard, sharding, hole=None, filters=(), compressors=(), **kw):
    """As write, with a ShardingCodec in the serializer's place. The hole is one of inner chunks."""
    fill = kw.pop("fill", 0)
    want = data.copy()
    if hole is not None:
        want[hole] = fill
    array = zarr.create_array(
        book.store, name=path, shape=data.shape, dtype=data.dtype, chunks=shard, fill_value=fill,
        filters=list(filters), serializer=sharding, compressors=list(compressors), **kw)
    array[...] = want
    book.oracle(path, lambda: reread(book, path), want)
    book.add(path, stored_order(array, want))


def shards(out):
    """Sharding: inner chains, index at either end, with and without crc32c, nested, empty inner
    chunks, transposes.
    """
    book = Book(out, PREFIX + "-v3-shards")
    zarr.open_group(book.store, mode="w")
    little, big = BytesCodec(endian="little"), BytesCodec(endian="big")
    inner = {
        "plain": [little], "big": [big], "gzip": [little, GzipCodec(level=1)],
        "zstd": [little, ZstdCodec(level=1)],
        "blosc": [little, BloscCodec(cname="zstd", shuffle="bitshuffle")],
        "crc": [little, Crc32cCodec()],
        "transpose": [TransposeCodec(order=(1, 0)), little, BloscCodec(cname="lz4")],
        "lz4": [little, nc.LZ4()], "delta": [nc.Delta(dtype="<i4"), little],
    }
    index = {
        "crc": [little, Crc32cCodec()], "nocrc": [little], "big": [big, Crc32cCodec()],
        "bignocrc": [big],
    }
    data = sample("<i4", (23, 19))
    hole = (slice(4, 8), slice(6, 9))  # two inner chunks
    for (iname, chain), (xname, xchain), where in itertools.product(inner.items(), index.items(),
            ("end", "start")):
        path = f"{iname}/{xname}_{where}"
        codec = ShardingCodec(chunk_shape=(4, 3), codecs=chain, index_codecs=xchain,
            index_location=where)
        book.attempt(path, lambda: sharded(book, path, data, (8, 6), codec, hole, fill=11))
    nested_shards(book, little)
    shard_types(book)
    shard_oddities(book, little)
    book.close()


def nested_shards(book, little):
    data = sample("<u2", (24, 20))
    for deep, outer in itertools.product(("end", "start"), ("end", "start")):
        for name, chain in {"plain": [little], "zstd": [little, ZstdCodec(level=1)]}.items():
            level3 = ShardingCodec(chunk_shape=(2, 2), codecs=chain, index_location=deep)
            level2 = ShardingCodec(chunk_shape=(4, 4), codecs=[level3], index_location=deep,
                index_codecs=[little])
            for label, codec in (("two", level3), ("three", level2)):
                path = f"nested/{label}_{name}_{deep}_{outer}"
                top = ShardingCodec(chunk_shape=(8, 4), codecs=[codec], index_location=outer)
                book.attempt(path, lambda: sharded(book, path, data, (16, 8), top,
                    (slice(0, 8), slice(4, 8)), fill=3))


def shard_types(book):
    for name, dtype in all_types().items():
        dtype = expressible(dtype, 3)
        fill = next(iter(fills(dtype).values()))
        path = f"types/{name}"
        book.attempt(path, lambda: write(
            book, path, sample(dtype, SHAPE), (2, 3), hole=(slice(4, 8), slice(3, 6)), fill=fill,
            shards=(4, 3)))


def shard_oddities(book, little):
    """Codecs around the sharding, shards larger than the array, many dimensions."""
    data = sample("<f4", (23, 19))
    codec = ShardingCodec(chunk_shape=(4, 3), codecs=[little])
    for name, after in {"crc": [Crc32cCodec()], "zstd": [ZstdCodec(level=1)],
            "both": [GzipCodec(level=1), Crc32cCodec()]}.items():
        book.attempt("after/" + name,
            lambda: sharded(book, "after/" + name, data, (8, 6), codec, compressors=after))
    square = ShardingCodec(chunk_shape=(4, 3), codecs=[little])
    book.attempt("outer_transpose", lambda: sharded(
        book, "outer_transpose", data, (12, 12), square, filters=[TransposeCodec(order=(1, 0))]))
    for kind, sep in itertools.product(("default", "v2"), "/."):
        path = f"keys/{kind}_{'slash' if sep == '/' else 'dot'}"
        book.attempt(path, lambda: sharded(
            book, path, data, (8, 6), codec, (slice(0, 8), slice(6, 12)),
            chunk_key_encoding={"name": kind, "separator": sep}))
    for name, (chain, dtype, lossy) in numcodecs_filters().items():
        path = "filters/" + name
        values = sample(dtype, (23, 19), special=False)
        if not lossy:
            inner = ShardingCodec(chunk_shape=(4, 3), codecs=[*chain, little])
            book.attempt(path, lambda: sharded(book, path, values, (8, 6), inner))
    book.attempt("larger", lambda: sharded(book, "larger", data, (64, 60), codec))
    book.attempt("one_inner", lambda: sharded(book, "one_inner", data, (4, 3), codec))
    for name in ("0d", "1d", "1d_empty", "3d", "5d", "2d_empty1"):
        shape, chunks = SHAPES[name]
        twice = tuple(2 * c for c in chunks)
        path = "shapes/" + name
        one = ShardingCodec(chunk_shape=chunks, codecs=[little])
        book.attempt(path, lambda: sharded(book, path, sample("<i2", shape), twice, one))


def codecs_v2(out):
    """Format 2 as zarr-python 3 writes it: compressors, filters, both separators."""
    book = Book(out, PREFIX + "-v2-codecs")
    book.skip("blosc snappy", "numcodecs' blosc is built without it")
    zarr.open_group(book.store, mode="w", zarr_format=2)
    n = numcodecs
    compressors = {
        "none": None, "gzip": n.GZip(1), "zlib": n.Zlib(1), "zstd": n.Zstd(1),
        "zstd_sum": n.Zstd(1, checksum=True),
        "lz4": n.LZ4(), "bz2": n.BZ2(1), "lzma": n.LZMA(preset=1), "crc32c": n.CRC32C(),
    }
    for cname in numcodecs.blosc.list_compressors():
        for shuffle in (-1, 0, 1, 2):
            compressors[f"blosc_{cname}_{shuffle}"] = n.Blosc(cname, 5, shuffle)
    for (name, comp), order, dtype in itertools.product(compressors.items(), "CF",
            ("<f4", ">i8", "|S5")):
        path = f"{name}/{order}_{name_of(dtype)}"
        book.attempt(path, lambda: write(
            book, path, sample(dtype, SHAPE), CHUNKS, fill=None if dtype[1] == "S" else 1,
            order=order, compressors=comp,
            zarr_format=2,
            chunk_key_encoding={"name": "v2", "separator": "/" if order == "F" else "."}))
    for name, (chain, dtype) in {
        "delta": ([n.Delta("<i4")], "<i4"), "shuffle": ([n.Shuffle(4)], "<i4"),
        "crc32c": ([n.CRC32C()], "<i4"),
        "crc32c_start": ([n.CRC32C(location="start")], "<i4"), "bitround": ([n.BitRound(5)], "<f4"),
    }.items():
        for order in "CF":
            path = f"filter_{name}/{order}"
            book.attempt(path, lambda: write(
                book, path, sample(dtype, SHAPE, special=False), CHUNKS, filters=chain, order=order,
                zarr_format=2,
                compressors=n.Zlib(1), lossy=True))
    book.close()


def hierarchy(out):
    """Groups, consolidated metadata, names, dimension names, attributes; root arrays of both
    formats.
    """
    for fmt in (2, 3):
        book = Book(out, f"{PREFIX}-v{fmt}-hierarchy")
        zarr.open_group(book.store, mode="w", zarr_format=fmt,
            attributes={"title": "grün", "nan": float("nan")})
        for path in ("a", "g/b", "g/h/c", "g/h/i/j/k/d"):
            names = {"dimension_names": ("y", None)} if fmt == 3 else {}
            write(book, path, sample("<i2", SHAPE, path), CHUNKS, zarr_format=fmt,
                  attributes={"units": "K", "inf": float("inf"), "big": 2**64 - 1}, **names)
        for name in ("with space", "grün", "dot.ted", "a.npy", "-dash", "quote'\"", "back`$(x)",
            "per%cent", "50%", "%41", "a%.b", "star*?[x]",
                     "tab\there", "x" * 200, ".hidden", "0", "c", "名前", "new\nline", "a.raw",
                     "UPPER", "upper", "1.1"):
            path = "evil/" + name
            book.attempt(path,
                lambda: write(book, path, sample("<i2", SHAPE, name), CHUNKS, zarr_format=fmt))
        zarr.consolidate_metadata(book.store)
        book.close()
        book = Book(out, f"{PREFIX}-v{fmt}-root.zarr")
        write(book, "", sample("<f4", SHAPE), CHUNKS, zarr_format=fmt)
        book.arrays[0]["view"] = f"{PREFIX}-v{fmt}-root"
        book.close()


def both_formats(out):
    """v2 and v3 metadata side by side over the same chunks; version 3 is the one to use."""
    book = Book(out, PREFIX + "-both")
    for fmt in (2, 3):
        zarr.open_group(book.store, mode="a" if fmt == 3 else "w", zarr_format=fmt)
    keys = {"name": "v2", "separator": "."}
    for name in ("a", "g/b"):
        data = sample("<f4", SHAPE, name)
        zarr.create_array(book.store, name=name, shape=SHAPE, chunks=CHUNKS, dtype="<f4",
            fill_value=0, zarr_format=2,
                          compressors=None, filters=None, chunk_key_encoding=keys)
        write(book, name, data, CHUNKS, compressors=None, chunk_key_encoding=keys)
    book.close()


def write_all(out):
    types(out, 3)
    types(out, 2)
    vlen(out, 3)
    vlen(out, 2)
    codecs(out)
    filters(out)
    for fmt in (2, 3):
        shapes(out, fmt)
    shards(out)
    codecs_v2(out)
    hierarchy(out)
    both_formats(out)
