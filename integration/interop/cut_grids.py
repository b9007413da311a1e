"""Read arrays whose chunks differ in shape, which the array classes of the libraries do not know.

Where the chunks are NumPy adds up from their lengths, and their keys are put together here. Each
object is made an array of one chunk in memory, which zarr-python 3 decodes; a missing one is the
fill value.
"""

import base64
import itertools
import json
import os

import numpy as np


def lengths_of(grid, shape):
    """The lengths of all chunks along each axis, as far as the grid's document lists or bounds
    them.
    """
    conf = grid["configuration"]
    if grid["name"] == "zarrs.regular_bounded":
        return [[min(c, n - at) for at in range(0, n, c)]
            for n, c in zip(shape, conf["chunk_shape"])]
    axes = conf["chunk_shapes" if grid["name"] == "rectilinear" else "chunk_shape"]
    return [listed(axis, n) for axis, n in zip(axes, shape)]


def listed(axis, n):
    if isinstance(axis, int):
        return [axis] * -(-n // axis)
    return [length for item in axis
        for length in ([item[0]] * item[1] if isinstance(item, list) else [item])]


def chunks_of(document):
    """The key of each chunk that begins within the array, its shape, and where it begins."""
    shape, keys = document["shape"], document["chunk_key_encoding"]
    assert keys["name"] == "default"
    ends = [np.cumsum([0, *lengths]) for lengths in lengths_of(document["chunk_grid"], shape)]
    for n, end in zip(shape, ends):
        assert end[-1] >= n, f"chunks of {end[-1]} elements, expected {n}"
    counts = [int(np.searchsorted(end, n)) for n, end in zip(shape, ends)]
    for at in itertools.product(*map(range, counts)):
        key = keys["configuration"]["separator"].join(["c", *map(str, at)])
        yield (
            key,
            [int(end[i + 1] - end[i]) for i, end in zip(at, ends)],
            [int(end[i]) for i, end in zip(at, ends)]
        )


def decoded(document, shape, data):
    """The elements of an object of that shape."""
    import zarr

    grid = {"name": "regular", "configuration": {"chunk_shape": shape}}
    document = {**document, "shape": shape, "chunk_grid": grid,
        "chunk_key_encoding": {"name": "v2"}}
    objects = {"zarr.json": json.dumps(document).encode(), ".".join("0" for _ in shape): data}
    buffer = zarr.core.buffer.default_buffer_prototype().buffer.from_bytes
    store = zarr.storage.MemoryStore({key: buffer(data) for key, data in objects.items()})
    return zarr.open_array(store, mode="r")[...]


def filled(document):
    """An array of nothing but fill value, of objects where elements have no fixed size."""
    shape, fill = document["shape"], document["fill_value"]
    if document["data_type"] not in ("string", "variable_length_bytes"):
        return np.full(shape, fill, document["data_type"])
    array = np.empty(shape, object)
    array[...] = fill if document["data_type"] == "string" else base64.b64decode(fill)
    return array


def read(path):
    """The whole array. It is an error if there are other objects than those of its chunks."""
    with open(os.path.join(path, "zarr.json")) as f:
        document = json.load(f)
    found = {os.path.relpath(os.path.join(folder, name), path) for folder, _, names in os.walk(path)
        for name in names}
    found.remove("zarr.json")
    array = filled(document)
    for key, shape, start in chunks_of(document):
        if key not in found:
            continue
        found.remove(key)
        with open(os.path.join(path, key), "rb") as f:
            chunk = decoded(document, shape, f.read())
        region = tuple(slice(at, at + n) for at, n in zip(start, shape))
        inside = array[region].shape
        array[region] = chunk[tuple(slice(n) for n in inside)]
    if found:
        raise ValueError(f"objects of no chunk: {sorted(found)}")
    return array
