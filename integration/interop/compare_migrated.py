#!/usr/bin/env python3
"""Compare arrays that zarrfs migrated to format 3 with their expected copies, as zarr-python 3
reads them.

Usage: compare_migrated.py STORE EXPECTED PATHS

PATHS is a JSON file: a list of objects with the array's path and the name of its expected copy, a
.npy or .jsonl file. A line is printed for each difference and one at the end; the exit status is 1
if anything differs. What the library cannot read is left out.
"""

import base64
import json
import os
import re
import sys
import warnings

import numpy as np
import zarr

warnings.simplefilter("ignore")

# What zarr-python 3.1 itself cannot read: the registered name of structured types, and .xz with
# filters, which numcodecs writes.
UNREADABLE = re.compile(
    r"No Zarr data type found that matches \{'name': 'struct'|"
    r"Cannot specify filters except with FORMAT_RAW")


def problem(store, path, expected):
    """What is wrong with one array, None if nothing is."""
    array = zarr.open_array(store, path=path, mode="r", zarr_format=3)
    if array.shape != expected.shape:
        return f"shape: expected {expected.shape}, found {array.shape}"
    found = np.asarray(array[...])
    if found.dtype.newbyteorder("=") != expected.dtype.newbyteorder("="):
        return f"dtype: expected {expected.dtype}, found {found.dtype}"
    if found.astype(expected.dtype).tobytes() != expected.tobytes():
        return "the elements differ"
    return None


def line_problem(store, path, expected):
    """The same for an array whose elements have no fixed size, of which expected has the lines of
    the .jsonl view.
    """
    array = zarr.open_array(store, path=path, mode="r", zarr_format=3)
    found = np.asarray(array[...]).reshape(-1)
    with open(expected) as f:
        lines = [json.loads(line) for line in f]
    if len(found) != len(lines):
        return f"expected {len(lines)} elements, found {len(found)}"
    for i, (value, line) in enumerate(zip(found, lines)):
        text = base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)
        if text != line:
            return f"element {i}: expected {line!r:.80}, found {text!r:.80}"
    return None


def main():
    store, expected, paths = sys.argv[1:]
    with open(paths) as f:
        arrays = json.load(f)
    different = unreadable = 0
    for a in arrays:
        try:
            copy = os.path.join(expected, a["expected"])
            wrong = (
                line_problem(store, a["path"], copy)
                if copy.endswith(".jsonl")
                else problem(store, a["path"], np.load(copy))
            )
        except Exception as err:  # the library may raise anything
            wrong = f"{type(err).__name__}: {err}"
        if wrong and UNREADABLE.search(wrong):
            unreadable += 1
        elif wrong:
            different += 1
            print(f"{a['path']}: {wrong}")
    print(f"arrays compared: {len(arrays) - unreadable}, different: {different}")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
