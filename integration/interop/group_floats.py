"""A store of small floating-point numbers, and what programs read of them in its .h5 and .nc.

group_floats.py make STORE    makes arrays of all numbers of each type
group_floats.py read H5 NC    compares the files with what ml_dtypes says that the numbers are
"""

import json
import os
import sys

import ml_dtypes
import numpy as np

FLOATS = ["bfloat16", "float8_e5m2", "float8_e4m3", "float8_e3m4"]
# HDF5 describes only floats that have infinities, as those of IEEE 754.
BYTES = ["float8_e4m3fn", "float8_e4m3b11fnuz", "float8_e4m3fnuz", "float8_e5m2fnuz",
    "float8_e8m0fnu"]
COMPLEX, COMPLEX_BYTES = ["complex_bfloat16"], ["complex_float8_e5m2"]


def stored(name):
    """All numbers of a type, or of the parts of one."""
    dtype = np.dtype(getattr(ml_dtypes, name.removeprefix("complex_")))
    return np.arange(1 << 8 * dtype.itemsize).astype(f"<u{dtype.itemsize}").view(dtype)


def make(store):
    os.makedirs(store)
    with open(f"{store}/zarr.json", "w") as f:
        json.dump({"zarr_format": 3, "node_type": "group"}, f)
    for name in FLOATS + BYTES + COMPLEX + COMPLEX_BYTES:
        is_complex, numbers = name.startswith("complex"), stored(name)
        shape = [numbers.size // (2 if is_complex else 1)]
        document = {
            "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": name,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": shape}},
            "chunk_key_encoding": {"name": "default"},
            "fill_value": [1.0, 1.0] if is_complex else 1.0,
            "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        }
        os.makedirs(f"{store}/{name}/c")
        with open(f"{store}/{name}/zarr.json", "w") as f:
            json.dump(document, f)
        numbers.tofile(f"{store}/{name}/c/0")


def by_h5py(path):
    import h5py

    with h5py.File(path) as f:
        return {name: (item[()], item.attrs.get("dtype")) for name, item in f.items()
            if not item.is_scale}


def by_netcdf4(path):
    import netCDF4

    with netCDF4.Dataset(path) as f:
        f.set_auto_mask(False)
        return {name: (v[:], v.__dict__.get("dtype")) for name, v in f.variables.items()}


def compared(found, floats):
    """What is different about values, and about what is said of those that are bytes."""
    different = []
    for name, (values, note) in found.items():
        if name in floats:
            same = values.dtype.kind in "fc" and np.array_equal(
                values.view("f4") if values.dtype.kind == "c" else values.astype("f4"),
                stored(name).astype("f4"), equal_nan=True)
        else:  # bytes, and an attribute that says what they are
            same = note is not None and values.tobytes() == stored(name).tobytes()
        if not same:
            different.append(f"{name}: {values[:4]!r} of type {values.dtype}, noted {note}")
    return {"arrays": len(found), "different": different}


def refused(path, name):
    """Whether a write to an array of a file is refused. libhdf5 would crash after that."""
    import h5py

    with h5py.File(path) as f:
        at = f[name].id.get_offset()
    file = os.open(path, os.O_RDWR)
    try:
        os.pwrite(file, b"\1" * 4, at)
    except PermissionError:
        return True
    finally:
        os.close(file)
    return False


def main():
    verb, *args = sys.argv[1:]
    if verb == "make":
        return make(*args)
    h5, nc = args
    if not all(refused(nc, name) for name in FLOATS):
        raise SystemExit("a number was written in another form")
    print(json.dumps({
        "h5 h5py": compared(by_h5py(h5), FLOATS + COMPLEX),
        "nc h5py": compared(by_h5py(nc), FLOATS),
        "nc netCDF4": compared(by_netcdf4(nc), FLOATS),
    }))


if __name__ == "__main__":
    main()
