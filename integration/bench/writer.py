#!/usr/bin/env python3
"""Write to a mounted array as the benchmark's operations say, and print the time as JSON.

Usage: writer.py OP MOUNT SOURCE ROWS   (SOURCE: the decoded copy, ROWS: rows of one append)

All ends with close, which stores what was written. Interpreter start is not counted.
"""

import json
import os
import subprocess
import sys

import numpy as np

from runs import APPENDS, RAND_RUNS, measured, offset, random_runs

MIB = 1 << 20


def write(mount, source, **_):
    """cp of a .npy over the array."""
    return measured(lambda: subprocess.run(["cp", source, os.path.join(mount, "a.npy")],
        check=True))


def over(mount, data, **_):
    """The whole array in place, 1 MiB at a time."""
    flat = data.reshape(-1).view("u1")

    def go():
        fd = os.open(os.path.join(mount, "a.raw"), os.O_WRONLY)
        for at in range(0, len(flat), MIB):
            os.pwrite(fd, flat[at : at + MIB], at)
        os.close(fd)

    return measured(go)


def randw(mount, data, **_):
    """Random runs of 4 KiB along the last axis."""
    runs, n = random_runs(data.shape, data.itemsize, RAND_RUNS, 3)
    new = new_values(data.dtype, n)

    def go():
        fd = os.open(os.path.join(mount, "a.raw"), os.O_WRONLY)
        for index in runs:
            os.pwrite(fd, new, offset(index, data.shape, data.itemsize))
        os.close(fd)

    return measured(go)


def append(mount, data, rows, **_):
    """Rows behind the last, opened and closed each time."""

    def go():
        for i in range(APPENDS):
            piece = data[i * rows : (i + 1) * rows]
            if len(piece):
                with open(os.path.join(mount, "a.raw"), "ab", buffering=0) as f:
                    written = f.write(piece)
                    if written != piece.nbytes:
                        raise SystemExit(f"wrote {written} of {piece.nbytes} bytes")

    return measured(go)


def new_values(dtype, n):
    return np.arange(n).astype(dtype)


def main():
    op, mount, source, rows = sys.argv[1:]
    data = np.load(source) if op in ("over", "append") else np.load(source, mmap_mode="r")
    ops = {f.__name__: f for f in (write, over, randw, append)}
    print(json.dumps(ops[op](mount=mount, source=source, data=data, rows=int(rows))))


if __name__ == "__main__":
    main()
