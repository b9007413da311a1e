"""What libmatio, mat73 and h5py read of a group's .mat file, compared with what zarr-python reads.

mat_files.py STORE FILE    prints what group_files.py prints
"""

import ctypes
import ctypes.util
import json
import re
import sys
import warnings

import numpy as np
import zarr

warnings.simplefilter("ignore")


class Variable(ctypes.Structure):
    """The beginning of libmatio's matvar_t."""

    _fields_ = [
        ("nbytes", ctypes.c_size_t),
        ("rank", ctypes.c_int),
        ("data_type", ctypes.c_int),
        ("data_size", ctypes.c_int),
        ("class_type", ctypes.c_int),
        ("is_complex", ctypes.c_int),
        ("is_global", ctypes.c_int),
        ("is_logical", ctypes.c_int),
        ("dims", ctypes.POINTER(ctypes.c_size_t)),
        ("name", ctypes.c_char_p),
        ("data", ctypes.c_void_p),
    ]


class Split(ctypes.Structure):
    """libmatio's complex numbers."""

    _fields_ = [("re", ctypes.c_void_p), ("im", ctypes.c_void_p)]


TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8",
         13: "u8", 16: "u1", 17: "u2"}
STRUCT, CHAR = 2, 4  # classes


class Libmatio:
    def __init__(self, file):
        lib = self.lib = ctypes.CDLL(ctypes.util.find_library("matio"))
        for name in ("Mat_Open", "Mat_VarRead", "Mat_VarGetStructFieldByName"):
            getattr(lib, name).restype = ctypes.c_void_p
        self.file = ctypes.c_void_p(lib.Mat_Open(file.encode(), 0))
        if not self.file:
            raise OSError(f"libmatio cannot open {file}")

    def find(self, path):
        first, *rest = path
        at = self.lib.Mat_VarRead(self.file, first.encode())
        for name in rest:
            at = at and self.lib.Mat_VarGetStructFieldByName(
                ctypes.c_void_p(at), name.encode(), ctypes.c_size_t(0)
            )
        if not at:
            raise KeyError(path)
        return Variable.from_address(at)

    def values(self, path):
        v = self.find(path)
        dims = tuple(v.dims[i] for i in range(v.rank))
        kind, count = TYPES[v.data_type], int(np.prod(dims))

        def numbers(address):
            size = count * np.dtype(kind).itemsize
            return np.frombuffer(ctypes.string_at(address, size), kind).reshape(dims, order="F")

        if count == 0:
            return np.zeros(dims)
        if v.is_complex:
            parts = Split.from_address(v.data)
            found = np.empty(dims, "c8" if kind == "f4" else "c16", order="F")
            found.real, found.imag = numbers(parts.re), numbers(parts.im)
            return found
        found = numbers(v.data)
        return found.astype(bool) if v.is_logical else found


class Mat73:
    """mat73 squeezes axes, and makes texts of characters, which the others compare."""

    def __init__(self, file):
        import mat73

        self.all = mat73.loadmat(file)

    def values(self, path):
        at = self.all
        for name in path:
            at = at[name]
        return None if at is None or isinstance(at, (str, list)) else np.asarray(at)


class H5py:
    def __init__(self, file):
        import h5py

        self.root = h5py.File(file)

    def values(self, path):
        d = self.root["/".join(path)]
        found = d[()]
        if d.attrs.get("MATLAB_empty"):
            return np.zeros(tuple(found))
        if found.dtype.names:
            parts = found["real"].astype(found["real"].dtype.newbyteorder("="))
            whole = np.empty(parts.shape, "c8" if parts.dtype == "f4" else "c16")
            whole.real, whole.imag = parts, found["imag"]
            found = whole
        return (found.astype(bool) if d.attrs["MATLAB_class"] == b"logical" else found).T


def as_matlab(a):
    """An array as MATLAB has it: its axes reversed, two at least, texts as characters."""
    if a.dtype.kind in "UTO":
        longest = max((len(str(v)) for v in a.ravel()), default=1)
        width = 2 * (a.dtype.itemsize // 4 if a.dtype.kind == "U" else max(longest, 1))
        units = [str(v).encode("utf-16-le").ljust(2 * width, b"\0") for v in a.ravel()]
        a = np.frombuffer(b"".join(units), "<u2").reshape((*a.shape, width))
        a = a.reshape(-1, 1) if a.ndim == 1 else a
    elif a.dtype.kind == "S":
        width = a.dtype.itemsize
        a = np.frombuffer(a.tobytes(), "u1").astype("u2").reshape((*a.shape, width))
    elif a.dtype.kind in "mM":
        a = a.view("i8")
    elif a.dtype == "f2" or a.dtype == ">f2":
        a = a.astype("f4")
    while a.ndim < 2:
        a = a[None]
    return a.T


def matlab_name(name):
    name = re.sub("[^A-Za-z0-9_]", "_", name)
    return name if name[0].isalpha() else "x" + name


def compare(reader, group, path, different):
    count = 0
    for name, a in group.members():
        at = [*path, matlab_name(name)]
        if isinstance(a, zarr.Group):
            count += compare(reader, a, at, different)
            continue
        if a.dtype.names:  # MATLAB has no such variables but as cells
            continue
        count += 1
        wanted = as_matlab(np.asarray(a[...]))
        try:
            found = reader.values(at)
        except Exception as err:
            different.append(f"{at}: {err!r}")
            continue
        if isinstance(reader, Mat73):
            if found is None:
                continue
            wanted, found = np.squeeze(wanted), np.squeeze(found)
        same = found.shape == wanted.shape and (
            wanted.size == 0
            or found.dtype.newbyteorder("=") == wanted.dtype.newbyteorder("=")
            and np.array_equal(found, wanted, equal_nan=found.dtype.kind in "fc")
        )
        if not same:
            different.append(
                f"{at}: {found.dtype} {found.shape} {found.ravel()[:3]}, expected "
                f"{wanted.dtype} {wanted.shape} {wanted.ravel()[:3]}"
            )
    return count


def main():
    store, file = sys.argv[1:]
    answer = {}
    for reader in (Libmatio, Mat73, H5py):
        different = []
        try:
            count = compare(reader(file), zarr.open_group(store, mode="r"), [], different)
        except Exception as err:
            count = 0
            different.append(repr(err))
        answer[reader.__name__] = {"arrays": count, "different": different}
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
