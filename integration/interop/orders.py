"""Make .npy files in C and in Fortran order, write them as NumPy does, and compare them with arrays
of stores.

serve.py answers with these functions.
"""

import os
import warnings

import numpy as np

SHAPES = [(), (7,), (0,), (6, 6), (7, 11), (7, 1), (1, 7), (4, 0), (0, 4), (5, 4, 3), (2, 1, 5)]
DTYPES = ["|b1", "|i1", ">i2", "<f8", "<c16", "<U3", "<M8[s]", ">u8"]


def values(shape, dtype):
    """An array whose elements all differ, as far as there are so many."""
    n, dt = int(np.prod(shape)), np.dtype(dtype)
    if dt.kind == "U":
        flat = np.array([f"é{i}" for i in range(n)], dt)
    elif dt.kind == "b":
        flat = np.random.default_rng(n).random(n) < 0.5
    else:
        flat = (np.arange(n) % 127).astype(dt)
    return flat.reshape(shape)


def sources(folder):
    """Write a .npy for each shape, type and order, and return them. The header says Fortran order
    for any number of axes.
    """
    made = []
    for fortran in False, True:
        for i, shape in enumerate(SHAPES):
            for k, dtype in enumerate(DTYPES):
                name = f"{'CF'[fortran]}-{'x'.join(map(str, shape))}-{k}.npy"
                save_as(os.path.join(folder, name), values(shape, dtype), fortran)
                made.append({"name": name, "fortran": fortran, "shape": list(shape),
                    "type": np.dtype(dtype).str, "number": i + k})
    return made


def save_as(path, array, fortran):
    with open(path, "wb") as f:
        header = {"descr": np.lib.format.dtype_to_descr(array.dtype), "fortran_order": fortran,
            "shape": array.shape}
        np.lib.format.write_array_header_1_0(f, header)
        f.write(array.tobytes("F" if fortran else "C"))


def by_save(path, array, fortran):
    np.save(path, np.asarray(array, order="CF"[fortran]))


def by_memmap(path, array, fortran):
    mapped = np.lib.format.open_memmap(path, mode="w+", dtype=array.dtype, shape=array.shape,
        fortran_order=fortran)
    mapped[...] = array
    mapped.flush()


def write(way, names, source, targets):
    """Write what the named files of a folder hold to files of that name in others, by np.save or
    open_memmap.
    """
    for name in names:
        for target in targets:
            {"save": by_save, "memmap": by_memmap}[way](os.path.join(target, name),
                np.load(os.path.join(source, name)), name[0] == "F")
    return len(names)


def compare(pairs, readers):
    """Compare arrays with .npy files. Return how many readings there were, and what differs."""
    warnings.simplefilter("ignore")  # of types and codecs that are no standard
    readings, wrong = 0, []
    for path, source in pairs:
        want = np.load(source)
        # other types tensorstore does not know
        for library in ["zarr", "tensorstore"] if want.dtype.kind in "biufc" else ["zarr"]:
            readings += 1
            try:
                found = np.asarray(readers[library](path))
            except Exception as err:  # the libraries may raise anything
                wrong.append(f"{library}: {path}: {type(err).__name__}: {err}")
                continue
            if found.shape != want.shape:
                wrong.append(f"{library}: {path}: shape {found.shape}, expected {want.shape}")
            elif found.astype(want.dtype).tobytes() != want.tobytes():
                wrong.append(f"{library}: {path}: elements differ")
    return {"readings": readings, "wrong": wrong}
