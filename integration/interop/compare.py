#!/usr/bin/env python3
"""Compare the arrays of a mounted store with their expected copies, byte for byte.

Usage: compare.py MOUNT EXPECTED MANIFEST

Each array is read twice: NAME.npy by np.load(mmap_mode="r") and NAME.raw by
np.fromfile. Dtype (with its byte order), shape and bytes must be equal. An array
whose elements have no fixed size is read as NAME.jsonl and NAME.npy. A line
is printed for each difference and one at the end; the exit status is 1 if
anything differs.
"""

import ast
import errno
import json
import os
import sys

import numpy as np


def header_of(path):
    """The bytes of a .npy file before its data."""
    with open(path, "rb") as f:
        major = np.lib.format.read_magic(f)[0]
        size = 2 if major == 1 else 4
        length = int.from_bytes(f.read(size), "little")
        f.seek(0)
        return f.read(8 + size + length)


def in_fortran_order(header):
    """The same header for an array whose bytes are in Fortran order, as NumPy writes it. It has no
    function for version 3, which is
    version 2 in UTF-8."""
    size, coding = (2 if header[6] == 1 else 4), ("latin1" if header[6] < 3 else "utf8")
    text = header[8 + size :].decode(coding).rstrip().replace("'fortran_order': False",
        "'fortran_order': True", 1)
    shape = ast.literal_eval(text)["shape"]
    if shape:
        text += " " * (21 - len(repr(shape[-1])))  # room for that axis to grow
    data = text.encode(coding)
    data += b" " * (64 - (8 + size + len(data) + 1) % 64) + b"\n"
    return header[:8] + len(data).to_bytes(size, "little") + data


def first_difference(found, expected):
    """Words for the first element that differs."""
    item = expected.dtype.itemsize
    a = np.frombuffer(found.tobytes(), "u1").reshape(-1, item)
    b = np.frombuffer(expected.tobytes(), "u1").reshape(-1, item)
    bad = np.flatnonzero((a != b).any(axis=1))
    where = tuple(int(i) for i in np.unravel_index(bad[0], expected.shape))
    return (
        f"{len(bad)} of {expected.size} elements differ, first at {where}: "
        f"expected {b[bad[0]].tobytes().hex()}, found {a[bad[0]].tobytes().hex()}"
    )


def check_npy(path, expected):
    found = np.load(path, mmap_mode="r")
    if str(found.dtype.descr) != str(expected.dtype.descr) or found.dtype != expected.dtype:
        return f"dtype: expected {expected.dtype.descr}, found {found.dtype.descr}"
    if found.shape != expected.shape:
        return f"shape: expected {expected.shape}, found {found.shape}"
    if found.tobytes() != expected.tobytes():
        return first_difference(found, expected)
    return None


def check_raw(path, expected):
    with open(path, "rb") as f:  # np.fromfile would hide an error
        found = np.frombuffer(f.read(), expected.dtype)
    size = os.stat(path).st_size
    if size != expected.nbytes or found.size != expected.size:
        return (
            f"size: expected {expected.nbytes} bytes, found {size} by stat, {found.nbytes} "
            f"by reading")
    if found.tobytes() != expected.tobytes():
        return first_difference(found.reshape(expected.shape), expected)
    return None


def same_value(found, expected):
    """Whether two lines say the same: strings and lists letter for letter, but JSON that a library
    wrote as it spelled it.
    """
    return (
        found == expected or json.loads(found) == json.loads(expected) and expected[0] not in '"[')


def check_lines(path, expected_path):
    with open(expected_path, "rb") as f:
        expected = f.read().decode().split("\n")
    with open(path, "rb") as f:
        size = os.stat(path).st_size
        text = f.read()
        f.seek(size // 2)
        half = f.read()
    found = text.decode().split("\n")
    if len(text) != size or half != text[size // 2 :]:
        return f"size: {size} bytes by stat, {len(text)} by reading, {len(half)} from the middle"
    if len(found) != len(expected):
        return f"expected {len(expected) - 1} lines, found {len(found) - 1}"
    for i, (a, b) in enumerate(zip(found, expected)):
        if not (a == b or b and same_value(a, b)):
            return f"line {i}: expected {b[:80]}, found {a[:80]}"
    return None


def line_problems(base, expected_path):
    """All that is wrong with the views of an array whose elements have no fixed size."""
    try:
        wrong = check_lines(base + ".jsonl", expected_path)
        if wrong:
            yield f".jsonl: {wrong}"
        if os.path.exists(expected_path + ".npy"):
            expected = np.load(expected_path + ".npy")
            wrong = check_npy(base + ".npy", expected)
            if wrong:
                yield f".npy: {wrong}"
            elif header_of(base + ".npy") != header_of(expected_path + ".npy"):
                yield ".npy: header is not the one that np.save writes"
        elif readable(base + ".npy"):
            yield ".npy: can be opened, though its elements are no strings"
    except Exception as err:  # a broken view may raise anything
        yield f": {type(err).__name__}: {err}"


def readable(path):
    try:
        with open(path, "rb"):
            return True
    except OSError as err:
        return err.errno != errno.EOPNOTSUPP


def problems(base, expected_path):
    """All that is wrong with one array's views."""
    if expected_path.endswith(".jsonl"):
        yield from line_problems(base, expected_path)
        return
    expected = np.load(expected_path)
    for suffix, check in ((".npy", check_npy), (".raw", check_raw)):
        try:
            wrong = check(base + suffix, expected)
        except Exception as err:  # a broken view may raise anything
            wrong = f"{type(err).__name__}: {err}"
        if wrong:
            yield f"{suffix}: {wrong}"
    try:
        found, wanted = header_of(base + ".npy"), header_of(expected_path)
        if found not in (wanted, in_fortran_order(wanted)):
            yield ".npy: header is not the one that np.save writes"
    except Exception as err:
        yield f".npy: header: {type(err).__name__}: {err}"


def main():
    mount, expected, manifest = sys.argv[1:4]
    with open(manifest) as f:
        arrays = json.load(f)["arrays"]
    different = 0
    for array in arrays:
        wrong = list(problems(os.path.join(mount, array["view"]),
            os.path.join(expected, array["expected"])))
        different += bool(wrong)
        for line in wrong:
            print(f"DIFFERENT {os.path.basename(expected)}/{array['path']}{line}")
    print(f"arrays compared: {len(arrays)}, different: {different}")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
