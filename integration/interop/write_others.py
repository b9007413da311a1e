"""Stores of the libraries that people use above the Zarr ones, and of the writers in C and C++.

What an array must read as is what the library was given. Where it makes arrays of its own, such as
indexes and levels of a pyramid, it is what zarr-python reads, which the library itself reads with.
"""

import itertools
import json
import os

import numpy as np
import zarr

import write_programs
import write_zarr3
import zarrita
from book import Book
from cases import sample

SHAPE = (23, 17)


def open_book(out, name, fmt):
    book = Book(out, f"others-{name}-v{fmt}")
    zarr.open_group(book.store, mode="w", zarr_format=fmt)
    return book


def arrays_below(folder):
    """The paths of all arrays of a store, whatever its groups are."""
    for root, _, files in os.walk(folder):
        if ".zarray" in files:
            yield os.path.relpath(root, folder)
        elif "zarr.json" in files:
            with open(os.path.join(root, "zarr.json")) as f:
                if json.load(f)["node_type"] == "array":
                    yield os.path.relpath(root, folder)


def add_stored(book):
    """Add what is stored and not added yet, as zarr-python reads it."""
    known = {a["path"] for a in book.arrays}
    for path in sorted(arrays_below(book.store)):
        if path in known:
            continue
        array = zarr.open_array(book.store, path=path, mode="r")
        data = array[...]
        if data.dtype.kind in "OT":
            book.add_lines(path, np.array(data, object))
        else:
            book.add(path, write_zarr3.stored_order(array, np.asarray(data)))


def with_xarray(out):
    import xarray as xr

    for fmt in (2, 3):
        book = open_book(out, "xarray", fmt)
        times = np.arange("2026-01-01", "2026-01-11", dtype="M8[D]").astype("M8[ns]")
        dataset = xr.Dataset(
            {"t": (("time", "x"), sample("<f4", (10, 7), special=False)),
                "n": (("time", "x"), sample("<i2", (10, 7))),
             "packed": (("time", "x"), np.round(sample("<f8", (10, 7), special=False), 1)),
             "flag": ("x", sample("|b1", (7,))),
             "z": ("x", sample("<c16", (7,))), "names": ("x", np.array(list("abcdefg"))),
             "scalar": ((), 3.5)},
            {"time": times, "x": np.arange(7) * 0.5})
        encoding = {"packed": {"dtype": "i4", "scale_factor": 0.1, "_FillValue": -9999},
            "t": {"chunks": (4, 3)}}
        if fmt == 3:
            encoding["n"] = {"chunks": (2, 3), "shards": (4, 6)}
        for name, kw in {"plain": {}, "cf": {"encoding": encoding}}.items():
            book.attempt(name, lambda: dataset.to_zarr(book.store, group=name, zarr_format=fmt,
                consolidated=False, **kw))
        book.attempt("cf",
            lambda: dataset.to_zarr(book.store, group="cf", append_dim="time", consolidated=False))
        book.attempt("plain",
            lambda: dataset[["t"]].isel(time=slice(0, 4)).drop_vars(["time", "x"]).to_zarr(
            book.store, group="plain", region={"time": slice(0, 4)}, consolidated=False))
        add_stored(book)
        book.close()
        book = Book(out, f"others-datatree-v{fmt}")
        tree = xr.DataTree.from_dict({"/": dataset[["t"]], "/fine": dataset[["n"]],
            "/fine/deep": dataset[["flag"]]})
        tree.to_zarr(book.store, zarr_format=fmt, consolidated=False)
        add_stored(book)
        book.close()


def with_dask(out):
    import dask.array as da

    for fmt in (2, 3):
        book = open_book(out, "dask", fmt)
        for dtype, chunks in itertools.product(("|u1", "<i4", "<f8", "<c8", "|b1", ">i2"),
                ((5, 4), (23, 1))):
            data = sample(dtype, SHAPE)
            path = f"{np.dtype(dtype).name}_{chunks[0]}" + ("_big" if dtype[0] == ">" else "")
            book.attempt(path, lambda: da.from_array(data, chunks=chunks).to_zarr(book.store,
                component=path, zarr_format=fmt))
        add_stored(book)
        book.close()


def with_anndata(out):
    import anndata
    import pandas
    import scipy.sparse

    for fmt in (2, 3):
        book = open_book(out, "anndata", fmt)
        anndata.settings.zarr_write_format = fmt
        observed = pandas.DataFrame(
            {"kind": pandas.Categorical(["a", "b", "a"] * 4), "n": np.arange(12),
                "note": [f"grün {i}" for i in range(12)]},
            index=[f"cell{i}" for i in range(12)])
        for name, x in {"dense": sample("<f4", (12, 5), special=False), "sparse":
                scipy.sparse.random(12, 5, 0.4, "csr", dtype="f4", random_state=1)}.items():
            cells = anndata.AnnData(x, obs=observed, layers={"counts": sample("<i4", (12, 5))},
                obsm={"pca": sample("<f8", (12, 2))})
            cells.write_zarr(os.path.join(book.store, name))
        add_stored(book)
        book.close()


def with_ome_zarr(out):
    from ome_zarr.format import FormatV04, FormatV05
    from ome_zarr.writer import write_image, write_labels

    for fmt, form in ((2, FormatV04()), (3, FormatV05())):
        book = open_book(out, "ome-zarr", fmt)
        for dtype in ("|u1", "<u2", "<f4"):
            image = sample(dtype, (2, 64, 48), special=False)
            group = zarr.open_group(book.store, path=f"image_{dtype[1:]}", mode="w",
                zarr_format=fmt)
            write_image(image, group, axes="cyx", fmt=form)
            write_labels((image[0] > 5).astype("|u1"), group, name="cells", axes="yx", fmt=form)
        add_stored(book)
        book.close()


