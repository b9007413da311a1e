#!/usr/bin/env python3
"""Read and write arrays with the libraries that people use, for tests: one JSON request a line, one
answer a line.

Requests are objects: {"do": NAME, ...arguments}, see the functions below. The
answer is {"ok": RESULT} or {"error": TEXT}. Runs in either environment, with
what it has: zarr-python 2, or zarr-python 3 and tensorstore.
"""

import json
import os
import sys

import numpy as np

import cut_grids
import orders
import runs


def by_zarr(path, mode="r", sync=None):
    import zarr

    if sync is None:
        return zarr.open_array(path, mode=mode)
    store, name = os.path.split(path)
    return zarr.open_array(store, path=name, mode=mode, synchronizer=zarr.ProcessSynchronizer(sync))


def by_tensorstore(path):
    import tensorstore as ts

    driver = "zarr3" if os.path.exists(os.path.join(path, "zarr.json")) else "zarr"
    return ts.open({"driver": driver, "kvstore": {"driver": "file", "path": path + "/"}},
        open=True).result()


def bytes_of(array, dtype):
    return np.ascontiguousarray(np.asarray(array).astype(dtype, copy=False)).tobytes()


def different(found, want):
    if len(found) != len(want):
        return f"{len(found)} bytes, expected {len(want)}"
    a, b = np.frombuffer(found, "u1"), np.frombuffer(want, "u1")
    bad = np.flatnonzero(a != b)
    if len(bad):
        at = bad[0]
        return (
            f"{len(bad)} of {len(b)} bytes differ, "
            f"first at {at}: {a[at]:#04x}, expected {b[at]:#04x}")
    return None


READERS = {
    "zarr": lambda path: by_zarr(path)[...],
    "tensorstore": lambda path: by_tensorstore(path).read().result(),
    "cut_grids": cut_grids.read,
}


def check(path, dtype, expected, libraries):
    """Read the whole array with each library; return what differs from the file of expected bytes,
    or "".
    """
    with open(expected, "rb") as f:
        want = f.read()
    for name in libraries:
        wrong = different(bytes_of(READERS[name](path), dtype), want)
        if wrong:
            return f"{name}: {wrong}"
    return ""


def read(path, dtype, out):
    """Write the bytes of the whole array, as zarr-python reads it, to a file; return its shape."""
    array = np.asarray(by_zarr(path)[...])
    with open(out, "wb") as f:
        f.write(bytes_of(array, dtype))
    return list(array.shape)


def write(library, path, rounds, start, stop, step, first, sync=None):
    """Set elements start:stop:step of a 1-d array, one by one, in each round to one more than
    before.
    """
    array = by_zarr(path, "r+", sync) if library == "zarr" else by_tensorstore(path)
    for value in range(first, first + rounds):
        for i in range(start, stop, step):
            if library == "zarr":
                array[i] = value
            else:
                array[i].write(np.asarray(value, array.dtype.numpy_dtype)).result()
    return rounds


def contents(path, sources):
    """Return by path, for each array of a store, the name of the .npy file of the folder sources
    that has its content, and its units.
    """
    import zarr

    known = {name: np.load(os.path.join(sources, name))
        for name in os.listdir(sources) if name.endswith(".npy")}

    def name_of(array):
        data = array[...]
        return next((name for name, want in known.items() if want.dtype == data.dtype
            and np.array_equal(want, data)), str(data))

    members = zarr.open_group(path, mode="r", use_consolidated=False).members(max_depth=None)
    return {name: [name_of(a), a.attrs.get("units", "")]
        for name, a in members if isinstance(a, zarr.Array)}


DO = {
    "check": check,
    "read": read,
    "write": write,
    "contents": contents,
    "runs": runs.of_all,
    "described": runs.described,
    "orders_sources": orders.sources,
    "orders_write": orders.write,
    "orders_compare": lambda pairs: orders.compare(pairs, READERS),
}


def main():
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = {"ok": DO[request.pop("do")](**request)}
        except Exception as err:  # the test decides what an error means
            answer = {"error": f"{type(err).__name__}: {err}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
