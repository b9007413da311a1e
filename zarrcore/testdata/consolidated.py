"""Writes two stores with consolidated metadata, one with each of two Python environments:

    python consolidated.py v3    # zarr-python 3: consolidated-v3.zip, documents inline
    python consolidated.py v2    # zarr-python 2: consolidated-v2.zip, .zmetadata

Each has the arrays "a" and "g/b" with the elements 0, 1, 2, ..., and the empty group "g/h".
"""

import sys
import warnings

import numpy as np
import zarr

warnings.simplefilter("ignore")


def main():
    version = sys.argv[1]
    store = zarr.storage.ZipStore(f"consolidated-{version}.zip", mode="w", compression=8)
    root = zarr.open_group(store, mode="w", **({"zarr_format": 3} if version == "v3" else {}))
    g = root.create_group("g")
    g.create_group("h")
    for group, name in ((root, "a"), (g, "b")):
        data = np.arange(35, dtype="<u2").reshape(7, 5)
        if version == "v3":
            array = group.create_array(name, shape=data.shape, chunks=(4, 3), dtype=data.dtype)
            array[...] = data
        else:
            group.create_dataset(name, data=data, chunks=(4, 3), dimension_separator="/" if name == "b" else ".")
    zarr.consolidate_metadata(store)
    store.close()


main()
