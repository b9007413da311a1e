"""Random groups of arrays, and whether programs read of their .h5 and .nc what zarr-python reads.

group_random.py make DIR SEED COUNT   makes the stores 0.zarr, 1.zarr and so on
group_random.py read DIR MOUNT        compares them with the files of a mount of DIR
"""

import json
import os
import sys

import numpy as np
import zarr

import group_files

# Few names of axes, so that groups share them, and arrays have them, too.
AXES = ["x", "y", "time", "level", "lat_1"]
NAMES = AXES + ["t2m", "Höhe", "a b", "x_1", "dim_3", "per%cent", "_under", "UPPER", "values"]
TYPES = "i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8 bool S5 U4 M8[ns] M8[s]".split()
VALUES = [5, -3, 2.5, "text", "", "ß", [1, 2], [1.5], ["a", "ß"], {"a": [1]}, True, None, 2**40]


def make(folder, seed, count):
    for i in range(count):
        rng = np.random.default_rng((seed, i))
        root = zarr.create_group(f"{folder}/{i}.zarr", zarr_format=2 + i % 2)
        lengths = {name: int(rng.integers(1, 5)) for name in AXES}
        fill(rng, root, lengths, depth=0)


def fill(rng, group, lengths, depth):
    """Adds arrays and groups to a group. In a third of the groups below, axes have new lengths."""
    group.attrs.update(attributes(rng))
    if depth and rng.random() < 0.33:
        lengths = {name: int(rng.integers(1, 5)) for name in AXES}
    names = list(rng.permutation(NAMES)[: rng.integers(1, 8)])
    for name in names:
        if depth < 2 and rng.random() < 0.25:
            fill(rng, group.create_group(name), lengths, depth + 1)
        else:
            array(rng, group, name, lengths)


def array(rng, group, name, lengths):
    axes = [str(a) for a in rng.choice(AXES, rng.integers(0, 4), replace=rng.random() < 0.1)]
    if name in AXES and rng.random() < 0.6:
        axes = [name]  # its coordinates
    shape = tuple(lengths[a] for a in axes)
    if rng.random() < 0.15:
        shape = tuple(int(rng.integers(1, 5)) for _ in axes)  # the axis has another length here
    if rng.random() < 0.15:
        axes = None
    elif axes and rng.random() < 0.1 and group.metadata.zarr_format == 3:
        axes[0] = None
    values = elements(rng, shape)
    options = {}
    if axes is not None and group.metadata.zarr_format == 3:
        options["dimension_names"] = axes
    chunks = tuple(int(rng.integers(1, n + 1)) for n in shape)
    a = group.create_array(
        name, shape=shape, chunks=chunks or "auto", dtype=values.dtype, **options
    )
    if rng.random() < 0.9:
        a[...] = values
    a.attrs.update(attributes(rng))
    if axes is not None and group.metadata.zarr_format == 2:
        a.attrs["_ARRAY_DIMENSIONS"] = axes


def elements(rng, shape):
    dtype = np.dtype(str(rng.choice(TYPES)))
    if dtype.kind == "S":
        return rng.choice([b"", b"a", b"abcde"], shape).astype(dtype)
    if dtype.kind == "U":
        return rng.choice(["", "a", "ßöd"], shape).astype(dtype)
    if dtype.kind == "M":
        return rng.integers(0, 10**9, shape).astype(dtype)
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind == "f":
        return rng.normal(size=shape).astype(dtype)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)


def attributes(rng):
    names = [str(n) for n in rng.choice(["units", "title", "Höhe", "n", "list", "k"], 2)]
    return {name + "_": VALUES[rng.integers(len(VALUES))] for name in names}


def read(folder, mount):
    total = {}
    for name in sorted(os.listdir(folder)):
        group = f"{mount}/{name}"
        answer = group_files.read(f"{folder}/{name}", [group + ".h5", group + ".nc"])
        for reader, found in answer.items():
            all_ = total.setdefault(reader, {"arrays": 0, "different": []})
            all_["arrays"] += found["arrays"]
            all_["different"] += [f"{name}: {what}" for what in found["different"]]
    print(json.dumps(total))


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    else:
        read(*sys.argv[2:])
