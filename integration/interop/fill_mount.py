#!/usr/bin/env python3
"""Make arrays through a mount, with plain NumPy and the shell's means, for other libraries to read
from the store.

Usage: fill_mount.py MOUNT EXPECTED FORMAT [plain]

EXPECTED/NNN.npy is what the array at a path of EXPECTED/arrays.json must read as. With "plain"
there are only integers and floats, for netcdf-c, which opens no file that has anything else.
"""

import itertools
import json
import os
import shutil
import sys

import numpy as np

from cases import FLAT_STRUCTS, NUMBERS, RAW, SHAPE, STRINGS, TIMES, name_of, sample

SHAPES = {"0d": (), "1d": (23,), "row": (1, 9), "empty": (0, 5), "3d": (5, 6, 7)}


def by_save(path, data):
    np.save(path, data)


def by_copy(path, data):
    # no view of an array that anybody knows, but a file of the mount
    np.save(path + ".tmp.npy", data)
    shutil.move(path + ".tmp.npy", path)


def by_memmap(path, data):
    mapped = np.lib.format.open_memmap(path, "w+", data.dtype, data.shape,
        fortran_order=data.flags.fnc)
    mapped[...] = data
    mapped.flush()


def by_parts(path, data):
    """Half the rows, and the rest appended to the .raw."""
    half = len(data) // 2
    np.save(path, data[:half])
    with open(path[:-4] + ".raw", "ab") as f:
        f.write(data[half:].tobytes())


class Filled:
    def __init__(self, mount, expected):
        self.mount, self.expected, self.arrays = mount, expected, []

    def add(self, group, name, data, write=by_save):
        os.makedirs(os.path.join(self.mount, group), exist_ok=True)
        path = os.path.join(self.mount, group, name + ".npy")
        write(path, data)
        os.setxattr(path, "user.zarr.dimension_names",
            json.dumps([f"{name}_{i}" for i in range(data.ndim)]).encode())
        os.setxattr(path, "user.zarr.attr.units", b"K")
        file = f"{len(self.arrays):03d}.npy"
        np.save(os.path.join(self.expected, file), data)
        self.arrays.append({"path": f"{group}/{name}", "expected": file})

    def close(self):
        with open(os.path.join(self.expected, "arrays.json"), "w") as f:
            json.dump(self.arrays, f)
        print(f"{len(self.arrays)} arrays")


def main():
    mount, expected, fmt, *plain = sys.argv[1:]
    os.makedirs(expected, exist_ok=True)
    filled = Filled(mount, expected)
    if plain:
        for dtype in NUMBERS:
            if dtype[1:] not in ("b1", "f2", "c8", "c16"):
                filled.add("types", name_of(dtype), sample(dtype, SHAPE))
        return filled.close()
    for dtype in NUMBERS + STRINGS + RAW + TIMES:
        filled.add("types", name_of(dtype), sample(dtype, SHAPE))
    for name, fields in FLAT_STRUCTS.items():
        orders = {d[1][0] for d in fields if d[1][0] in "<>"}
        if fmt == "2" or len(orders) < 2:  # format 3 has one byte order for all fields
            filled.add("structs", name.replace(" ", "_"), sample(fields, (11,)))
    for (name, shape), dtype in itertools.product(SHAPES.items(), ("|u1", ">i4", "<f8", "<c8")):
        filled.add("shapes", f"{name}_{name_of(dtype)}", sample(dtype, shape))
    for dtype, write in itertools.product(("|i1", "<i2", ">f4", "<c16"),
            (by_copy, by_memmap, by_parts)):
        filled.add("ways", f"{write.__name__}_{name_of(dtype)}", sample(dtype, SHAPE), write)
    for dtype, write in itertools.product(("<i2", ">f8"), (by_save, by_copy, by_memmap)):
        filled.add("fortran", f"{write.__name__}_{name_of(dtype)}",
            np.asfortranarray(sample(dtype, SHAPE)), write)
    filled.close()


if __name__ == "__main__":
    main()
