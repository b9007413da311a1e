#!/usr/bin/env python3
"""Do one of the benchmark's operations with a library, and print the time as JSON.

Usage: peer.py tensorstore|zarr|zarrs OP STORE ARRAY FORMAT

Interpreter start and opening the array are not counted.
"""

import json
import os
import sys

import numpy as np

from runs import HOT_READS, HOT_RUNS, RAND_RUNS, column, measured, random_runs


def open_tensorstore(store, name, fmt, op):
    """An array to read from. Its cache is off, as is its default, but for hot reads."""
    import tensorstore as ts

    context = {"cache_pool": {"total_bytes_limit": 1 << 30}} if op == "hot" else {}
    array = ts.open({
        "driver": "zarr3" if fmt == 3 else "zarr", "context": context,
        "kvstore": {"driver": "file", "path": os.path.join(store, name) + "/"},
    }, read=True).result()
    return array, lambda index: array[index].read().result()


def open_zarr(store, name, fmt, op):
    import zarr

    array = zarr.open_array(store, path=name, mode="r", zarr_format=fmt)
    return array, lambda index: np.asarray(array[index])


def open_zarrs(store, name, fmt, op):
    import zarr
    import zarrs  # registers the pipeline

    assert zarrs.ZarrsCodecPipeline
    zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"})
    return open_zarr(store, name, fmt, op)


def main():
    library, op, store, name, fmt = sys.argv[1:]
    array, read = globals()["open_" + library](store, name, int(fmt), op)
    shape, itemsize = (
        tuple(array.shape), np.dtype(getattr(array.dtype, "numpy_dtype", array.dtype)).itemsize)
    everything = tuple(slice(None) for _ in shape)

    def read_runs(runs, n):
        for *lead, start in runs:
            if read((*lead, slice(start, start + n))).size != n:
                raise SystemExit("short read")

    if op == "seq":
        result = measured(lambda: read(everything))
    elif op == "rand":
        result = measured(lambda: read_runs(*random_runs(shape, itemsize, RAND_RUNS, 1)))
    elif op == "hot":
        runs, n = random_runs(shape, itemsize, HOT_RUNS, 2)
        read_runs(runs, n)
        again = (runs * (HOT_READS // HOT_RUNS))[:HOT_READS]
        result = measured(lambda: read_runs(again, n))
    elif op == "col":
        result = measured(lambda: read((slice(None), *column(shape))))
    else:
        raise SystemExit(f"no operation {op}")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
