"""Say what the arrays of a store hold, in few words, as zarr-python reads them."""

import hashlib
import json
import os

import numpy as np


def of_all(path):
    """Return by path, for each array of integers, its runs: a value, and how often it follows."""
    return {os.path.relpath(array, path): runs(array) for array in arrays(path)}


def described(path):
    """Return by path, for each array, all that its document says, and a sum of its bytes."""
    return {os.path.relpath(array, path): description(array) for array in arrays(path)}


def description(folder):
    import zarr

    array = zarr.open_array(folder, mode="r")
    bytes_of_all = np.ascontiguousarray(array[...]).tobytes()
    return repr((array.metadata.to_dict(), hashlib.sha256(bytes_of_all).hexdigest()))


def arrays(path):
    """Yield the folders of arrays below a folder, by their documents."""
    for folder, folders, files in os.walk(path):
        folders[:] = [name for name in folders if not name.startswith(".zarrfs-")]
        if is_array(folder, files):
            folders.clear()
            yield folder


def is_array(folder, files):
    if "zarr.json" not in files:
        return ".zarray" in files
    with open(os.path.join(folder, "zarr.json")) as f:
        return json.load(f)["node_type"] == "array"


def runs(folder):
    import zarr

    data = zarr.open_array(folder, mode="r")[...].ravel()
    if not len(data):
        return []
    begins = np.flatnonzero(np.append(True, data[1:] != data[:-1]))
    return [[int(data[i]), int(n)] for i, n in zip(begins, np.diff(np.append(begins, len(data))))]
