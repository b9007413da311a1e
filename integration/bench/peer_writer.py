#!/usr/bin/env python3
"""Do one of the benchmark's write operations with a library, and print the time as JSON.

Usage: peer_writer.py tensorstore|zarr|zarrs OP STORE SOURCE FORMAT ROWS

The data is in memory before the time starts; interpreter start and opening the array are not
counted.
"""

import json
import os
import sys

import numpy as np

from runs import APPENDS, RAND_RUNS, measured, random_runs
from writer import new_values


class Tensorstore:
    def __init__(self, store, fmt):
        import tensorstore as ts

        self.array = ts.open({
            "driver": "zarr3" if fmt == 3 else "zarr",
            "kvstore": {"driver": "file", "path": os.path.join(store, "a") + "/"},
        }, open=True).result()

    def write(self, index, values):
        self.array[index].write(values).result()

    def write_all(self, indices, values):
        for future in [self.array[i].write(values) for i in indices]:
            future.result()

    def append(self, values):
        start = self.array.shape[0]
        shape = [start + len(values), *self.array.shape[1:]]
        self.array = self.array.resize(exclusive_max=shape).result()
        self.array[start : shape[0]].write(values).result()


class Zarr:
    def __init__(self, store, fmt):
        import zarr

        self.array = zarr.open_array(store, path="a", mode="r+", zarr_format=fmt)

    def write(self, index, values):
        self.array[index] = values

    def write_all(self, indices, values):
        for i in indices:
            self.array[i] = values

    def append(self, values):
        self.array.append(values)


class Zarrs(Zarr):
    def __init__(self, store, fmt):
        import zarr
        import zarrs  # registers the pipeline

        assert zarrs.ZarrsCodecPipeline
        zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"})
        super().__init__(store, fmt)


LIBRARIES = {"tensorstore": Tensorstore, "zarr": Zarr, "zarrs": Zarrs}


def main():
    library, op, store, source, fmt, rows = sys.argv[1:]
    array, rows = LIBRARIES[library](store, int(fmt)), int(rows)
    data = np.load(source, mmap_mode="r" if op == "randw" else None)
    if op in ("write", "over"):
        everything = tuple(slice(None) for _ in data.shape)
        result = measured(lambda: array.write(everything, data))
    elif op == "randw":
        runs, n = random_runs(data.shape, data.itemsize, RAND_RUNS, 3)
        indices = [(*lead, slice(start, start + n)) for *lead, start in runs]
        result = measured(lambda: array.write_all(indices, new_values(data.dtype, n)))
    elif op == "append":
        pieces = [p for i in range(APPENDS) if len(p := data[i * rows : (i + 1) * rows])]
        result = measured(lambda: [array.append(p) for p in pieces])
    else:
        raise SystemExit(f"no operation {op}")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
