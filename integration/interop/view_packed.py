"""Packed arrays as NIfTI: nibabel finds the values that CF says, or the file cannot be opened.

view_packed.py make STORE      makes a store
view_packed.py read MOUNT      reads it through a mount, and prints how many files were read
"""

import sys

import numpy as np

CASES = {
    "usual": ("i2", {"scale_factor": 0.01, "add_offset": 273.15}, True),
    "exact": ("i4", {"scale_factor": 0.5, "add_offset": 3}, True),
    "unsigned": ("i1", {"scale_factor": 0.5, "_Unsigned": "true"}, True),
    "zero": ("i2", {"scale_factor": 0, "add_offset": 3}, False),
    "tiny": ("i2", {"scale_factor": 1e-50, "add_offset": 3}, False),
    "huge": ("i2", {"scale_factor": 1e300}, False),
    "far": ("i2", {"add_offset": 1e9 + 1}, False),
    "fine": ("i4", {"scale_factor": 0.1}, False),
}


def make(store):
    import zarr

    group = zarr.create_group(store)
    for name, (dtype, attributes, _) in CASES.items():
        array = group.create_array(name, shape=(2, 3), dtype=dtype, attributes=attributes)
        array[...] = np.array([[0, 1, 2], [-1, -2, np.iinfo(dtype).max]])


def wanted(path, dtype, attributes):
    stored = np.fromfile(path + ".raw", dtype).reshape(2, 3)
    if attributes.get("_Unsigned") == "true":
        stored = stored.view(dtype.replace("i", "u"))
    return stored * attributes.get("scale_factor", 1.0) + attributes.get("add_offset", 0)


def read(mount):
    import os

    import nibabel

    for name, (dtype, attributes, is_said) in CASES.items():
        path = os.path.join(mount, name)
        want = wanted(path, dtype, attributes)
        assert (name + ".nii" in os.listdir(mount)) == is_said, f"{name}: listed"
        try:
            open(path + ".nii", "rb").close()
            assert is_said, f"{name} can be opened"
        except OSError as e:
            assert not is_said, f"{name}: {e}"
            path += "@{scale}"
        got = nibabel.load(path + ".nii").get_fdata().T
        assert np.allclose(got, want, rtol=1e-7, atol=0), f"{name}: {got}, expected {want}"
    print(len(CASES), "files")


{"make": make, "read": read}[sys.argv[1]](sys.argv[2])