def with_acquire(out):
    import acquire_zarr as aqz

    book = open_book(out, "acquire-zarr", 3)
    for dtype, codec in itertools.product(("uint8", "int16", "uint32", "float32", "float64"),
            (None, aqz.CompressionCodec.BLOSC_LZ4)):
        data = sample("<" + np.dtype(dtype).str[1:] if dtype != "uint8" else "|u1", (6, 20, 30),
            special=False)
        path = f"{dtype}_{'lz4' if codec else 'raw'}"
        compression = None
        if codec:
            compression = aqz.CompressionSettings(compressor=aqz.Compressor.BLOSC1, codec=codec,
                level=3, shuffle=1)
        dimensions = [aqz.Dimension(name=n, kind=k, array_size_px=size, chunk_size_px=chunk,
            shard_size_chunks=shard)
                      for n, k, size, chunk, shard in (("t", aqz.DimensionType.TIME, 0, 2, 1),
                          ("y", aqz.DimensionType.SPACE, 20, 10, 2),
                                                       ("x", aqz.DimensionType.SPACE, 30, 10, 1))]
        settings = aqz.StreamSettings(store_path=os.path.join(book.store, path), overwrite=True,
            arrays=[aqz.ArraySettings(
            output_key="data", dimensions=dimensions,
            data_type=getattr(aqz.DataType, dtype.upper()), compression=compression)])

        def write():
            stream = aqz.ZarrStream(settings)
            stream.append(data, "data")
            stream.close()
            book.add(path + "/data", data)

        book.attempt(path, write)
    book.close()


def with_netcdf(out):
    import netCDF4

    for mode in ("nczarr", "zarr", "xarray"):
        book = Book(out, f"others-netcdf-{mode}")
        filters = {"none": {}, "zlib": {"compression": "zlib", "shuffle": False},
            "shuffle": {"compression": "zlib", "shuffle": True},
                   "zstd": {"compression": "zstd"}}
        with netCDF4.Dataset(f"file://{book.store}#mode={mode},file", "w") as d:
            d.createDimension("y", SHAPE[0])
            d.createDimension("x", SHAPE[1])
            for (label, conf), dtype in itertools.product(filters.items(),
                    ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8")):
                data = sample(np.dtype(dtype).str, SHAPE, label)
                name = f"{dtype}_{label}"

                def write():
                    v = d.createVariable(name, dtype, ("y", "x"), chunksizes=(8, 5), **conf)
                    v.set_auto_maskandscale(False)
                    v[...] = data
                    book.add(name, data)

                book.attempt(name, write)
        book.close()


def with_gdal(out):
    import rasterio

    both = {"plain": {}, "gzip": {"COMPRESS": "GZIP"}, "zstd": {"COMPRESS": "ZSTD"},
        "blosc": {"COMPRESS": "BLOSC"}, "blocks": {"BLOCKSIZE": "8,5"}}
    options = {2: {**both, "zlib": {"COMPRESS": "ZLIB"}, "lzma": {"COMPRESS": "LZMA"}}, 3: both}
    for fmt, label, conf in ((fmt, *option) for fmt in options for option in options[fmt].items()):
        book = open_book(out, "gdal-" + label, fmt)
        for dtype in ("|u1", "|i1", "<u2", "<i2", "<i4", "<u4", "<i8", "<f4", "<f8", "<c8", "<c16"):
            data = sample(dtype, SHAPE, label)
            name = dtype[1:]
            path = os.path.join(book.store, name)

            def write():
                with rasterio.open(path, "w", driver="Zarr", height=SHAPE[0], width=SHAPE[1],
                    count=1, dtype=data.dtype.name,
                                   FORMAT=f"ZARR_V{fmt}", **conf) as f:
                    f.write(data, 1)
                for at in arrays_below(path):
                    with open(os.path.join(path, at, "zarr.json" if fmt == 3 else ".zarray")) as f:
                        if len(json.load(f)["shape"]) == 2:
                            book.add(os.path.normpath(f"{name}/{at}"), data)

            book.attempt(name, write)
        book.close()


def with_zarrita(out):
    """All numbers but those of 64 bits, for which it writes no fill value."""
    book = open_book(out, "zarrita", 3)
    chains = {"bytes": [], "zstd": [{"name": "zstd", "configuration": {"level": 3}}],
              "turned": [{"name": "transpose", "configuration": {"order": [1, 0]}}]}
    for dtype, (label, chain) in itertools.product(
            ("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<f4", "<f8"), chains.items()):
        data = sample(dtype, SHAPE, label)
        path = f"{dtype[1:]}_{label}"
        little = {"name": "bytes", "configuration": {"endian": "little"}}
        codecs = chain + [little] if label == "turned" else [little] + chain
        options = {"shape": SHAPE, "chunkShape": (5, 4), "dtype": data.dtype.name, "codecs": codecs,
            "fillValue": None}

        def write():
            zarrita.write(book.store, path, options,
                np.asfortranarray(data) if label == "turned" else data)
            book.add(path, data)

        book.attempt(path, write)
    book.close()


def write_all(out):
    if zarrita.installed():
        with_zarrita(out)
    write_programs.write_all(out)
    for write in (with_xarray, with_dask, with_anndata, with_ome_zarr, with_acquire,
            with_netcdf, with_gdal):
        write(out)
